package assemble

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	authv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/karpenter-aks/karpenter/api/azure/v1beta1"
	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/internal/kube/apikube"
	"github.com/karpenter-aks/karpenter/model"
)

// A deed is something that whoever holds the controller's token might try. It is refused with these words: by RBAC
// ("cannot …") or by one of the chart's policies.
type deed struct {
	name  string
	words string
	do    func(ctx context.Context, thief client.Client) error
}

const cannot = "cannot "

// attack plays somebody who got hold of the controller's token, in a lab that runs: what the controller does every day goes
// on working, and no way leads further.
func attack(t *testing.T, l *Lab) {
	scheme, err := apikube.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	if err := clientscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	connect := func(kubeconfig string) (*rest.Config, client.WithWatch) {
		cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
		if err != nil {
			t.Fatal(err)
		}
		c, err := client.NewWithWatch(cfg, client.Options{Scheme: scheme})
		if err != nil {
			t.Fatal(err)
		}
		return cfg, c
	}
	_, admin := connect(l.State().Kubeconfig)
	cfg, thief := connect(filepath.Join(l.ident.dir, "kubeconfig"))
	policiesAreSound(t, admin)
	furnishForTheft(t, admin)
	everyday(t, cfg)
	before := secrets(t, admin)
	for _, d := range slices.Concat(wrongTokens(), otherSecrets(), otherWays(), wrongStatus(), otherObjects()) {
		switch err := d.do(t.Context(), thief); {
		case err == nil:
			t.Errorf("%s: nobody minds", d.name)
		case !strings.Contains(err.Error(), d.words):
			t.Errorf("%s: refused with %q, want %q in it", d.name, err, d.words)
		}
	}
	if after := secrets(t, admin); !slices.Equal(before, after) {
		t.Errorf("secrets before %v, after %v", before, after)
	}
}

