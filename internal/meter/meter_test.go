package meter_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/karpenter-aks/karpenter/internal/meter"
	"github.com/karpenter-aks/karpenter/model"
)

var rewrite = flag.Bool("rewrite", false, "write docs/metrics.md anew")

//go:generate go test . -run TestThePageIsCurrent -rewrite

func TestThePageIsCurrent(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "metrics.md")
	want := meter.Page()
	if *rewrite {
		err := os.WriteFile(path, []byte(want), 0o644)
		if err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/metrics.md is not what the tables say: make generate")
	}
}

// A metric has one row; its name says its unit, and whether it only grows.
func TestRowsAreWhatTheirNamesSay(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range append(meter.Counted(), meter.Seen()...) {
		if seen[m.Name] {
			t.Errorf("%s has two rows", m.Name)
		}
		seen[m.Name] = true
		labels := map[string]bool{}
		for _, l := range m.Names() {
			if labels[l] {
				t.Errorf("%s has the label %s twice", m.Name, l)
			}
			labels[l] = true
		}
		switch {
		case m.Profile < meter.Lean || m.Profile > meter.Full:
			t.Errorf("%s is in no profile", m.Name)
		case m.Help == "":
			t.Errorf("%s says nothing", m.Name)
		case strings.HasSuffix(m.Name, "_seconds") != (m.Unit == "seconds"):
			t.Errorf("%s is in %q", m.Name, m.Unit)
		case (m.Kind == meter.Histogram) != (m.Buckets != ""):
			t.Errorf("%s is a %s with buckets %q", m.Name, m.Kind, m.Buckets)
		}
	}
	if len(seen) < 100 {
		t.Errorf("only %d rows", len(seen))
	}
}

// cluster is a world of so many nodes, with thirty pods on each, one pod for ten nodes that waits,
// and five NodePools.
func cluster(nodes int) model.World {
	w := model.World{Catalogs: map[model.ClassRef]model.Catalog{}}
	class := model.ClassRef{Group: "karpenter.azure.com", Kind: "AKSNodeClass", Name: "default"}
	born := time.Unix(1_800_000_000, 0)
	ready := model.Condition{Type: model.Ready, Status: model.True, Reason: "Ready", Since: born}
	w.Classes = []model.Class{{Ref: class, Conditions: []model.Condition{ready}}}
	for i := range 5 {
		w.Pools = append(w.Pools, model.Pool{Name: fmt.Sprint("pool-", i), Class: class,
			Limits: map[string]int64{"cpu": 1000_000}, Conditions: []model.Condition{ready}})
	}
	w.Catalogs[class] = sold(class)
	limits := &model.Limits{CPU: 200}
	of := model.Resources{CPU: 8000, Memory: 32 << 30, Ephemeral: 100 << 30, Pods: 110}
	for i := range nodes {
		name, pool := fmt.Sprintf("node-%05d", i), w.Pools[i%5].Name
		labels := map[string]string{model.LabelPool: pool, model.LabelArch: "amd64",
			model.LabelInstanceType: fmt.Sprint("type-", i%10), model.LabelOS: "linux",
			model.LabelZone: fmt.Sprint("here-", i%3), model.LabelCapacityType: "spot"}
		var list []model.Condition
		for _, typ := range []string{model.Launched, model.Registered, model.Initialized,
			model.Consolidatable, "ConsistentStateFound", model.Ready} {
			list = append(list, model.Condition{Type: typ, Status: model.True, Reason: typ,
				Since: born})
		}
		w.Claims = append(w.Claims, model.Claim{Name: name, UID: name, Pool: pool, Class: class,
			Labels: labels, ProviderID: "azure://" + name, NodeName: name, Conditions: list})
		w.Nodes = append(w.Nodes, model.Node{Name: name, UID: name, ProviderID: "azure://" + name,
			Labels: labels, Created: born, Capacity: of, Allocatable: of, Ready: model.True,
			Conditions: []model.Condition{{Type: model.NodeHealthy, Status: model.True}}})
		for k := range 30 {
			w.Pods = append(w.Pods, model.Pod{Namespace: fmt.Sprintf("ns-%03d", k*7%97),
				Name: fmt.Sprintf("%s-%d", name, k), Node: name, PodReady: k > 0,
				Phase:    model.PodRunning,
				Requests: model.Resources{CPU: 100, Pods: 1}, DaemonSet: k < 3, Limits: limits})
		}
		if i%10 == 0 {
			w.Pods = append(w.Pods, model.Pod{Namespace: "wait", Name: name, Unschedulable: true,
				NodeSelector: map[string]string{model.LabelZone: "here-1"}})
		}
	}
	return w
}

