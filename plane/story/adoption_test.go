package story

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-aks/karpenter/deploy"
	"github.com/karpenter-aks/karpenter/plane/assemble"
	"github.com/karpenter-aks/karpenter/plane/helm"
)

// TestAdoption begins with today's chart and its nodes, puts ours in its place with one command, goes back, and comes again:
// the nodes, the pods on them and the custom resources never notice.
func TestAdoption(t *testing.T) {
	l := up(t, "--boot-time", "0s")
	h, err := helm.New(l.kubeconfig, assemble.Namespace, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ours, crds := loadChart(t, "karpenter"), loadChart(t, "karpenter-crd")
	today, err := helm.Load(os.DirFS("testdata"), "today")
	if err != nil {
		t.Fatal(err)
	}
	values := l.valuesOfToday(h)
	screen := l.viewed()
	l.apply("general-purpose.yaml")
	l.patchPool(`[{"op":"add","path":"/spec/template/metadata/labels/` + strings.ReplaceAll(priceLabel, "/", "~1") + `","value":"0.25"}]`)
	l.apply("inflate.yaml")
	l.scale("inflate", 5)
	l.until("pods run on nodes", 3*time.Minute, func() bool { return l.running("inflate", 5) && l.settled() })
	screen.shows(len(l.claims()))
	screen.drawnBefore()
	l.makeToday(h, today)
	before := l.standing()
	if len(before) < 4 {
		t.Fatalf("too little stands for a story: %v", before)
	}

	// Pods that come while nobody provisions are the first thing that whoever comes next does.
	l.scale("inflate", 6)
	if _, err := h.Apply(t.Context(), "karpenter-crd", crds, nil, helm.Options{}); err == nil ||
		!strings.Contains(err.Error(), "invalid ownership metadata") {
		t.Fatalf("Helm took definitions over that came with another chart: %v", err)
	}
	if _, err := h.Apply(t.Context(), "karpenter-crd", crds, nil, helm.Options{TakeOwnership: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Apply(t.Context(), assemble.Release, ours, values, helm.Options{}); err != nil {
		t.Fatal(err)
	}
	l.until("ours leads and provisions", 3*time.Minute, func() bool { return l.leads() && l.running("inflate", 6) })
	l.nothingIsReplaced(before)
	l.ownedByOurs(true)
	screen.shows(len(l.claims()))

	if err := h.Rollback(assemble.Release, 1); err != nil {
		t.Fatal(err)
	}
	l.until("ours is gone", time.Minute, func() bool { return l.controller() == 0 })
	l.nothingIsReplaced(before)
	l.ownedByOurs(false)

	if _, err := h.Apply(t.Context(), assemble.Release, ours, values, helm.Options{}); err != nil {
		t.Fatal(err)
	}
	l.scale("inflate", 9)
	l.until("ours is back and provisions", 3*time.Minute, func() bool { return l.leads() && l.running("inflate", 9) })
	l.nothingIsReplaced(before)
	l.manifestsAreValid(h)
	l.do("kubectl", "delete", "deployment", "inflate")
	l.until("what today's chart bought is given back by ours", 3*time.Minute, l.nothingLeft)
	screen.shows(0)
}

func loadChart(t *testing.T, name string) *chart.Chart {
	t.Helper()
	c, err := helm.Load(deploy.Charts, "charts/"+name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// valuesOfToday are the lab's own settings as users of today's chart have them: raw environment, with what ours does not
// read, and a webhook.
func (l *lab) valuesOfToday(h *helm.Helm) map[string]any {
	l.t.Helper()
	history, err := h.History(assemble.Release)
	if err != nil {
		l.t.Fatal(err)
	}
	var d appsv1.Deployment
	if err := l.Get(l.t.Context(), client.ObjectKey{Namespace: assemble.Namespace, Name: assemble.Release}, &d); err != nil {
		l.t.Fatal(err)
	}
	env := []any{
		map[string]any{"name": "KUBELET_BOOTSTRAP_TOKEN", "value": "abcdef.0123456789abcdef"},
		map[string]any{"name": "USE_SIG", "value": "false"},
	}
	for _, e := range d.Spec.Template.Spec.Containers[0].Env {
		if e.ValueFrom == nil && !strings.HasPrefix(e.Name, "LOG_") && e.Name != "KARPENTER_SERVICE" && e.Value != "" {
			env = append(env, map[string]any{"name": e.Name, "value": e.Value})
		}
	}
	return map[string]any{
		"replicas":       0,
		"serviceAccount": map[string]any{"create": true, "name": assemble.ServiceAccount},
		"controller":     map[string]any{"env": env, "image": history[0].Config["controller"].(map[string]any)["image"]},
		"webhook":        map[string]any{"enabled": true, "port": 8443},
	}
}

// makeToday makes of the lab what today's chart leaves: its release and its objects, CRDs that belong to no release, claims and
// nodes without a word that only ours says, and one claim with the hash of an older version.
func (l *lab) makeToday(h *helm.Helm, today *chart.Chart) {
	l.t.Helper()
	if err := h.Uninstall(assemble.Release); err != nil {
		l.t.Fatal(err)
	}
	l.until("ours has stopped", time.Minute, func() bool { return l.controller() == 0 })
	l.do("kubectl", "-n", assemble.Namespace, "delete", "secrets", "-l", "owner=helm")
	l.do("kubectl", "-n", assemble.Namespace, "delete", "lease", "karpenter-leader-election")
	for _, o := range l.definitions() {
		patch := []byte(`{"metadata":{"labels":null,"annotations":{"meta.helm.sh/release-name":null,"meta.helm.sh/release-namespace":null}}}`)
		if err := l.Patch(l.t.Context(), &o, client.RawPatch("application/merge-patch+json", patch)); err != nil {
			l.t.Fatal(err)
		}
	}
	known := []string{"karpenter.sh/nodepool-hash", "karpenter.sh/nodepool-hash-version", "karpenter.azure.com/aksnodeclass-hash",
		"karpenter.azure.com/aksnodeclass-hash-version"}
	for i, c := range l.claims() {
		was := c.DeepCopy()
		for k := range c.Annotations {
			if !slices.Contains(known, k) {
				delete(c.Annotations, k)
			}
		}
		if i == 0 {
			c.Annotations["karpenter.sh/nodepool-hash"], c.Annotations["karpenter.sh/nodepool-hash-version"] = "1234567890", "v2"
			c.Annotations["karpenter.azure.com/aksnodeclass-hash"], c.Annotations["karpenter.azure.com/aksnodeclass-hash-version"] = "987654321", "v2"
		}
		if err := l.Patch(l.t.Context(), &c, client.MergeFrom(was)); err != nil {
			l.t.Fatal(err)
		}
	}
	values := map[string]any{"replicas": 0}
	if _, err := h.Apply(l.t.Context(), assemble.Release, today, values, helm.Options{}); err != nil {
		l.t.Fatal(err)
	}
}

// definitions are the CRDs.
func (l *lab) definitions() []unstructured.Unstructured {
	l.t.Helper()
	var out unstructured.UnstructuredList
	out.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinitionList"})
	if err := l.List(l.t.Context(), &out); err != nil {
		l.t.Fatal(err)
	}
	return out.Items
}

// standing is what must not be touched: claims, nodes, pods, CRDs and machines, by kind and name, with their uids.
func (l *lab) standing() map[string]string {
	l.t.Helper()
	out := map[string]string{}
	add := func(kind string, o metav1.Object) { out[kind+" "+o.GetName()] = string(o.GetUID()) }
	for _, c := range l.claims() {
		add("claim", &c)
	}
	for _, n := range l.nodes() {
		add("node", &n)
	}
	for _, p := range l.pods("inflate") {
		add("pod", &p)
	}
	for _, d := range l.definitions() {
		add("definition", &d)
	}
	for _, r := range l.resources() {
		out["resource "+r.Name] = r.ID
	}
	return out
}

// nothingIsReplaced watches for a while, as long as a few passes take, that all that stood still does, and that nobody means
// to change it.
func (l *lab) nothingIsReplaced(before map[string]string) {
	l.t.Helper()
	for end := time.Now().Add(8 * time.Second); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		now := l.standing()
		for _, k := range slices.Sorted(maps.Keys(before)) {
			if now[k] != before[k] {
				l.t.Fatalf("%s is not what it was", k)
			}
		}
		for _, c := range l.claims() {
			if c.DeletionTimestamp != nil || c.StatusConditions().Get("Drifted").IsTrue() {
				l.t.Fatalf("claim %s is to go: %v", c.Name, c.Status.Conditions)
			}
		}
		for _, n := range l.nodes() {
			if slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == "karpenter.sh/disrupted" }) {
				l.t.Fatalf("node %s is to go", n.Name)
			}
		}
	}
}

// ownedByOurs checks whose objects are there: those of both charts are one release's, and what only one has comes and goes.
func (l *lab) ownedByOurs(yes bool) {
	l.t.Helper()
	for name, want := range map[string]bool{"karpenter-cert": !yes, "sh.helm.release.v1.karpenter.v1": true} {
		err := l.Get(l.t.Context(), client.ObjectKey{Namespace: assemble.Namespace, Name: name}, &corev1.Secret{})
		if client.IgnoreNotFound(err) != nil || (err == nil) != want {
			l.t.Errorf("secret %s: %v", name, err)
		}
	}
	policies := strings.TrimSpace(l.do("kubectl", "get", "validatingadmissionpolicies", "-o", "name"))
	if (policies != "") != yes {
		l.t.Errorf("admission policies: %q", policies)
	}
	for _, d := range l.definitions() {
		if got := d.GetAnnotations()["meta.helm.sh/release-name"]; got != "karpenter-crd" {
			l.t.Errorf("%s belongs to release %q", d.GetName(), got)
		}
	}
}

// settled says that every claim is initialized, so that nothing is on its way.
func (l *lab) settled() bool {
	for _, c := range l.claims() {
		if !c.StatusConditions().Get("Initialized").IsTrue() {
			return false
		}
	}
	return true
}

// controller is the process of the controller; 0 when none runs.
func (l *lab) controller() int {
	s, err := assemble.Load(l.dir)
	if err != nil {
		l.t.Fatal(err)
	}
	return s.ControllerPID
}

// leads says that somebody holds the lease.
func (l *lab) leads() bool {
	var lease coordinationv1.Lease
	err := l.Get(l.t.Context(), client.ObjectKey{Namespace: assemble.Namespace, Name: "karpenter-leader-election"}, &lease)
	return err == nil && lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity != "" && l.controller() != 0
}
