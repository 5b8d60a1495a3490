package arm_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/karpenter-aks/karpenter/lab/arm"
)

const person = "a-person"

func (w *world) login(secret string) (string, int) {
	w.Helper()
	resp, v := w.do("POST", "/"+w.cfg.Tenant+"/oauth2/v2.0/token", "", "grant_type=client_credentials&scope=x&client_id="+person+"&client_secret="+secret)
	token, _ := v["access_token"].(string)
	return token, resp.StatusCode
}

// A person reads everything and changes nothing; the controller sees neither roles nor credentials.
func TestPeopleAreReaders(t *testing.T) {
	w := newWorld(t, func(c *arm.Config) {
		c.Rights, c.Person = nil, person
		c.Federations = []arm.Federation{{Name: "f", Issuer: "https://i", Subject: "s", Audiences: []string{"a"}}}
	})
	if _, code := w.login("wrong"); code != http.StatusUnauthorized {
		t.Errorf("a wrong secret: %d", code)
	}
	token, code := w.login(admin)
	if code != http.StatusOK {
		t.Fatalf("login: %d", code)
	}
	sub, group := "/subscriptions/"+w.cfg.Subscription, "/subscriptions/"+w.cfg.Subscription+"/resourceGroups/"+w.cfg.ClusterResourceGroup
	const msi, authz = "/providers/Microsoft.ManagedIdentity/userAssignedIdentities", "/providers/Microsoft.Authorization/"
	_, identity := w.do("GET", group+msi+"/karpentermsi?api-version=2023-01-31", token, "")
	props, _ := identity["properties"].(map[string]any)
	if props["clientId"] != "client" {
		t.Fatalf("identity %v", identity)
	}
	filter := fmt.Sprintf("&$filter=assignedTo('%s')", props["principalId"])
	for path, want := range map[string]string{
		sub + msi + "?api-version=2023-01-31":                                                                                      "lab-agentpool",
		group + msi + "/karpentermsi/federatedIdentityCredentials?api-version=2023-01-31":                                          "https://i",
		sub + authz + "roleAssignments?api-version=2022-04-01" + filter:                                                            w.cfg.NodeResourceGroup,
		sub + "/resourceGroups/" + w.cfg.NodeResourceGroup + "/providers/Microsoft.Network/virtualNetworks?api-version=2025-05-01": "aks-subnet",
	} {
		resp, v := w.do("GET", path, token, "")
		if resp.StatusCode != http.StatusOK || !strings.Contains(fmt.Sprint(v), want) {
			t.Errorf("%s: %s, want %s in %v", path, resp.Status, want, v)
		}
		if resp, v := w.do("GET", path, w.bearer(), ""); resp.StatusCode != http.StatusForbidden {
			t.Errorf("the controller sees %s: %v", path, v)
		}
	}
	if resp, v := w.do("GET", sub+authz+"roleAssignments?api-version=2022-04-01&$filter=assignedTo('nobody')", token, ""); len(v["value"].([]any)) != 0 {
		t.Errorf("nobody has roles: %s %v", resp.Status, v)
	}
	vm := sub + "/resourceGroups/" + w.cfg.NodeResourceGroup + "/providers/Microsoft.Compute/virtualMachines/vm?api-version=2024-11-01"
	for _, method := range []string{"PUT", "DELETE"} {
		body := ""
		if method == "PUT" {
			body = w.bodyJSON("vm", "Standard_D2s_v5")
		}
		if resp, v := w.do(method, vm, token, body); resp.StatusCode != http.StatusForbidden {
			t.Errorf("a Reader may %s a machine: %s %v", method, resp.Status, v)
		}
	}
}

// What the knob denies is refused, and is in no role that people see.
func TestDeniedActions(t *testing.T) {
	const write = "Microsoft.Compute/virtualMachines/write"
	w := newWorld(t, func(c *arm.Config) { c.Rights, c.Person = nil, person })
	token, _ := w.login(admin)
	roles := func() string {
		sub, all := "/subscriptions/"+w.cfg.Subscription, ""
		_, identity := w.do("GET", sub+"/resourceGroups/"+w.cfg.ClusterResourceGroup+"/providers/Microsoft.ManagedIdentity/userAssignedIdentities/karpentermsi?api-version=2023-01-31", token, "")
		filter := fmt.Sprintf("&$filter=assignedTo('%s')", identity["properties"].(map[string]any)["principalId"])
		_, list := w.do("GET", sub+"/providers/Microsoft.Authorization/roleAssignments?api-version=2022-04-01"+filter, token, "")
		for _, a := range list["value"].([]any) {
			id := a.(map[string]any)["properties"].(map[string]any)["roleDefinitionId"].(string)
			_, role := w.do("GET", id+"?api-version=2022-04-01", token, "")
			all += fmt.Sprint(role)
		}
		return all
	}
	if !strings.Contains(roles(), write) {
		t.Fatalf("the roles lack %s: %s", write, roles())
	}
	w.turn(func(k *arm.Knobs) { k.Deny = []string{"Microsoft.Compute/virtualMachines/w*"} })
	if strings.Contains(roles(), write) {
		t.Error("a denied action is in a role")
	}
	w.refused(w.begin("vm", w.body("vm", "Standard_D2s_v5")), http.StatusForbidden, "AuthorizationFailed")
	i := slices.IndexFunc(w.cloud.Requests(), func(r arm.Request) bool { return r.Denied == write })
	if i < 0 {
		t.Error("the log does not name the action that was missing")
	}
	w.turn(func(k *arm.Knobs) { k.Deny = nil })
	if err := w.begin("vm", w.body("vm", "Standard_D2s_v5")); err != nil {
		t.Error(err)
	}
}