// everyday does with the controller's rights what the controller does.
func everyday(t *testing.T, cfg *rest.Config) {
	t.Helper()
	s, err := apikube.New(cfg, apikube.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx := t.Context()
	must := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err = s.Token(ctx, kube.TokenRequest{Claim: "c", ClaimUID: "u-1", Until: time.Now().Add(20 * time.Minute)})
	must("make a token", err)
	must("drop it", s.DropToken(ctx, "u-1"))
	must("drop one that is not there", s.DropToken(ctx, "u-2"))
	for _, node := range []string{"planned", ""} {
		must("nominate "+node, s.Nominate(ctx, kube.Nomination{Pod: model.PodKey{Namespace: "default", Name: waiting}, Node: node}))
	}
	must("taint a node of ours", s.PatchNode(ctx, ourNode, kube.NodePatch{AddTaints: []model.Taint{{Key: "a", Effect: model.NoExecute}}, AddFinalizer: true}))
	must("let go of it", s.PatchNode(ctx, ourNode, kube.NodePatch{DropFinalizer: true}))
	ref := model.ClassRef{Group: v1beta1.Group, Kind: v1beta1.Kind, Name: poolAndClass}
	must("write down what was found about a class", s.PatchClass(ctx, ref, kube.ClassPatch{AddFinalizer: true, Annotations: map[string]string{"a": "b"},
		Conditions: []model.Condition{{Type: model.Ready, Status: model.False, Reason: "Test"}}}))
	must("let go of the class", s.PatchClass(ctx, ref, kube.ClassPatch{DropFinalizer: true}))
	must("write down what was found about a pool", s.PatchPool(ctx, poolAndClass, kube.PoolPatch{Annotations: map[string]string{"a": "b"},
		Conditions: []model.Condition{{Type: model.Ready, Status: model.False, Reason: "Test"}}}))
}

// policiesAreSound looks at what the cluster's own type checker says of the chart's policies.
func policiesAreSound(t *testing.T, admin client.Client) {
	t.Helper()
	eventually(t, "checked policies", func() bool {
		var all admissionv1.ValidatingAdmissionPolicyList
		if err := admin.List(t.Context(), &all); err != nil {
			return false
		}
		for _, p := range all.Items {
			if p.Status.ObservedGeneration != p.Generation || p.Status.TypeChecking == nil {
				return false
			}
			for _, w := range p.Status.TypeChecking.ExpressionWarnings {
				t.Errorf("policy %s: %s: %s", p.Name, w.FieldRef, w.Warning)
			}
		}
		return len(all.Items) == 5
	})
}

func secrets(t *testing.T, admin client.Client) []string {
	t.Helper()
	var all corev1.SecretList
	if err := admin.List(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, s := range all.Items {
		out = append(out, s.Namespace+"/"+s.Name+" "+s.ResourceVersion)
	}
	slices.Sort(out)
	return out
}

// Things of others, to be stolen.
const (
	foreignSecret = "somebodys-secret"
	foreignToken  = "bootstrap-token-foreig"
	foreignNode   = "system-1"
	waiting       = "waiting"
	ourNode       = "ours"
	poolAndClass  = "general-purpose"
)

func furnishForTheft(t *testing.T, admin client.Client) {
	t.Helper()
	foreign := token("foreig", nil)
	foreign.Labels = nil
	pool := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: poolAndClass}}
	pool.Spec.Template.Spec.Requirements = []karpv1.NodeSelectorRequirementWithMinValues{}
	pool.Spec.Template.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: v1beta1.Group, Kind: v1beta1.Kind, Name: poolAndClass}
	pool.Spec.Template.Spec.ExpireAfter = karpv1.MustParseNillableDuration("720h")
	pool.Spec.Disruption.ConsolidateAfter = karpv1.MustParseNillableDuration("0s")
	stuff := []client.Object{
		pool, &v1beta1.AKSNodeClass{ObjectMeta: metav1.ObjectMeta{Name: poolAndClass}},
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: ourNode, Labels: map[string]string{"karpenter.sh/nodepool": poolAndClass}}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: foreignSecret}},
		foreign,
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: foreignNode}},
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: waiting}, Spec: corev1.PodSpec{
			NodeSelector: map[string]string{"nobody.example/has": "this"}, SchedulerName: "nobody",
			Containers: []corev1.Container{{Name: "main", Image: "exam.invalid/pause:1"}}}},
	}
	for _, o := range stuff {
		if err := admin.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := admin.Delete(context.Background(), o, client.GracePeriodSeconds(0)); err != nil {
				t.Errorf("%s is gone: %v", o.GetName(), err)
			}
		})
	}
}

// token is what the controller makes for a machine, changed.
func token(id string, change func(*corev1.Secret)) *corev1.Secret {
	s := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "bootstrap-token-" + id,
			Labels: map[string]string{"karpenter.azure.com/bootstrap-token": "true", "karpenter.azure.com/nodeclaim-uid": "u"}},
		Type: corev1.SecretTypeBootstrapToken,
		StringData: map[string]string{"token-id": id, "token-secret": "0123456789abcdef", "usage-bootstrap-authentication": "true",
			"description": "for a test", "expiration": time.Now().Add(29 * time.Minute).UTC().Format(time.RFC3339)},
	}
	if change != nil {
		change(s)
	}
	return s
}

func create(o client.Object) func(context.Context, client.Client) error {
	return func(ctx context.Context, thief client.Client) error {
		return thief.Create(ctx, o.DeepCopyObject().(client.Object))
	}
}

// serviceAccountToken asks for the lasting token of an account that may give anybody any right.
func serviceAccountToken(s *corev1.Secret) {
	s.Type, s.StringData = corev1.SecretTypeServiceAccountToken, nil
	s.Annotations = map[string]string{corev1.ServiceAccountNameKey: "clusterrole-aggregation-controller"}
}

