package arm_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"

	"github.com/karpenter-aks/karpenter/lab/arm"
)

// clock is time that passes when a test says so.
type clock struct {
	now    time.Time
	alarms []*alarm
}

type alarm struct {
	at   time.Time
	f    func()
	gone bool
}

func (c *clock) Now() time.Time { return c.now }

func (c *clock) After(d time.Duration, f func()) func() bool {
	a := &alarm{at: c.now.Add(d), f: f}
	c.alarms = append(c.alarms, a)
	return func() bool { was := !a.gone; a.gone = true; return was }
}

// pass runs what falls due, in order.
func (c *clock) pass(d time.Duration) {
	c.now = c.now.Add(d)
	for i := 0; i < len(c.alarms); i++ {
		if a := c.alarms[i]; !a.gone && !a.at.After(c.now) {
			a.gone = true
			a.f()
		}
	}
}

// slowWorld stands still until pass is called. Its knobs and clock are used from one goroutine at a time.
func slowWorld(t *testing.T, k arm.Knobs) (*world, *clock) {
	c := &clock{now: time.Now()}
	return newWorld(t, func(cfg *arm.Config) { cfg.Now, cfg.After, cfg.Knobs = c.Now, c.After, k }), c
}

// begin sends the PUT only.
func (w *world) begin(name string, vm armcompute.VirtualMachine) error {
	_, err := w.vms.BeginCreateOrUpdate(w.ctx, w.cfg.NodeResourceGroup, name, vm, nil)
	return err
}

// states prints every resource as "name type state", one per line, types shortened.
func (w *world) states() string {
	var out []string
	for _, r := range w.cloud.Resources() {
		s := r.Name + " " + r.Type[strings.LastIndexByte(r.Type, '/')+1:] + " " + r.State
		if r.Power != "" {
			s += " " + r.Power
		}
		out = append(out, s)
	}
	return strings.Join(out, "\n")
}

func (w *world) wantStates(when, want string) {
	w.Helper()
	if got := w.states(); got != want {
		w.Errorf("%s:\n%s\nwant:\n%s", when, got, want)
	}
}

func TestCreateAndDeleteTakeTheirTime(t *testing.T) {
	w, c := slowWorld(t, arm.Knobs{CreateTime: arm.Duration(20 * time.Second), DeleteTime: arm.Duration(time.Minute), FailTime: arm.Duration(5 * time.Second),
		Failures: []arm.Failure{{Count: 1, Size: "Standard_D4s_v5", Code: "OSProvisioningTimedOut", Message: "too slow"}}})
	if err := w.begin("a", w.body("a", "Standard_D2s_v5")); err != nil {
		t.Fatal(err)
	}
	if err := w.begin("b", w.body("b", "Standard_D4s_v5")); err != nil {
		t.Fatal(err)
	}
	w.wantStates("at once", "a virtualMachines Creating\nb virtualMachines Creating\na networkInterfaces Succeeded\nb networkInterfaces Succeeded")
	c.pass(5 * time.Second)
	w.wantStates("after 5s", "a virtualMachines Creating\nb virtualMachines Failed\na networkInterfaces Succeeded\nb networkInterfaces Succeeded")
	c.pass(15 * time.Second)
	w.wantStates("after 20s", "a disks Succeeded\na virtualMachines Succeeded running\nb virtualMachines Failed\na networkInterfaces Succeeded\nb networkInterfaces Succeeded")
	for _, n := range []string{"a", "b", "b"} { // a second DELETE joins the first
		if _, err := w.vms.BeginDelete(w.ctx, w.cfg.NodeResourceGroup, n, nil); err != nil {
			t.Fatal(err)
		}
	}
	w.wantStates("deleting", "a disks Succeeded\na virtualMachines Deleting stopped\nb virtualMachines Deleting\na networkInterfaces Succeeded\nb networkInterfaces Succeeded")
	w.refused(w.begin("a", w.body("a", "Standard_D2s_v5")), http.StatusConflict, "OperationNotAllowed")
	if _, on := w.host.get("a"); on {
		t.Error("a machine that is being deleted is still on")
	}
	c.pass(time.Minute)
	w.wantStates("deleted", "")
}

