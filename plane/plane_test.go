package plane_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	authv1 "k8s.io/api/authentication/v1"
	certsv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/karpenter-aks/karpenter/plane"
	"github.com/karpenter-aks/karpenter/plane/planetest"
)

// orphanDir tells a re-executed test binary to start a plane there and then to do nothing: it is to be killed.
const orphanDir = "PLANE_TEST_ORPHAN_DIR"

func TestMain(m *testing.M) {
	plane.MaybeRunChild()
	if dir := os.Getenv(orphanDir); dir != "" {
		p, err := plane.Start(context.Background(), plane.Config{Dir: dir})
		if err != nil {
			panic(err)
		}
		os.Stdout.WriteString(strconv.Itoa(p.PID()) + "\n")
		select {}
	}
	planetest.Main(m)
}

func client(t *testing.T, p *plane.Plane) kubernetes.Interface {
	t.Helper()
	cfg, err := p.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	return kubernetes.NewForConfigOrDie(cfg)
}

// with is p's client configuration with a bearer token in place of the administrator's certificate.
func with(t *testing.T, p *plane.Plane, token string) kubernetes.Interface {
	t.Helper()
	cfg := &rest.Config{Host: p.Endpoint(), BearerToken: token, TLSClientConfig: rest.TLSClientConfig{CAData: p.CA()}}
	return kubernetes.NewForConfigOrDie(cfg)
}

// eventually asks until the answer is yes. The limit is for a broken plane, not a measure of speed.
func eventually(t *testing.T, what string, ask func() bool) {
	t.Helper()
	limit := time.NewTimer(time.Minute)
	defer limit.Stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !ask() {
		select {
		case <-tick.C:
		case <-limit.C:
			t.Fatalf("never saw: %s", what)
		}
	}
}

// gone also accepts a dead process that nobody has waited for: in a container, orphans may fall to an init that never does.
func gone(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && strings.Contains(string(stat), ") Z ")
}

func TestPlane(t *testing.T) {
	p := planetest.Start(t, "lab-dns-1.hcp.westus3.azmk8s.io")
	api := client(t, p)

	t.Run("serves the promised version", func(t *testing.T) {
		v, err := api.Discovery().ServerVersion()
		if err != nil || v.GitVersion != plane.Version || v.Major+"."+v.Minor != "1.37" {
			t.Fatalf("version %v, error %v", v, err)
		}
		mod, err := os.ReadFile("go.mod")
		if err != nil || !strings.Contains(string(mod), "k8s.io/kubernetes "+plane.Version+"\n") {
			t.Fatalf("go.mod names another version than %s, or %v", plane.Version, err)
		}
	})
	t.Run("certificate covers the cluster's public name", func(t *testing.T) {
		cfg := &rest.Config{Host: p.Endpoint(), TLSClientConfig: rest.TLSClientConfig{CAData: p.CA(), ServerName: "lab-dns-1.hcp.westus3.azmk8s.io"}}
		b, err := kubernetes.NewForConfigOrDie(cfg).Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(t.Context())
		if err != nil || string(b) != "ok" {
			t.Fatalf("readyz said %q, %v", b, err)
		}
	})
	t.Run("strangers see nothing but health", func(t *testing.T) {
		_, err := with(t, p, "").CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
		if !apierrors.IsUnauthorized(err) {
			t.Fatalf("want unauthorized, got %v", err)
		}
	})
	t.Run("has the DNS service of an AKS cluster", func(t *testing.T) {
		s, err := api.CoreV1().Services("kube-system").Get(t.Context(), "kube-dns", metav1.GetOptions{})
		if err != nil || s.Spec.ClusterIP != "10.0.0.10" {
			t.Fatalf("got %v, %v", s, err)
		}
	})
	t.Run("refuses what a role does not grant", func(t *testing.T) { testRBAC(t, p, api) })
	t.Run("signs for who holds a bootstrap token", func(t *testing.T) { testJoin(t, p, api) })
	t.Run("calls a pod without nodes unschedulable", func(t *testing.T) { testUnschedulable(t, api) })
	t.Run("stops without a trace", func(t *testing.T) {
		p.Stop()
		if !gone(p.PID()) {
			t.Fatalf("process %d is still there", p.PID())
		}
		p.Stop() // twice is fine
	})
}

func testRBAC(t *testing.T, p *plane.Plane, api kubernetes.Interface) {
	ctx := t.Context()
	sas := api.CoreV1().ServiceAccounts("default")
	if _, err := sas.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "reader"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "reader"}, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list"},
	}}}
	if _, err := api.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "reader"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Name: "reader", Namespace: "default"}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "reader"},
	}
	if _, err := api.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	tok, err := sas.CreateToken(ctx, "reader", &authv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	reader := with(t, p, tok.Status.Token)
	eventually(t, "the role's grant", func() bool { // the authorizer learns of roles by watching
		_, err := reader.CoreV1().ConfigMaps("default").List(ctx, metav1.ListOptions{})
		return err == nil
	})
	if _, err := reader.CoreV1().Secrets("default").List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Fatalf("listing secrets: want forbidden, got %v", err)
	}
	if _, err := reader.CoreV1().Nodes().List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Fatalf("listing nodes: want forbidden, got %v", err)
	}
}