// sold is a catalogue of a hundred types.
func sold(class model.ClassRef) model.Catalog {
	cat := model.Catalog{Class: class}
	for i := range 100 {
		t := model.InstanceType{Name: fmt.Sprint("type-", i)}
		for z := range 3 {
			t.Offerings = append(t.Offerings, model.Offering{Type: t.Name, CapacityType: "spot",
				Zone: fmt.Sprint("here-", z), Price: 250_000, Available: z > 0})
		}
		cat.Types = append(cat.Types, t)
	}
	return cat
}

func gather(t *testing.T, w model.World, o meter.Options) map[string]*dto.MetricFamily {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	s := meter.NewSet(reg, o)
	yes := func() bool { return true }
	s.Of(meter.Sight{World: func() model.World { return w }, Synced: yes, Leads: yes,
		Now: func() time.Time { return time.Unix(1_800_000_000+3600, 0) }})
	if s.Err() != nil {
		t.Fatal(s.Err())
	}
	list, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*dto.MetricFamily{}
	for _, f := range list {
		out[f.GetName()] = f
	}
	return out
}

func series(families map[string]*dto.MetricFamily) (n int) {
	for _, f := range families {
		n += len(f.Metric)
	}
	return n
}

// What a node costs is bounded, and so is what there is of five NodePools without any. In full, the
// pods of nodes and a catalogue of a hundred types are in it.
func TestSeriesAreBoundedByProfile(t *testing.T) {
	none, small, large := cluster(0), cluster(100), cluster(1000)
	for _, c := range []struct {
		profile         meter.Profile
		atRest, perNode int
	}{{meter.Lean, 90, 7}, {meter.Standard, 100, 40}, {meter.Full, 1000, 100}} {
		o := meter.Options{Profile: c.profile}
		rest := series(gather(t, none, o))
		a, b := series(gather(t, small, o)), series(gather(t, large, o))
		each := float64(b-a) / 900
		t.Logf("%s: %d at rest, %d at 100 nodes, %d at 1,000, %.1f more a "+
			"node", c.profile, rest, a, b, each)
		if rest > c.atRest {
			t.Errorf("%s: %d series without a node, want at most %d", c.profile, rest, c.atRest)
		}
		if each > float64(c.perNode) {
			t.Errorf("%s: %.1f series more for each node, want at most "+
				"%d", c.profile, each, c.perNode)
		}
		// What there is once, however many nodes there are, has room beside that: namespaces of pods, above all.
		if most := 1000*c.perNode + 2000; b > most {
			t.Errorf("%s: %d series at 1,000 nodes, want at most %d", c.profile, b, most)
		}
	}
	o := meter.Options{Profile: meter.Full, NoState: true}
	a, b := series(gather(t, small, o)), series(gather(t, large, o))
	if a != b {
		t.Errorf("without the cluster's state: %d series at 100 nodes, %d at 1,000", a, b)
	}
}

// value is that of the one series of a family with these labels, "name=value".
func value(t *testing.T, f *dto.MetricFamily, labels ...string) float64 {
	t.Helper()
	found, out := 0, 0.0
	for _, m := range f.GetMetric() {
		has := map[string]bool{}
		for _, l := range m.Label {
			has[l.GetName()+"="+l.GetValue()] = true
		}
		all := true
		for _, l := range labels {
			all = all && has[l]
		}
		if all {
			found++
			out += m.GetGauge().GetValue()
		}
	}
	if found == 0 {
		t.Errorf("%s has no series %v", f.GetName(), labels)
	}
	return out
}

