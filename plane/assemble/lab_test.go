package assemble

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/karpenter-aks/karpenter/lab/arm"
	"github.com/karpenter-aks/karpenter/plane/planetest"
)

// TestMain also lets the test binary be the controller: the keeper runs it with that one argument.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "controller" {
		if err := standIn(); err != nil {
			fmt.Println("stand-in:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	planetest.Main(m)
}

// standIn does with the environment of a controller what a controller does first: it takes the lease, notices that it
// may not do more than its chart says, and gets a token from Azure. It says so in its log.
func standIn() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	cfg, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	api, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return err
	}
	if _, err := api.CoreV1().Secrets("default").List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		return fmt.Errorf("listing secrets in default: want forbidden, got %v", err)
	}
	if err := azureToken(); err != nil {
		return err
	}
	fmt.Println("cluster", os.Getenv("CLUSTER_NAME"), "endpoint", os.Getenv("CLUSTER_ENDPOINT"), "token", os.Getenv("KUBELET_BOOTSTRAP_TOKEN"))
	fmt.Println("log level", os.Getenv("LOG_LEVEL"))
	holder, seconds, now := fmt.Sprint(os.Getpid()), int32(15), metav1.NowMicro()
	leases := api.CoordinationV1().Leases(os.Getenv("SYSTEM_NAMESPACE"))
	l := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: "karpenter-leader-election"},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, RenewTime: &now},
	}
	if _, err := leases.Create(ctx, l, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	<-ctx.Done()
	return nil
}

func azureToken() error {
	assertion, err := os.ReadFile(os.Getenv("AZURE_FEDERATED_TOKEN_FILE"))
	if err != nil {
		return err
	}
	raw, err := os.ReadFile(os.Getenv("AZURE_ENVIRONMENT_FILEPATH"))
	if err != nil {
		return err
	}
	var env struct{ ActiveDirectoryEndpoint, ResourceManagerEndpoint string }
	if err := json.Unmarshal(raw, &env); err != nil {
		return err
	}
	ask := func(assertion string) (int, error) {
		// SSL_CERT_FILE makes the lab's CA a root of the default client.
		resp, err := http.PostForm(env.ActiveDirectoryEndpoint+os.Getenv("AZURE_TENANT_ID")+"/oauth2/v2.0/token", url.Values{
			"grant_type": {"client_credentials"}, "client_id": {os.Getenv("AZURE_CLIENT_ID")}, "scope": {env.ResourceManagerEndpoint + ".default"},
			"client_assertion_type": {"urn:ietf:params:oauth:client-assertion-type:jwt-bearer"}, "client_assertion": {assertion},
		})
		if err != nil {
			return 0, err
		}
		return resp.StatusCode, resp.Body.Close()
	}
	if code, err := ask(string(assertion)); code != http.StatusOK || err != nil {
		return fmt.Errorf("token endpoint said %d, %w", code, err)
	}
	if code, err := ask(string(assertion) + "x"); code == http.StatusOK || err != nil {
		return fmt.Errorf("token endpoint took a forged assertion: %d, %w", code, err)
	}
	return nil
}

func eventually(t *testing.T, what string, ask func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // for a broken lab, not a measure of speed
	defer cancel()
	if err := until(ctx, ask); err != nil {
		t.Fatalf("never saw: %s", what)
	}
}