func testJoin(t *testing.T, p *plane.Plane, api kubernetes.Interface) {
	ctx := t.Context()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "bootstrap-token-abcdef", Namespace: "kube-system"},
		Type:       corev1.SecretTypeBootstrapToken,
		StringData: map[string]string{
			"token-id": "abcdef", "token-secret": "0123456789abcdef", "usage-bootstrap-authentication": "true",
			"expiration": time.Now().Add(time.Hour).UTC().Format(time.RFC3339),
		},
	}
	if _, err := api.CoreV1().Secrets("kube-system").Create(ctx, secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: "system:node:n1", Organization: []string{"system:nodes"}},
	}, key)
	if err != nil {
		t.Fatal(err)
	}
	csr := &certsv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: "n1"},
		Spec: certsv1.CertificateSigningRequestSpec{
			Request:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
			SignerName: certsv1.KubeAPIServerClientKubeletSignerName,
			Usages:     []certsv1.KeyUsage{certsv1.UsageDigitalSignature, certsv1.UsageClientAuth},
		},
	}
	if _, err := with(t, p, "abcdef.fedcba9876543210").CertificatesV1().CertificateSigningRequests().Create(ctx, csr, metav1.CreateOptions{}); !apierrors.IsUnauthorized(err) {
		t.Fatalf("a wrong token: want unauthorized, got %v", err)
	}
	machine := with(t, p, "abcdef.0123456789abcdef").CertificatesV1().CertificateSigningRequests()
	var last error
	eventually(t, "the token accepted", func() bool { // the authenticator learns of tokens by watching
		_, last = machine.Create(ctx, csr, metav1.CreateOptions{})
		return last == nil
	})
	var cert []byte
	eventually(t, "a signed certificate", func() bool {
		got, err := machine.Get(ctx, "n1", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		cert = got.Status.Certificate
		return len(cert) > 0
	})
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	cfg := &rest.Config{Host: p.Endpoint(), TLSClientConfig: rest.TLSClientConfig{
		CAData: p.CA(), CertData: cert, KeyData: pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}),
	}}
	nodes := kubernetes.NewForConfigOrDie(cfg).CoreV1().Nodes()
	if _, err := nodes.Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n2"}}, metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		t.Fatalf("n1 registers as n2: want forbidden, got %v", err)
	}
	if _, err := nodes.Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}, metav1.CreateOptions{}); err != nil {
		t.Fatalf("n1 registers: %v", err)
	}
	if err := api.CoreV1().Nodes().Delete(ctx, "n1", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

func testUnschedulable(t *testing.T, api kubernetes.Interface) {
	ctx := t.Context()
	pods := api.CoreV1().Pods("default")
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "lonely"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "registry.k8s.io/pause:3.10"}}},
	}
	if _, err := pods.Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "PodScheduled=False, Unschedulable", func() bool {
		got, err := pods.Get(ctx, "lonely", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range got.Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
				return true
			}
		}
		return false
	})
}

func TestKillThenStartKeepsObjectsAndAddress(t *testing.T) {
	cfg := plane.Config{Dir: t.TempDir()}
	before, err := plane.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kept"}, Data: map[string]string{"a": "b"}}
	if _, err := client(t, before).CoreV1().ConfigMaps("default").Create(t.Context(), cm, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	before.Kill()
	if !gone(before.PID()) {
		t.Fatalf("process %d is still there", before.PID())
	}
	after, err := plane.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(after.Stop)
	if before.Endpoint() != after.Endpoint() {
		t.Errorf("address was %s, is %s", before.Endpoint(), after.Endpoint())
	}
	got, err := client(t, before).CoreV1().ConfigMaps("default").Get(t.Context(), "kept", metav1.GetOptions{})
	if err != nil || got.Data["a"] != "b" {
		t.Fatalf("got %v, %v", got, err)
	}
}

func TestDiesWithItsParent(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	parent := exec.CommandContext(t.Context(), exe)
	parent.Env = append(os.Environ(), orphanDir+"="+t.TempDir())
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 32)
	n, err := out.Read(buf)
	if err != nil {
		t.Fatalf("the parent started no plane: %v", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(buf[:n])))
	if err != nil {
		t.Fatal(err)
	}
	if gone(pid) {
		t.Fatal("the plane died too early")
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // killed
	eventually(t, "the orphan's end", func() bool { return gone(pid) })
}

func TestStartSaysWhyItFailed(t *testing.T) {
	p := planetest.Start(t)
	port, err := strconv.Atoi(p.Address()[strings.LastIndex(p.Address(), ":")+1:])
	if err != nil {
		t.Fatal(err)
	}
	_, err = plane.Start(t.Context(), plane.Config{Dir: t.TempDir(), Port: port})
	if err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Fatalf("want an error that names the busy port, got %v", err)
	}
}
