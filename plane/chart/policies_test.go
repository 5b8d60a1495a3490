package chart

import (
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/authentication/user"
	celenv "k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/kubernetes/pkg/generated/openapi"
)

func policy(t *testing.T, name, values string) *admissionv1.ValidatingAdmissionPolicy {
	t.Helper()
	for _, o := range mustRender(t, "karpenter", values) {
		if o.GetKind() == "ValidatingAdmissionPolicy" && o.GetName() == name {
			p := &admissionv1.ValidatingAdmissionPolicy{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, p, true); err != nil {
				t.Fatal(err)
			}
			return p
		}
	}
	t.Fatalf("no policy %s", name)
	return nil
}

// judge compiles a policy as the API server does, with no more functions than the oldest version that the chart takes.
func judge(t *testing.T, p *admissionv1.ValidatingAdmissionPolicy) validating.Validator {
	t.Helper()
	c, err := cel.NewCompositedCompiler(celenv.MustBaseEnvSet(version.MajorMinor(1, 30)))
	if err != nil {
		t.Fatal(err)
	}
	vars := cel.OptionalVariableDeclarations{HasAuthorizer: true}
	var named []cel.NamedExpressionAccessor
	for _, v := range p.Spec.Variables {
		named = append(named, &validating.Variable{Name: v.Name, Expression: v.Expression})
	}
	c.CompileAndStoreVariables(named, vars, celenv.NewExpressions)
	var conditions, checks, words []cel.ExpressionAccessor
	for i := range p.Spec.MatchConditions {
		conditions = append(conditions, (*matchconditions.MatchCondition)(&p.Spec.MatchConditions[i]))
	}
	for _, v := range p.Spec.Validations {
		checks = append(checks, &validating.ValidationCondition{Expression: v.Expression, Message: v.Message})
		words = append(words, nil)
	}
	compile := func(x []cel.ExpressionAccessor) cel.ConditionEvaluator {
		return c.CompileCondition(x, vars, celenv.NewExpressions)
	}
	m := matchconditions.NewMatcher(compile(conditions), p.Spec.FailurePolicy, "policy", "validate", p.Name)
	return validating.NewValidator(compile(checks), m, compile(nil), compile(words), p.Spec.FailurePolicy, nil)
}

const controller = "system:serviceaccount:karpenter:karpenter"

// refusals asks a policy about one request and returns why it is refused; "" means that it passes.
func refusals(t *testing.T, v validating.Validator, who string, old, now runtime.Object) string {
	t.Helper()
	op, any := admission.Update, now
	switch {
	case old == nil:
		op = admission.Create
	case now == nil:
		op, any = admission.Delete, old
	}
	kinds, _, err := clientscheme.Scheme.ObjectKinds(any)
	if err != nil {
		t.Fatal(err)
	}
	m, err := meta.Accessor(any)
	if err != nil {
		t.Fatal(err)
	}
	mapped, _ := meta.UnsafeGuessKindToResource(kinds[0])
	attr := admission.NewAttributesRecord(now, old, kinds[0], m.GetNamespace(), m.GetName(), mapped, "", op, nil, false, &user.DefaultInfo{Name: who})
	versioned, err := admission.NewVersionedAttributes(attr, kinds[0], admission.NewObjectInterfacesFromScheme(clientscheme.Scheme))
	if err != nil {
		t.Fatal(err)
	}
	got := v.Validate(t.Context(), mapped, versioned, nil, &corev1.Namespace{}, celconfig.RuntimeCELCostBudget, nil)
	var out []string
	for _, d := range got.Decisions {
		if d.Action != validating.ActionAdmit {
			out = append(out, d.Message)
		}
	}
	return strings.Join(out, "; ")
}

func secret(made time.Time, expiration string, more map[string]string) *corev1.Secret {
	s := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "bootstrap-token-abc123", CreationTimestamp: metav1.NewTime(made),
			Labels: map[string]string{"karpenter.azure.com/bootstrap-token": "true"}},
		Type: corev1.SecretTypeBootstrapToken,
		Data: map[string][]byte{"token-id": []byte("abc123"), "token-secret": []byte("0123456789abcdef"),
			"usage-bootstrap-authentication": []byte("true"), "expiration": []byte(expiration)},
	}
	for k, v := range more {
		s.Data[k] = []byte(v)
	}
	return s
}

