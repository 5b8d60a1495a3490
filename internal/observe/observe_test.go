package observe

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/karpenter-aks/karpenter/internal/kube"
	"github.com/karpenter-aks/karpenter/internal/meter"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/model"
)

func TestLeftoverSaysWhyPerPool(t *testing.T) {
	for name, x := range map[string]struct {
		in   place.Unscheduled
		want string
	}{
		"the pod itself": {
			place.Unscheduled{Why: model.WhyTopologySpread, Detail: "topology spread constraints are not decided yet"},
			"Failed to schedule pod: topology-spread: topology spread constraints are not decided yet",
		},
		"each pool in the order asked, with what its constraints removed": {
			place.Unscheduled{Refusals: []place.Refusal{
				{Pool: "gpu", Why: model.WhyTaint, Detail: "taint gpu=true:NoSchedule is not tolerated"},
				{Pool: "general", Why: model.WhyResources, Detail: "too large", Removed: []place.Removed{
					{Why: model.WhyRequirements, Offerings: 40}, {Why: model.WhyNodeSelector}, {Why: model.WhyResources, Offerings: 2}}},
			}},
			`Failed to schedule pod, nodepool "gpu": taint: taint gpu=true:NoSchedule is not tolerated; ` +
				`nodepool "general": resources: too large (offerings: requirements removed 40, resources removed 2)`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Leftover(x.in); got != x.want {
				t.Errorf("got  %s\nwant %s", got, x.want)
			}
		})
	}
}

type ear struct{ heard []kube.Event }

func (e *ear) Announce(x kube.Event) { e.heard = append(e.heard, x) }

func recorder(t *testing.T) (*Recorder, *ear, *prometheus.Registry) {
	t.Helper()
	reg := prometheus.NewRegistry()
	m, err := NewMetrics(reg, meter.Options{Version: "test", Commit: "abc"})
	if err != nil {
		t.Fatal(err)
	}
	e := &ear{}
	return New(e, logr.Discard(), m), e, reg
}

func TestPodsThatOptOutAreNotBothered(t *testing.T) {
	r, e, _ := recorder(t)
	pods := []model.Pod{{Namespace: "a", Name: "in"}, {Namespace: "a", Name: "out"}}
	r.Leftovers(model.World{Pods: pods}.Indexed().Index, []place.Unscheduled{{Pod: pods[0].Key(), Why: model.WhyNoPools}, {Pod: pods[1].Key(), Why: model.WhyPoolOptOut}})
	if len(e.heard) != 1 || e.heard[0].About.ObjectKey() != "a/in" || e.heard[0].Reason != "FailedScheduling" || e.heard[0].Type != kube.Warning {
		t.Errorf("heard %+v, want one FailedScheduling about a/in", e.heard)
	}
}

// TestMetricNamesAreThoseThatDashboardsQuery guards the names; they are part of the contract.
func TestMetricNamesAreThoseThatDashboardsQuery(t *testing.T) {
	r, _, reg := recorder(t)
	r.ClaimCreated(model.Claim{Name: "c", Pool: "p"}, place.NewClaim{Options: []place.Option{{}}})
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	value := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			name := f.GetName()
			for _, l := range m.Label {
				name += " " + l.GetName() + "=" + l.GetValue()
			}
			value[name] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	for name, want := range map[string]float64{
		"karpenter_nodeclaims_created_total min_values_relaxed=false nodepool=p reason=provisioned": 1,
		"karpenter_scheduler_unschedulable_pods_count controller=provisioner":                       0,
		"karpenter_scheduler_queue_depth controller=provisioner scheduling_id=":                     0,
		"karpenter_scheduler_ignored_pods_count":                                                    0,
		"karpenter_scheduler_scheduling_duration_seconds controller=provisioner":                    0,
		"karpenter_scheduler_refused_plans_total":                                                   0,
		"karpenter_cluster_state_watches_lost_total":                                                0,
	} {
		got, ok := value[name]
		if !ok || got != want {
			t.Errorf("%s = %v (there: %v), want %v", name, got, ok, want)
		}
	}
}

// One pool with much to say does not keep the others from being heard, and an event stays as long as the API server takes.
func TestEveryPoolIsHeardInTheEvent(t *testing.T) {
	wordy := place.Refusal{Pool: "wordy", Why: model.WhyRequirements, Detail: strings.Repeat("välue, ", 10_000)}
	short := place.Refusal{Pool: "short", Why: model.WhyTaint, Detail: "taint gpu=true:NoSchedule is not tolerated"}
	for _, list := range [][]place.Refusal{{wordy, short}, {short, wordy}, {wordy, wordy, short, wordy}} {
		text := Leftover(place.Unscheduled{Refusals: list})
		if len(text) > 1024 || !utf8.ValidString(text) {
			t.Errorf("%d bytes, UTF-8 %v", len(text), utf8.ValidString(text))
		}
		if !strings.Contains(text, short.Detail) || strings.Count(text, "nodepool ") != len(list) {
			t.Errorf("some pool is not heard: %s", text)
		}
	}
	text := Leftover(place.Unscheduled{Refusals: slices.Repeat([]place.Refusal{wordy}, 100)})
	if len(text) > 1024 || !strings.Contains(text, "nodepools more") {
		t.Errorf("a hundred pools: %d bytes: %s", len(text), text)
	}
}