// wrongTokens are Secrets that the controller may make by RBAC, and must not.
func wrongTokens() []deed {
	with := func(key, value string) func(*corev1.Secret) {
		return func(s *corev1.Secret) { s.StringData[key] = value }
	}
	until := func(d time.Duration, layout string) func(*corev1.Secret) {
		return with("expiration", time.Now().Add(d).UTC().Format(layout))
	}
	west := func(s *corev1.Secret) { // reads like an hour ago and is in eleven hours
		s.StringData["expiration"] = time.Now().Add(11 * time.Hour).In(time.FixedZone("", -12*3600)).Format(time.RFC3339)
	}
	const foreign, laden, late = "no other Secret", "nothing but what a token needs", "end within 30 minutes"
	var out []deed
	for _, x := range []struct {
		name, words string
		change      func(*corev1.Secret)
	}{
		{"a service account's token", foreign, func(s *corev1.Secret) { s.Name = "mine"; serviceAccountToken(s) }},
		{"a service account's token under a token's name", foreign, serviceAccountToken},
		{"a Secret without a type", foreign, func(s *corev1.Secret) { s.Type = "" }},
		{"another name", foreign, func(s *corev1.Secret) { s.Name = "bootstrap-tokens" }},
		{"a longer name", foreign, func(s *corev1.Secret) { s.Name = "bootstrap-token-abcdefg" }},
		{"a generated name", foreign, func(s *corev1.Secret) { s.Name, s.GenerateName = "", "bootstrap-token-" }},
		{"no label", foreign, func(s *corev1.Secret) { s.Labels = nil }},
		{"another label", foreign, func(s *corev1.Secret) { s.Labels["karpenter.azure.com/bootstrap-token"] = "false" }},
		{"group system:masters", laden, with("auth-extra-groups", "system:masters")},
		{"a group of bootstrappers that nobody configured", laden, with("auth-extra-groups", "system:bootstrappers:admins")},
		{"a token that signs", laden, with("usage-bootstrap-signing", "true")},
		{"a token for nothing", "serve to authenticate", with("usage-bootstrap-authentication", "false")},
		{"an account's name", laden, func(s *corev1.Secret) {
			s.Annotations = map[string]string{corev1.ServiceAccountNameKey: "default"}
		}},
		{"a finalizer, which makes deleting show it", laden, func(s *corev1.Secret) { s.Finalizers = []string{"a.example/b"} }},
		{"no end", late, func(s *corev1.Secret) { delete(s.StringData, "expiration") }},
		{"an empty end", late, with("expiration", "")},
		{"an end in 31 minutes", late, until(31*time.Minute, time.RFC3339)},
		{"an end in a year", late, until(365*24*time.Hour, time.RFC3339)},
		{"an end in the year 9999", late, with("expiration", "9999-12-31T23:59:59Z")},
		{"an end far in the west", late, west},
		{"an end with fractions", late, until(time.Hour, "2006-01-02T15:04:05.000Z")},
		{"words for an end", "", with("expiration", "tomorrow, or later!!")},
	} {
		out = append(out, deed{"make a token with " + x.name, x.words, create(token("evil01", x.change))})
	}
	return out
}