// Base64 is decoded by arithmetic in the policy: every second of some days far apart must be read as it is.
func TestExpirationsAreReadToTheSecond(t *testing.T) {
	v := judge(t, policy(t, "karpenter-tokens", first))
	for _, day := range []string{"2026-01-02", "2029-10-31", "2037-12-28", "2048-02-29"} {
		made, err := time.Parse(time.DateOnly, day)
		if err != nil {
			t.Fatal(err)
		}
		for s := range 200 {
			made := made.Add(time.Duration(s) * (7*time.Minute + 11*time.Second))
			last := made.Add(30 * time.Minute)
			if got := refusals(t, v, controller, nil, secret(made, last.Format(time.RFC3339), nil)); got != "" {
				t.Fatalf("made %v, ends %v: %s", made, last, got)
			}
			got := refusals(t, v, controller, nil, secret(made, last.Add(time.Second).Format(time.RFC3339), nil))
			if got != "the controller's bootstrap tokens end within 30 minutes" {
				t.Fatalf("made %v, ends a second after half an hour: %q", made, got)
			}
		}
	}
}

func TestTokenPolicy(t *testing.T) {
	made := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	soon := made.Add(20 * time.Minute).Format(time.RFC3339)
	plain := judge(t, policy(t, "karpenter-tokens", first))
	grouped := judge(t, policy(t, "karpenter-tokens", first+"  bootstrapTokenExtraGroups: [\"system:bootstrappers:a\", \"system:bootstrappers:b\"]\n"))
	const both = "system:bootstrappers:a,system:bootstrappers:b"
	group := func(g string) *corev1.Secret { return secret(made, soon, map[string]string{"auth-extra-groups": g}) }
	other := secret(made, soon, nil)
	other.Labels = nil
	for name, tc := range map[string]struct {
		v        validating.Validator
		who      string
		old, now runtime.Object
		words    string // "" = passes
	}{
		"ours":                          {plain, controller, nil, secret(made, soon, nil), ""},
		"somebody else's whatever":      {plain, "somebody", nil, other, ""},
		"no group is configured":        {plain, controller, nil, group(both), "nothing but what a token needs"},
		"the groups":                    {grouped, controller, nil, group(both), ""},
		"none of the groups":            {grouped, controller, nil, secret(made, soon, nil), ""},
		"one of the groups":             {grouped, controller, nil, group("system:bootstrappers:a"), "give no group but system:bootstrappers and system:bootstrappers:a,"},
		"more than the groups":          {grouped, controller, nil, group(both + ",system:bootstrappers:c"), "give no group"},
		"a change":                      {plain, controller, secret(made, soon, nil), secret(made, soon, nil), "changes no Secret"},
		"deleting ours":                 {plain, controller, secret(made, soon, nil), nil, ""},
		"deleting another's":            {plain, controller, other, nil, "no other Secret"},
		"garbage of the right length":   {plain, controller, nil, secret(made, "\x00\xff\n~~~~~~~~~~~~~~~~~", nil), "expiration"},
		"a date that does not exist":    {plain, controller, nil, secret(made, "2026-02-30T00:00:00Z", nil), "expiration"},
		"a secret without any contents": {plain, controller, nil, &corev1.Secret{ObjectMeta: secret(made, soon, nil).ObjectMeta, Type: corev1.SecretTypeBootstrapToken}, "nothing but"},
	} {
		got := refusals(t, tc.v, tc.who, tc.old, tc.now)
		if (got == "") != (tc.words == "") || !strings.Contains(got, tc.words) {
			t.Errorf("%s: %q, want %q", name, got, tc.words)
		}
	}
}

// The cluster's own type checker, which runs in the controller manager, has nothing to say.
func TestPoliciesAreWellTyped(t *testing.T) {
	mapper := meta.NewDefaultRESTMapper(nil)
	for gvk := range clientscheme.Scheme.AllKnownTypes() {
		mapper.Add(gvk, meta.RESTScopeRoot)
	}
	checker := validating.TypeChecker{RestMapper: mapper, SchemaResolver: resolver.NewDefinitionsSchemaResolver(openapi.GetOpenAPIDefinitions, clientscheme.Scheme)}
	for _, name := range []string{"karpenter-tokens", "karpenter-nodes", "karpenter-pod-status"} {
		for _, w := range checker.Check(policy(t, name, first)) {
			t.Errorf("%s: %s: %s", name, w.FieldRef, w.Warning)
		}
	}
}

