package chart

import (
	"fmt"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// may lists "verb resource" of everything that the chart's roles in kube-system and its cluster roles give the controller.
func may(t *testing.T, values string) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for _, o := range mustRender(t, "karpenter", values) {
		var role rbacv1.ClusterRole
		switch {
		case o.GetKind() == "ClusterRole" && o.GetName() != "karpenter-admin", o.GetKind() == "Role":
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &role); err != nil {
				t.Fatal(err)
			}
		}
		for _, r := range role.Rules {
			for _, what := range r.Resources {
				for _, verb := range r.Verbs {
					out[verb+" "+what] = true
				}
			}
		}
	}
	return out
}

func TestNoSecretCanBeReadOrChanged(t *testing.T) {
	for name, tc := range map[string]struct {
		values string
		del    bool
	}{
		"with the policies":    {first, true},
		"without the policies": {first + "admissionPolicies: {enabled: false}\n", false},
	} {
		rights := may(t, tc.values)
		if !rights["create secrets"] {
			t.Errorf("%s: no machine could join", name)
		}
		if rights["delete secrets"] != tc.del {
			t.Errorf("%s: delete secrets is %v, want %v", name, rights["delete secrets"], tc.del)
		}
		for _, verb := range []string{"get", "list", "watch", "patch", "update", "deletecollection", "*"} {
			for _, what := range []string{"secrets", "*", "serviceaccounts", "serviceaccounts/token", "roles", "clusterroles"} {
				if rights[verb+" "+what] {
					t.Errorf("%s: the controller may %s %s", name, verb, what)
				}
			}
		}
	}
}

func TestPodStatusIsForNominationsOnly(t *testing.T) {
	for values, want := range map[string]bool{
		first: true,
		first + "  featureGates: {nominatedNodes: false}\n":                                                      false,
		first + "controller: {env: [{name: FEATURE_GATES, value: \"NodeRepair=true, nominatedNodes=False\"}]}\n": false,
		first + "controller: {env: [{name: FEATURE_GATES, value: \"NodeRepair=true\"}]}\n":                       true,
	} {
		if got := may(t, values)["patch pods/status"]; got != want {
			t.Errorf("patch pods/status is %v, want %v, for\n%s", got, want, values)
		}
	}
}

func TestPoliciesAreForTheControllersAccount(t *testing.T) {
	policies, bindings := map[string]admissionv1.ValidatingAdmissionPolicy{}, map[string]bool{}
	for _, o := range mustRender(t, "karpenter", first+"serviceAccount: {name: someone}\n") {
		switch o.GetKind() {
		case "ValidatingAdmissionPolicy":
			var p admissionv1.ValidatingAdmissionPolicy
			if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, &p, true); err != nil {
				t.Fatal(err)
			}
			policies[p.Name] = p
		case "ValidatingAdmissionPolicyBinding":
			var b admissionv1.ValidatingAdmissionPolicyBinding
			if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, &b, true); err != nil {
				t.Fatal(err)
			}
			bindings[b.Spec.PolicyName] = b.Spec.ValidationActions[0] == admissionv1.Deny
		}
	}
	if len(policies) != 5 {
		t.Errorf("%d policies, want 5", len(policies))
	}
	for name, p := range policies {
		if !bindings[name] {
			t.Errorf("nothing enforces policy %s", name)
		}
		if *p.Spec.FailurePolicy != admissionv1.Fail {
			t.Errorf("policy %s lets pass what it cannot judge", name)
		}
		if got := p.Spec.MatchConditions[0].Expression; got != "request.userInfo.username == 'system:serviceaccount:karpenter:someone'" {
			t.Errorf("policy %s is for %s", name, got)
		}
	}
}

