package arm_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/lab/arm"
)

// The roles that the project ships buy, read and delete machines, and do nothing else.
func TestShippedRolesAreEnough(t *testing.T) {
	w := newWorld(t, func(c *arm.Config) { c.Rights = nil })
	if err := w.begin("vm", w.body("vm", "Standard_D2s_v5")); err != nil {
		t.Fatal(err)
	}
	if _, err := w.vms.Get(w.ctx, w.cfg.NodeResourceGroup, "vm", nil); err != nil {
		t.Error(err)
	}
	for name, do := range map[string]func() error{
		"Microsoft.Compute/virtualMachines/start/action": func() error {
			_, err := w.vms.BeginStart(w.ctx, w.cfg.NodeResourceGroup, "vm", nil)
			return err
		},
		"Microsoft.Compute/virtualMachines/instanceView/read": func() error {
			_, err := w.vms.InstanceView(w.ctx, w.cfg.NodeResourceGroup, "vm", nil)
			return err
		},
		"Microsoft.Compute/virtualMachines/read": func() error { // of the whole subscription
			_, err := w.vms.NewListAllPager(nil).NextPage(w.ctx)
			return err
		},
		"Microsoft.Compute/virtualMachines/write": func() error {
			_, err := w.vms.BeginCreateOrUpdate(w.ctx, "lab", "vm", w.body("vm", "Standard_D2s_v5"), nil)
			return err
		},
	} {
		r := w.refused(do(), http.StatusForbidden, "AuthorizationFailed")
		if !strings.Contains(r.Error(), "does not have authorization to perform action '"+name+"' over scope '/subscriptions/") {
			t.Errorf("%s: %v", name, r)
		}
	}
	if _, err := w.vms.BeginDelete(w.ctx, w.cfg.NodeResourceGroup, "vm", nil); err != nil {
		t.Error(err)
	}
}

// A machine needs rights on everything that it uses.
func TestLinkedRights(t *testing.T) {
	w := newWorld(t, func(c *arm.Config) {
		c.Rights = []arm.Assignment{{Scope: "/", Actions: []string{"Microsoft.Compute/*/read", "*/write", "microsoft.network/*"}}}
	})
	r := w.refused(w.begin("vm", w.body("vm", "Standard_D2s_v5")), http.StatusForbidden, "LinkedAuthorizationFailed")
	if !strings.Contains(r.Error(), "it does not have permission to perform action(s) 'Microsoft.ManagedIdentity/userAssignedIdentities/assign/action' on the linked scope(s) '"+w.cfg.Identities[0]+"'") {
		t.Error(r)
	}
	body := w.body("vm", "Standard_D2s_v5")
	body.Identity = nil
	if err := w.begin("vm", body); err != nil {
		t.Error(err)
	}
}