func TestPodStatusPolicy(t *testing.T) {
	v := judge(t, policy(t, "karpenter-pod-status", first))
	pod := func(change func(*corev1.Pod)) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", Labels: map[string]string{"app": "p"}},
			Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{Type: "PodScheduled", Status: "False"}}}}
		if change != nil {
			change(p)
		}
		return p
	}
	for name, tc := range map[string]struct {
		change func(*corev1.Pod)
		ok     bool
	}{
		"nominated":       {func(p *corev1.Pod) { p.Status.NominatedNodeName = "n" }, true},
		"version":         {func(p *corev1.Pod) { p.ManagedFields, p.ResourceVersion = []metav1.ManagedFieldsEntry{{}}, "7" }, true},
		"phase":           {func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning }, false},
		"no conditions":   {func(p *corev1.Pod) { p.Status.Conditions = nil }, false},
		"condition":       {func(p *corev1.Pod) { p.Status.Conditions[0].Status = "True" }, false},
		"address":         {func(p *corev1.Pod) { p.Status.PodIP = "10.0.0.1" }, false},
		"label":           {func(p *corev1.Pod) { p.Labels["app"] = "q" }, false},
		"no labels":       {func(p *corev1.Pod) { p.Labels = nil }, false},
		"annotation":      {func(p *corev1.Pod) { p.Annotations = map[string]string{"a": "b"} }, false},
		"finalizer":       {func(p *corev1.Pod) { p.Finalizers = []string{"a/b"} }, false},
		"owner":           {func(p *corev1.Pod) { p.OwnerReferences = []metav1.OwnerReference{{Name: "o"}} }, false},
		"two at the time": {func(p *corev1.Pod) { p.Status.NominatedNodeName, p.Status.HostIP = "n", "10.0.0.1" }, false},
	} {
		if got := refusals(t, v, controller, pod(nil), pod(tc.change)); (got == "") != tc.ok {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := refusals(t, v, controller, pod(func(p *corev1.Pod) { p.Status.NominatedNodeName = "n" }), pod(nil)); got != "" {
		t.Errorf("a nomination cannot be taken back: %s", got)
	}
}

func TestPolicyOfWhatPeopleWrote(t *testing.T) {
	v := judge(t, policy(t, "karpenter-nodepools", first))
	pod := func(change func(*corev1.Pod)) *corev1.Pod { // any kind with a spec will do
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{NodeName: "n"}}
		change(p)
		return p
	}
	old := pod(func(*corev1.Pod) {})
	if got := refusals(t, v, controller, old, pod(func(p *corev1.Pod) { p.Annotations = map[string]string{"karpenter.sh/nodepool-hash": "1"} })); got != "" {
		t.Errorf("an annotation: %s", got)
	}
	if got := refusals(t, v, controller, old, pod(func(p *corev1.Pod) { p.Spec.NodeName = "m" })); got != "the controller changes no spec of what people wrote" {
		t.Errorf("a spec: %q", got)
	}
	// A class may be written without a spec at all; it gets its finalizer all the same.
	bare := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "c"}}
	named := bare.DeepCopy()
	named.Finalizers = []string{"karpenter.azure.com/termination"}
	if got := refusals(t, v, controller, bare, named); got != "" {
		t.Errorf("without a spec: %s", got)
	}
}

func TestNodePolicy(t *testing.T) {
	v := judge(t, policy(t, "karpenter-nodes", first))
	for name, tc := range map[string]struct {
		node corev1.Node
		ok   bool
	}{
		"of a pool":        {corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"karpenter.sh/nodepool": "p"}}}, true},
		"just joined":      {corev1.Node{Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "karpenter.sh/unregistered", Effect: "NoExecute"}}}}, true},
		"its label gone":   {corev1.Node{ObjectMeta: metav1.ObjectMeta{Finalizers: []string{"karpenter.sh/termination"}}}, true},
		"of somebody else": {corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}}}, false},
		"bare":             {corev1.Node{}, false},
	} {
		after := tc.node.DeepCopy()
		after.Labels = map[string]string{"karpenter.sh/nodepool": "p", "karpenter.sh/registered": "true"}
		for _, now := range []runtime.Object{after, nil} {
			if got := refusals(t, v, controller, &tc.node, now); (got == "") != tc.ok {
				t.Errorf("node %s, deleted %v: %q", name, now == nil, got)
			}
		}
	}
}