func TestOldClustersAreToldToDoWithout(t *testing.T) {
	if _, err := renderOn(t, "v1.29.15", "karpenter", first); err == nil || !strings.Contains(err.Error(), "admissionPolicies.enabled=false") {
		t.Errorf("on Kubernetes 1.29: %v", err)
	}
	for version, values := range map[string]string{"v1.29.15": first + "admissionPolicies: {enabled: false}\n", "v1.30.0-aks.1": first} {
		if _, err := renderOn(t, version, "karpenter", values); err != nil {
			t.Errorf("on %s: %v", version, err)
		}
	}
}

func TestTokenGroupsAreThoseOfTheBootstrappers(t *testing.T) {
	if _, err := render(t, "karpenter", first+"  bootstrapTokenExtraGroups: [\"system:masters\"]\n"); err == nil {
		t.Error("a group that no bootstrap token may give was accepted")
	}
	for _, values := range []string{
		first + "  bootstrapTokenExtraGroups: [\"system:bootstrappers:a\", \"system:bootstrappers:b\"]\n",
		first + "controller: {env: [{name: BOOTSTRAP_TOKEN_EXTRA_GROUPS, value: \"system:bootstrappers:a, system:bootstrappers:b\"}]}\n",
	} {
		found := false
		for _, o := range mustRender(t, "karpenter", values) {
			text, err := o.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			// base64 of system:bootstrappers:a,system:bootstrappers:b, as the Secret holds it
			found = found || o.GetKind() == "ValidatingAdmissionPolicy" &&
				strings.Contains(string(text), "'c3lzdGVtOmJvb3RzdHJhcHBlcnM6YSxzeXN0ZW06Ym9vdHN0cmFwcGVyczpi'")
		}
		if !found {
			t.Errorf("the policy does not know the groups of\n%s", values)
		}
	}
}

func TestMetricsAreOpenUnlessSaidOtherwise(t *testing.T) {
	for values, want := range map[string]bool{
		first: false,
		first + "controller: {metrics: {secure: true}}\n":                              true,
		first + "controller: {env: [{name: METRICS_SECURE, value: \"true\"}]}\n":       true,
		first + "controller: {metrics: {secure: true, certSecretName: metrics-tls}}\n": true,
	} {
		rights := may(t, values)
		if rights["create tokenreviews"] != want || rights["create subjectaccessreviews"] != want {
			t.Errorf("the controller may ask who scrapes: %v, want %v, for\n%s", rights["create tokenreviews"], want, values)
		}
	}
	d := deployment(t, first+"controller: {metrics: {secure: true, certSecretName: metrics-tls}}\n")
	dir := environment(t, d)["METRICS_CERT_PATH"].Value
	mounted := ""
	for _, m := range d.Spec.Template.Spec.Containers[0].VolumeMounts {
		if m.MountPath == dir {
			mounted = m.Name
		}
	}
	secret := ""
	for _, v := range d.Spec.Template.Spec.Volumes {
		if v.Name == mounted && v.Secret != nil {
			secret = v.Secret.SecretName
		}
	}
	if dir == "" || secret != "metrics-tls" {
		t.Errorf("the certificate is looked for in %q, where Secret %q is mounted", dir, secret)
	}
	for extra, want := range map[string]string{
		"":                      "https skip=true token=true",
		", certSecretName: tls": "https skip=false token=true",
	} {
		values := first + "serviceMonitor: {enabled: true, endpointConfig: {interval: 10s}}\ncontroller: {metrics: {secure: true" + extra + "}}\n"
		for _, o := range mustRender(t, "karpenter", values) {
			if o.GetKind() != "ServiceMonitor" {
				continue
			}
			endpoints, _, _ := unstructured.NestedSlice(o.Object, "spec", "endpoints")
			e := endpoints[0].(map[string]any)
			skip, _, _ := unstructured.NestedBool(e, "tlsConfig", "insecureSkipVerify")
			token, _ := e["bearerTokenFile"].(string)
			if got := fmt.Sprintf("%v skip=%v token=%v", e["scheme"], skip, token != ""); got != want || e["interval"] != "10s" {
				t.Errorf("%q: the scraper is told %s and interval %v, want %s", extra, got, e["interval"], want)
			}
		}
	}
}