// What is told adds up to what there is, in units that dashboards know.
func TestThePictureIsToldAsItIs(t *testing.T) {
	w := cluster(10)
	w.Pools[0].StatusResources, w.Pools[0].StatusNodes = model.Resources{CPU: 16_000}, 2
	w.Pools[0].Budgets = []model.DisruptionBudget{{Nodes: "50%"}}
	w.Nodes[5].Ready = model.False
	f := gather(t, w, meter.Options{})
	const p, n, third = "karpenter_nodepools_", "karpenter_nodes_", "node_name=node-00003"
	for name, c := range map[string]struct{ got, want float64 }{
		"nodes":   {value(t, f["karpenter_cluster_state_node_count"]), 10},
		"synced":  {value(t, f["karpenter_cluster_state_synced"]), 1},
		"cores":   {value(t, f[n+"allocatable"], third, "resource_type=cpu"), 8},
		"asked":   {value(t, f[n+"total_pod_requests"], third, "resource_type=cpu"), 3},
		"pods":    {value(t, f[n+"total_pod_requests"], third, "resource_type=pods"), 30},
		"daemons": {value(t, f[n+"total_daemon_requests"], third, "resource_type=cpu"), 0.3},
		"limits":  {value(t, f[n+"total_pod_limits"], third, "resource_type=cpu"), 6},
		"age":     {value(t, f[n+"current_lifetime_seconds"], third), 3600},
		"used":    {value(t, f[p+"usage"], "nodepool=pool-0", "resource_type=cpu"), 16},
		"count":   {value(t, f[p+"usage"], "nodepool=pool-0", "resource_type=nodes"), 2},
		"limit":   {value(t, f[p+"limit"], "nodepool=pool-0", "resource_type=cpu"), 1000},
		"cost":    {value(t, f[p+"cost_total"], "nodepool=pool-0"), 0.5},
		"allowed": {value(t, f[p+"allowed_disruptions"], "nodepool=pool-0", "reason=Empty"), 1},
		"leaving": {value(t, f[p+"nodes_consuming_budgets"], "nodepool=pool-0", "reason=Empty"), 1},
		"running": {value(t, f["karpenter_pods_state"], "phase=Running"), 300},
		"ready":   {value(t, f["karpenter_pods_state"], "ready=true"), 290},
		"waiting": {value(t, f["karpenter_pods_state"], "scheduled=false"), 1},
		"zone": {value(t, f["karpenter_scheduler_pending_pods_by_effective_zone_count"],
			"zone=here-1"), 1},
		"may leave": {value(t, f["karpenter_voluntary_disruption_eligible_nodes"],
			"reason=underutilized"), 10},
		"ready " +
			"claims": {value(t, f["operator_nodeclaim_status_condition_count"], "type=Ready"), 10},
		"ready nodes": {value(t, f["operator_node_status_condition_count"], "type=Ready",
			"status=True"), 9},
		"price": {value(t, f["karpenter_cloudprovider_instance_type_offering_price_estimate"],
			"instance_type=type-3", "zone=here-1"), 0.25},
		"percent": {value(t, f["karpenter_cluster_utilization_percent"],
			"resource_type=cpu"), 37.5},
	} {
		if d := c.got - c.want; d > 1e-9 || d < -1e-9 {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
}

// A buffer's conditions have its namespace, and under the older name its own group.
func TestConditionsOfBuffersAreTold(t *testing.T) {
	w := model.World{Buffers: []model.Buffer{{Namespace: "shop", Name: "room",
		Conditions: []model.Condition{{Type: model.Provisioning, Status: model.False,
			Reason: "RequiresNewCapacity"}}}}}
	f := gather(t, w, meter.Options{Profile: meter.Full})
	for name, group := range map[string]string{
		"operator_capacitybuffer_status_condition_count": "reason=RequiresNewCapacity",
		"operator_status_condition_count":                "group=autoscaling.x-k8s.io",
	} {
		if n := value(t, f[name], group, "namespace=shop", "name=room", "type=Provisioning",
			"status=False"); n != 1 {
			t.Errorf("%s: %v, want 1", name, n)
		}
	}
}

// Who owns a pod is told where each pod is, and makes no series where they are counted.
func TestOwnersAreToldOfSinglePods(t *testing.T) {
	w := model.World{Pods: []model.Pod{
		{Namespace: "shop", Name: "web-1", Owner: "/apis/apps/v1/namespaces/shop/replicasets/web"},
		{Namespace: "shop", Name: "bare"},
	}}
	for profile, want := range map[meter.Profile]string{
		meter.Full: "web-1=/apis/apps/v1/namespaces/shop/replicasets/web 1, bare= 1",
		// Nobody is named.
		meter.Standard: "= 2",
	} {
		var got []string
		f := gather(t, w, meter.Options{Profile: profile})["karpenter_pods_state"]
		for _, m := range f.GetMetric() {
			l := map[string]string{}
			for _, x := range m.GetLabel() {
				l[x.GetName()] = x.GetValue()
			}
			n := m.GetGauge().GetValue()
			got = append(got, fmt.Sprintf("%s=%s %v", l["name"], l["owner"], n))
		}
		slices.Sort(got)
		slices.Reverse(got)
		if text := strings.Join(got, ", "); text != want {
			t.Errorf("%v: %s, want %s", profile, text, want)
		}
	}
}

// A process that does not lead tells nothing of the cluster: another one does.
func TestFollowersTellNothing(t *testing.T) {
	reg := prometheus.NewRegistry()
	s := meter.NewSet(reg, meter.Options{})
	s.Of(meter.Sight{Leads: func() bool { return false }})
	list, err := reg.Gather()
	if err != nil || len(list) > 0 {
		t.Errorf("%d families, %v", len(list), err)
	}
}

// Reasons and types of events are told once, of kinds that somebody describes.
func TestEventsHaveOneRow(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range meter.Events() {
		if seen[e.Reason] || e.When == "" || len(e.On) == 0 {
			t.Errorf("%s: twice, or says nothing: %+v", e.Reason, e)
		}
		seen[e.Reason] = true
	}
	if !meter.Known("Evicted", "Normal", "Pod") || meter.Known("Evicted", "Warning", "Pod") {
		t.Error("Evicted is a normal event of pods")
	}
}