// Throttling is on, as Azure documents it.
func TestBudgetsOfAzure(t *testing.T) {
	w, c := slowWorld(t, arm.Knobs{})
	get := func(name string) error {
		_, err := w.vms.Get(w.ctx, w.cfg.NodeResourceGroup, name, nil)
		return err
	}
	list := func() error {
		_, err := w.vms.NewListPager(w.cfg.NodeResourceGroup, nil).NextPage(w.ctx)
		return err
	}
	// One machine may be asked for 36 times at once, and 12 times more each minute.
	for range 36 {
		w.refused(get("one"), http.StatusNotFound, "ResourceNotFound")
	}
	r := w.refused(get("one"), http.StatusTooManyRequests, "OperationNotAllowed")
	if after := r.RawResponse.Header.Get("Retry-After"); after != "60" || !strings.Contains(r.Error(), `\"operationGroup\":\"LowCostGetVMResource\"`) {
		t.Errorf("Retry-After %s: %v", after, r)
	}
	w.refused(get("another"), http.StatusNotFound, "ResourceNotFound")
	c.pass(time.Minute)
	for range 12 {
		w.refused(get("one"), http.StatusNotFound, "ResourceNotFound")
	}
	w.refused(get("one"), http.StatusTooManyRequests, "OperationNotAllowed")
	// Resource Manager itself takes 250 reads at once and 25 each second; lists of machines are dearer.
	c.pass(time.Minute)
	n := 0
	for ; n < 1000 && list() == nil; n++ {
	}
	r = w.refused(list(), http.StatusTooManyRequests, "SubscriptionRequestsThrottled")
	if n != 250 || r.RawResponse.Header.Get("Retry-After") != "1" || r.RawResponse.Header.Get("X-Ms-Ratelimit-Remaining-Subscription-Reads") != "0" ||
		r.RawResponse.Header.Get("X-Ms-Ratelimit-Remaining-Resource") != "Microsoft.Compute/HighCostGetVMSubscriptionMaximum;650" {
		t.Errorf("after %d lists: %v", n, r.RawResponse.Header)
	}
	for ; n < 1000; n++ { // at 25 a second, 900 lists are over before the minute is
		if n%25 == 0 {
			c.pass(time.Second)
		}
		if err := list(); err != nil {
			w.refused(err, http.StatusTooManyRequests, "OperationNotAllowed")
			break
		}
	}
	if n != 900 {
		t.Errorf("%d lists were answered", n)
	}
	// Writes have buckets of their own, and a knob opens all of them.
	if err := w.begin("vm", w.body("vm", "Standard_D2s_v5")); err != nil {
		t.Error(err)
	}
	w.turn(func(k *arm.Knobs) { k.Throttle.Budget = -1 })
	for range 300 {
		if err := list(); err != nil {
			t.Fatal(err)
		}
	}
}

// What every answer tells of the budgets.
func TestBudgetHeaders(t *testing.T) {
	w, _ := slowWorld(t, arm.Knobs{})
	w.token = w.bearer()
	for range 2 {
		resp, v := w.do("PUT", w.paths()["vm"]+"?api-version="+vmVersion, w.token, w.bodyJSON("vm", "Standard_D2s_v5"))
		if resp.StatusCode >= 300 {
			t.Fatal(v)
		}
	}
	resp, _ := w.do("PUT", w.paths()["vm"]+"?api-version="+vmVersion, w.token, w.bodyJSON("vm", "Standard_D2s_v5"))
	for name, want := range map[string]string{
		"X-Ms-Ratelimit-Remaining-Resource":            "Microsoft.Compute/UpdateVMSubscriptionMaximum;1498,Microsoft.Compute/UpdateVMResource;10",
		"X-Ms-Ratelimit-Remaining-Subscription-Writes": "197",
	} {
		if have := resp.Header.Get(name); have != want {
			t.Errorf("%s: %q, want %q", name, have, want)
		}
	}
	for range 15 {
		if resp, v := w.do("POST", w.paths()["graph"]+"?api-version=2024-04-01", w.token, `{"query":"Resources"}`); resp.StatusCode != http.StatusOK {
			t.Fatal(v)
		}
	}
	if resp, v := w.do("POST", w.paths()["graph"]+"?api-version=2024-04-01", w.token, `{"query":"Resources"}`); resp.StatusCode != http.StatusTooManyRequests || errorCode(v) != "RateLimiting" {
		t.Errorf("%d %v", resp.StatusCode, v)
	}
}

// Resource Graph shows what the caller may read.
func TestGraphShowsWhatMayBeRead(t *testing.T) {
	w := newWorld(t, func(c *arm.Config) {
		c.Rights = []arm.Assignment{{Scope: "/", Actions: []string{"Microsoft.Compute/*", "Microsoft.Network/*/action", "Microsoft.Network/networkInterfaces/write", "Microsoft.ManagedIdentity/*"}}}
	})
	w.mustPut("vm", w.body("vm", "Standard_D2s_v5"))
	w.token = w.bearer()
	_, v := w.do("POST", w.paths()["graph"]+"?api-version=2024-04-01", w.token, `{"query":"Resources | project type"}`)
	rows, _ := v["data"].([]any)
	if len(rows) != 2 { // the machine and its disk
		t.Errorf("%v", v)
	}
}