func gone(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

func options(t *testing.T) Options {
	t.Helper()
	return Options{Dir: t.TempDir(), Location: "westus3", Say: t.Logf}
}

func TestLab(t *testing.T) {
	o := options(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o.Controller = exe
	o.Knobs = arm.Knobs{Latency: arm.Duration(time.Millisecond)}
	l, err := Up(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Down)
	s := l.State()

	t.Run("the controller has what a pod of the chart would have", func(t *testing.T) {
		b, err := os.ReadFile(s.ControllerLog)
		want := "cluster lab endpoint https://" + s.ClusterHost + ":443 token \n"
		if err != nil || !strings.Contains(string(b), want) {
			t.Errorf("its log is %q, %v; want %q", b, err, want)
		}
	})
	t.Run("others find the lab and its Azure", func(t *testing.T) {
		got, err := Load(o.Dir)
		if err != nil || !got.Ready || got.PID != os.Getpid() {
			t.Fatalf("got %+v, %v", got, err)
		}
		b, err := got.Ask(t.Context(), http.MethodGet, "/lab/knobs", nil)
		if err != nil || !strings.Contains(string(b), `"latency":"1ms"`) {
			t.Errorf("knobs are %s, %v", b, err)
		}
		got.Token = "wrong"
		if b, err := got.Ask(t.Context(), http.MethodGet, "/lab/resources", nil); err == nil {
			t.Errorf("a wrong token got %s", b)
		}
	})
	t.Run("the kinds are served, and the chart is there as a whole", func(t *testing.T) {
		for path, want := range map[string]bool{
			"/apis/karpenter.sh/v1/nodepools":                                       true,
			"/apis/karpenter.sh/v1/nodeclaims":                                      true,
			"/apis/karpenter.azure.com/v1beta1/aksnodeclasses":                      true,
			"/apis/karpenter.azure.com/v1alpha2/aksnodeclasses":                     true,
			"/apis/apps/v1/namespaces/kube-system/daemonsets/cilium":                true,
			"/apis/apps/v1/namespaces/kube-system/deployments/karpenter":            true,
			"/api/v1/namespaces/kube-system/serviceaccounts/" + ServiceAccount:      true,
			"/apis/rbac.authorization.k8s.io/v1/clusterroles/karpenter":             true,
			"/apis/policy/v1/namespaces/kube-system/poddisruptionbudgets/karpenter": true,
		} {
			_, err := l.ident.api.Discovery().RESTClient().Get().AbsPath(path).DoRaw(t.Context())
			if (err == nil) != want {
				t.Errorf("%s: %v", path, err)
			}
		}
	})
	t.Run("machines know the API server's public name and no other", func(t *testing.T) {
		if got := l.resolve(s.ClusterHost + ":443"); "https://"+got != s.APIServer {
			t.Errorf("the cluster resolves to %q", got)
		}
		if got := l.resolve("mcr.microsoft.com:443"); got != "" {
			t.Errorf("a stranger resolves to %q", got)
		}
	})
	t.Run("claims get what AKS' storage classes promise", func(t *testing.T) { store(t, l) })
	t.Run("what would need containers answers in words", func(t *testing.T) { reach(t, l) })
	t.Run("a second lab in the same directory is refused", func(t *testing.T) {
		second := options(t)
		second.Dir = o.Dir
		if l2, err := Up(t.Context(), second); err == nil || !strings.Contains(err.Error(), "another lab runs") {
			if l2 != nil {
				l2.Down()
			}
			t.Fatalf("got %v", err)
		}
		if _, err := Load(o.Dir); err != nil {
			t.Fatalf("the refused lab harmed the first: %v", err)
		}
	})
	t.Run("the controller's account is no way in", func(t *testing.T) { attack(t, l) })
	t.Run("a killed controller comes back", func(t *testing.T) {
		if err := syscall.Kill(s.ControllerPID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		eventually(t, "another process in lab.json", func() bool {
			now, err := Load(o.Dir)
			return err == nil && now.ControllerPID != s.ControllerPID && !gone(now.ControllerPID)
		})
	})
	t.Run("the controller follows the release", func(t *testing.T) { practise(t, l) })
	t.Run("down leaves nothing", func(t *testing.T) {
		s := l.State()
		l.Down()
		for name, pid := range map[string]int{"plane": s.PlanePID, "controller": s.ControllerPID} {
			if !gone(pid) {
				t.Errorf("the %s is still there, process %d", name, pid)
			}
		}
		if _, err := Load(o.Dir); !errors.Is(err, ErrNotRunning) {
			t.Errorf("after down: %v", err)
		}
	})
}

func TestControllerThatFailsIsReportedWithItsLog(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "karpenter")
	if err := os.WriteFile(path, []byte("#!/bin/sh\necho \"$1: CLUSTER_NAME is missing\"\nexit 3\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	said := ""
	k := &keeper{
		path: path, log: filepath.Join(dir, "log"), env: func() ([]string, error) { return nil, nil }, started: func(int) {},
		say: func(format string, args ...any) { said = fmt.Sprintf(format, args...); cancel() },
	}
	k.run(ctx)
	for _, want := range []string{"exit status 3", "controller: CLUSTER_NAME is missing", "starts again in 1s"} {
		if !strings.Contains(said, want) {
			t.Errorf("it said %q; want %q in it", said, want)
		}
	}
	if !strings.Contains(k.lastEnd(), "exit status 3") {
		t.Errorf("it remembers %q", k.lastEnd())
	}
}

func TestLinkReplacesOnlyItsOwn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kubeconfig")
	for _, to := range []string{"a", "b"} {
		if err := link(to, path); err != nil {
			t.Fatal(err)
		}
		if got, err := os.Readlink(path); err != nil || got != to {
			t.Fatalf("links to %q, %v", got, err)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := link("c", path); err == nil {
		t.Fatal("a person's file was replaced")
	}
}