func otherSecrets() []deed {
	secret := func(name string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name}}
	}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"stringData":{"a":"b"}}`))
	return []deed{
		{"make one elsewhere", cannot, create(token("evil02", func(s *corev1.Secret) { s.Namespace = "default" }))},
		{"read a secret", cannot, func(ctx context.Context, c client.Client) error {
			return c.Get(ctx, client.ObjectKeyFromObject(secret(foreignSecret)), &corev1.Secret{})
		}},
		{"list secrets", cannot, func(ctx context.Context, c client.Client) error {
			return c.List(ctx, &corev1.SecretList{}, client.InNamespace("kube-system"))
		}},
		{"watch secrets", cannot, func(ctx context.Context, c client.Client) error {
			w, err := c.(client.WithWatch).Watch(ctx, &corev1.SecretList{}, client.InNamespace("kube-system"))
			if err == nil {
				w.Stop()
			}
			return err
		}},
		{"change a secret", cannot, func(ctx context.Context, c client.Client) error { return c.Patch(ctx, secret(foreignSecret), patch) }},
		{"replace a secret", cannot, func(ctx context.Context, c client.Client) error { return c.Update(ctx, secret(foreignSecret)) }},
		{"delete secrets wholesale, which would show them", cannot, func(ctx context.Context, c client.Client) error {
			return c.DeleteAllOf(ctx, &corev1.Secret{}, client.InNamespace("kube-system"), client.DryRunAll)
		}},
		{"delete somebody's secret", "no other Secret", func(ctx context.Context, c client.Client) error { return c.Delete(ctx, secret(foreignSecret)) }},
		{"delete somebody's token", "no other Secret", func(ctx context.Context, c client.Client) error { return c.Delete(ctx, secret(foreignToken)) }},
	}
}

// otherWays lead to other accounts, or past the policies.
func otherWays() []deed {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "clusterrole-aggregation-controller"}}
	return []deed{
		{"ask for an account's token", cannot, func(ctx context.Context, c client.Client) error {
			return c.SubResource("token").Create(ctx, account.DeepCopy(), &authv1.TokenRequest{})
		}},
		{"run a pod", cannot, create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "mine"},
			Spec: corev1.PodSpec{ServiceAccountName: account.Name, Containers: []corev1.Container{{Name: "main", Image: "x"}}}})},
		{"bind a role", cannot, create(&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "mine"},
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"}})},
		{"lift a policy", cannot, func(ctx context.Context, c client.Client) error {
			return c.Delete(ctx, &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: "karpenter-tokens"}})
		}},
		{"take another lease", cannot, func(ctx context.Context, c client.Client) error {
			return c.Update(ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "kube-scheduler"}})
		}},
	}
}

func statusPatch(pod, patch string) func(context.Context, client.Client) error {
	return func(ctx context.Context, c client.Client) error {
		o := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: pod}}
		return c.Status().Patch(ctx, o, client.RawPatch(types.MergePatchType, []byte(patch)))
	}
}

func wrongStatus() []deed {
	const status, labels = "nothing in a pod's status but", "no labels, annotations"
	var out []deed
	for _, x := range []struct{ name, words, patch string }{
		{"an address", status, `{"status":{"podIP":"10.9.9.9","podIPs":[{"ip":"10.9.9.9"}]}}`},
		{"readiness", status, `{"status":{"conditions":[{"type":"Ready","status":"True"}]}}`},
		{"a phase", status, `{"status":{"phase":"Succeeded"}}`},
		{"a nomination and an address", status, `{"status":{"nominatedNodeName":"n","hostIP":"10.9.9.9"}}`},
		{"nothing at all", status, `{"status":{"conditions":null,"phase":null,"qosClass":null}}`},
		{"a label", labels, `{"metadata":{"labels":{"app":"somebody"}}}`},
		{"an annotation", labels, `{"metadata":{"annotations":{"a":"b"}}}`},
		{"a finalizer", labels, `{"metadata":{"finalizers":["a.example/b"]}}`},
	} {
		out = append(out, deed{"write into a pod's status " + x.name, x.words, statusPatch(waiting, x.patch)})
	}
	return out
}

func otherObjects() []deed {
	patch := func(o client.Object, text string) func(context.Context, client.Client) error {
		return func(ctx context.Context, c client.Client) error {
			return c.Patch(ctx, o.DeepCopyObject().(client.Object), client.RawPatch(types.MergePatchType, []byte(text)))
		}
	}
	const nodes, spec = "and no other", "no spec of what people wrote"
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: foreignNode}}
	return []deed{
		{"taint somebody's node", nodes, patch(node, `{"spec":{"taints":[{"key":"a","effect":"NoExecute"}]}}`)},
		{"call somebody's node ours", nodes, patch(node, `{"metadata":{"labels":{"karpenter.sh/nodepool":"`+poolAndClass+`"}}}`)},
		{"delete somebody's node", nodes, func(ctx context.Context, c client.Client) error { return c.Delete(ctx, node.DeepCopy()) }},
		{"make a node", cannot, create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "mine"}})},
		{"lift a pool's limit", spec, patch(&karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: poolAndClass}}, `{"spec":{"limits":{"cpu":"100000"}}}`)},
		{"change how machines are built", spec, patch(&v1beta1.AKSNodeClass{ObjectMeta: metav1.ObjectMeta{Name: poolAndClass}}, `{"spec":{"osDiskSizeGB":2048}}`)},
	}
}