func TestDeleteWhileCreating(t *testing.T) {
	w, c := slowWorld(t, arm.Knobs{CreateTime: arm.Duration(20 * time.Second)})
	p, err := w.vms.BeginCreateOrUpdate(w.ctx, w.cfg.NodeResourceGroup, "a", w.body("a", "Standard_D2s_v5"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.vms.BeginDelete(w.ctx, w.cfg.NodeResourceGroup, "a", nil); err != nil {
		t.Fatal(err)
	}
	c.pass(time.Hour)
	w.wantStates("deleted", "")
	_, err = p.Poll(w.ctx)
	if err == nil {
		_, err = p.Result(w.ctx)
	}
	w.refused(err, 0, "OperationPreempted")
	if _, on := w.host.get("a"); on {
		t.Error("a deleted machine booted")
	}
}

func TestCapacityByZoneTypeAndCode(t *testing.T) {
	w := newWorld(t, func(c *arm.Config) {
		c.Knobs.Capacity = []arm.Capacity{
			{Size: "Standard_D2s_v5", Zone: "1", CapacityType: "spot", Code: "SkuNotAvailable"},
			{Size: "Standard_D2s_v5", Zone: "1", Limit: 1, Code: "OverconstrainedZonalAllocationRequest", Sync: true},
			{Size: "standard_d4s_v5", Zone: "regional"},
			{Size: "Standard_D8s_v5", Code: "OverconstrainedAllocationRequest"},
		}
	})
	w.refused(w.put("s", spot(w.body("s", "Standard_D2s_v5"))), http.StatusConflict, "SkuNotAvailable")
	w.mustPut("a", w.body("a", "Standard_D2s_v5"))
	w.refused(w.put("b", w.body("b", "Standard_D2s_v5")), http.StatusConflict, "OverconstrainedZonalAllocationRequest")
	other := w.body("b", "Standard_D2s_v5")
	other.Zones = []*string{to.Ptr("2")}
	w.mustPut("b", other)
	regional := w.body("c", "Standard_D4s_v5")
	regional.Zones = nil
	w.refused(w.put("c", regional), 0, "AllocationFailed")
	w.mustPut("d", w.body("d", "Standard_D4s_v5"))
	w.refused(w.put("e", w.body("e", "Standard_D8s_v5")), 0, "OverconstrainedAllocationRequest")
	// What is given back can be bought again.
	w.delete("a")
	w.mustPut("f", w.body("f", "Standard_D2s_v5"))
}

func TestQuotaTexts(t *testing.T) {
	w := newWorld(t, func(c *arm.Config) {
		c.Knobs.Quota = map[string]int{"standardDSv5Family": 4, "cores": 12, "lowPriorityCores": 3, "standardESv5Family": 0}
	})
	numbers := regexp.MustCompile(`exceeding approved (.+) quota\. .*Location: eastus, Current Limit: (\d+), Current Usage: (\d+), Additional Required: (\d+), \(Minimum\) New Limit Required: (\d+)\.`)
	want := func(err error, text string) {
		t.Helper()
		r := w.refused(err, http.StatusConflict, "OperationNotAllowed")
		if m := numbers.FindStringSubmatch(r.Error()); m == nil || strings.Join(m[1:], " ") != text {
			t.Errorf("have %q, want %q", m, text)
		}
	}
	w.mustPut("a", w.body("a", "Standard_D2s_v5"))
	w.mustPut("b", w.body("b", "Standard_D2s_v5"))
	want(w.put("c", w.body("c", "Standard_D2s_v5")), "standardDSv5Family Cores 4 4 2 6")
	want(w.put("c", w.body("c", "Standard_E2s_v5")), "standardESv5Family Cores 0 0 2 2")
	w.mustPut("c", w.body("c", "Standard_D8s_v3"))
	want(w.put("d", w.body("d", "Standard_F2s_v2")), "Total Regional Cores 12 12 2 14")
	w.mustPut("e", spot(w.body("e", "Standard_D2s_v5")))
	want(w.put("f", spot(w.body("f", "Standard_D2s_v5"))), "LowPriorityCores 3 2 2 4")

	client, err := armcompute.NewUsageClient(w.cfg.Subscription, w.cred, w.opts)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for pager := client.NewListPager("eastus", nil); pager.More(); {
		page, err := pager.NextPage(w.ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range page.Value {
			got[*u.Name.Value] = fmt.Sprintf("%d/%d", *u.CurrentValue, *u.Limit)
		}
	}
	for name, want := range map[string]string{"cores": "12/12", "lowPriorityCores": "2/3", "standardDSv5Family": "4/4", "standardESv5Family": "0/0", "standardDSv3Family": "8/2000", "virtualMachines": "4/25000"} {
		if got[name] != want {
			t.Errorf("usage %s is %s, want %s", name, got[name], want)
		}
	}
}

func TestThrottlingIsHonouredByTheSDK(t *testing.T) {
	w := newWorld(t, func(c *arm.Config) {
		c.Knobs.Throttle = arm.Throttle{Every: 2, RetryAfter: arm.Duration(time.Millisecond)}
	})
	w.opts.Retry.MaxRetries = 3
	vms, err := armcompute.NewVirtualMachinesClient(w.cfg.Subscription, w.cred, w.opts)
	if err != nil {
		t.Fatal(err)
	}
	for range 4 {
		if _, err := vms.Get(w.ctx, w.cfg.NodeResourceGroup, "none", nil); !strings.Contains(err.Error(), "ResourceNotFound") {
			t.Fatal(err)
		}
	}
	refused := 0
	for _, r := range w.cloud.Requests() {
		if r.Status == http.StatusTooManyRequests {
			refused++
		}
	}
	if refused < 3 {
		t.Errorf("%d requests were throttled", refused)
	}
}

func TestThrottlingByWindowAndKind(t *testing.T) {
	w, c := slowWorld(t, arm.Knobs{Throttle: arm.Throttle{PerWindow: 1, Window: arm.Duration(time.Minute), RetryAfter: arm.Duration(42 * time.Second), Kinds: []string{"write"}}})
	if err := w.begin("a", w.body("a", "Standard_D2s_v5")); err != nil {
		t.Fatal(err)
	}
	r := w.refused(w.begin("b", w.body("b", "Standard_D2s_v5")), http.StatusTooManyRequests, "OperationNotAllowed")
	if d := r.RawResponse.Header.Get("Retry-After"); d != "42" {
		t.Errorf("Retry-After %s", d)
	}
	if _, err := w.vms.Get(w.ctx, w.cfg.NodeResourceGroup, "a", nil); err != nil {
		t.Errorf("reads are throttled, too: %v", err)
	}
	c.pass(time.Minute)
	if err := w.begin("b", w.body("b", "Standard_D2s_v5")); err != nil {
		t.Errorf("after the window: %v", err)
	}
}

func TestUnreachableAndBack(t *testing.T) {
	w, c := slowWorld(t, arm.Knobs{})
	get := func() error { _, err := w.vms.Get(w.ctx, w.cfg.NodeResourceGroup, "none", nil); return err }
	w.refused(get(), http.StatusNotFound, "ResourceNotFound")
	w.turn(func(k *arm.Knobs) {
		k.Unreachable = []arm.Window{{From: c.now.Add(time.Minute), Until: c.now.Add(2 * time.Minute)}, {From: c.now.Add(3 * time.Minute), Drop: true}}
	})
	w.refused(get(), http.StatusNotFound, "ResourceNotFound")
	c.pass(time.Minute)
	w.refused(get(), http.StatusServiceUnavailable, "ServiceUnavailable")
	if _, ok := w.host.get("x"); ok {
		t.Fatal("no machine was asked for")
	}
	c.pass(time.Minute)
	w.refused(get(), http.StatusNotFound, "ResourceNotFound")
	c.pass(time.Minute)
	if err := get(); err == nil || !strings.Contains(err.Error(), "EOF") {
		t.Errorf("a dropped connection gave %v", err)
	}
	w.turn(func(k *arm.Knobs) { k.Unreachable = nil })
	w.refused(get(), http.StatusNotFound, "ResourceNotFound")
}

func TestFailuresAreUsedUp(t *testing.T) {
	w := newWorld(t, func(c *arm.Config) {
		c.Knobs.Failures = []arm.Failure{{Count: 1, Code: "RequestDisallowedByPolicy", Status: 403, Message: "not here"},
			{Count: 2, Code: "ResourceOperationFailure", Message: "wrapped", Details: []string{"ZonalAllocationFailed"}}}
	})
	w.refused(w.put("a", w.body("a", "Standard_D2s_v5")), http.StatusForbidden, "RequestDisallowedByPolicy")
	for _, n := range []string{"b", "c"} {
		if r := w.refused(w.put(n, w.body(n, "Standard_D2s_v5")), 0, "ResourceOperationFailure"); !strings.Contains(r.Error(), "ZonalAllocationFailed") {
			t.Errorf("details are missing: %v", r)
		}
	}
	w.mustPut("d", w.body("d", "Standard_D2s_v5"))
	for _, f := range w.cloud.Knobs().Failures {
		if f.Count != 0 {
			t.Errorf("left of %s: %d", f.Code, f.Count)
		}
	}
}

func TestLatencyDelaysEveryAnswer(t *testing.T) {
	c := &clock{now: time.Now()}
	asked := make(chan time.Duration)
	w := newWorld(t, func(cfg *arm.Config) {
		cfg.Knobs = arm.Knobs{Latency: arm.Duration(3 * time.Second)}
		cfg.After = func(d time.Duration, f func()) func() bool {
			stop := c.After(d, f)
			asked <- d
			return stop
		}
	})
	done := make(chan error)
	go func() {
		resp, err := w.srv.Client().Get(w.srv.URL + "/api/retail/prices")
		if err == nil {
			resp.Body.Close()
		}
		done <- err
	}()
	if d := <-asked; d != 3*time.Second {
		t.Errorf("delayed by %v", d)
	}
	select {
	case err := <-done:
		t.Fatalf("answered before its time: %v", err)
	default:
	}
	c.pass(3 * time.Second)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestEvictionWarnsThenTakes(t *testing.T) {
	w, c := slowWorld(t, arm.Knobs{})
	keep := spot(w.body("keep", "Standard_D2s_v5"))
	keep.Properties.EvictionPolicy = to.Ptr(armcompute.VirtualMachineEvictionPolicyTypesDeallocate)
	for name, vm := range map[string]armcompute.VirtualMachine{"a": spot(w.body("a", "Standard_D2s_v5")), "keep": keep, "od": w.body("od", "Standard_D2s_v5")} {
		if err := w.begin(name, vm); err != nil {
			t.Fatal(err)
		}
	}
	c.pass(0)
	if err := w.cloud.Evict("od"); err == nil {
		t.Error("an on-demand machine was evicted")
	}
	if err := w.cloud.Evict("A"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.vms.SimulateEviction(w.ctx, w.cfg.NodeResourceGroup, "keep", nil); err != nil {
		t.Fatal(err)
	}
	c.pass(29 * time.Second)
	if _, on := w.host.get("a"); !on || strings.Join(w.host.warns, ",") != "a Preempt,keep Preempt" {
		t.Errorf("after 29s: on %v, warned %v", on, w.host.warns)
	}
	c.pass(time.Second)
	w.wantStates("evicted", "keep disks Succeeded\nod disks Succeeded\nkeep virtualMachines Succeeded deallocated\nod virtualMachines Succeeded running\nkeep networkInterfaces Succeeded\nod networkInterfaces Succeeded")
	if err := w.cloud.Deallocate("od"); err != nil {
		t.Fatal(err)
	}
	if len(w.host.on) != 0 {
		t.Errorf("still on: %v", w.host.on)
	}
}

func TestKnobsNameEveryMistake(t *testing.T) {
	k := arm.Knobs{CreateTime: -1, Capacity: []arm.Capacity{{Code: "Sold out", CapacityType: "cheap", Zone: "9", Limit: -1}}, Quota: map[string]int{"cores": -1},
		Failures: []arm.Failure{{Count: -1, Status: 200}}, Throttle: arm.Throttle{Every: -1, Kinds: []string{"all"}}, Prices: map[string]float64{"x": -1},
		Images: []arm.ImageVersion{{}}, SubnetAddresses: -1, PageSize: -1, Unreachable: []arm.Window{{From: time.Unix(9, 0), Until: time.Unix(8, 0)}}}
	err := k.Validate()
	for _, want := range []string{"createTime", "capacity[0].code", "capacity[0].capacityType", "capacity[0].zone", "capacity[0].limit", "quota[cores]", "failures[0].code",
		"failures[0].status", "failures[0].count", "throttle: every", "throttle.kinds", "prices[x]: want", "prices[x] is negative", "images[0]", "subnetAddresses", "pageSize", "unreachable[0]"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not named in: %v", want, err)
		}
	}
	if (arm.Knobs{}).Validate() != nil {
		t.Error("the zero value is refused")
	}
	_, err = arm.New(arm.Config{Knobs: k, Location: "moon", SubnetPrefix: "x", SubnetID: "y"})
	for _, want := range []string{"moon", "subnet prefix", "subnet id", "createTime"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not named in: %v", want, err)
		}
	}
}
