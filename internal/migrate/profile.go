package migrate

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	yaml "go.yaml.in/yaml/v3"
)

// profile is what NodePools say of the cluster autoscaler's settings.
type profile struct {
	after      string // consolidateAfter
	atOnce     int64  // how many empty nodes may leave at once
	emptyOnly  bool
	grace      string // terminationGracePeriod; "" = none
	byPriority bool
}

// knob is a setting of the cluster autoscaler: the value at which nothing changes or nobody chose
// anything, and what follows for a NodePool of another. The text of one that is carried over is "".
// A default says nothing that a person chose: consolidateAfter
// and the budget are the autoscaler's own then, and no terminationGracePeriod is made of 600
// seconds, since that ends pods against their disruption budgets, which the autoscaler does not.
type knob struct{ name, usual, what string }

func knobs() []knob {
	moves := "Karpenter moves pods when that saves money, whatever a node's share"
	waits := "the only wait is consolidateAfter, from the last change of a node's pods"
	return []knob{
		{"scale-down-unneeded-time", "10m", ""},
		{"max-empty-bulk-delete", "10", ""},
		{"scale-down-utilization-threshold", "0.5", moves},
		{"max-graceful-termination-sec", "600", ""},
		{"expander", "random", ""},
		{"balance-similar-node-groups", "false", "nothing balances NodePools: pods that are to " +
			"be " +
			"spread say so with topologySpreadConstraints"},
		{"skip-nodes-with-local-storage", "false", "pods with emptyDir volumes are moved, and " +
			"lose " +
			"what is in them; annotate those that may not be moved with " +
			"karpenter.sh/do-not-disrupt"},
		{"skip-nodes-with-system-pods", "false", "pods of kube-system are moved within their " +
			"disruption budgets; annotate those that may not be moved with " +
			"karpenter.sh/do-not-disrupt"},
		{"scan-interval", "10s", "nothing is asked at intervals: what changes wakes the " +
			"controller"},
		{"scale-down-delay-after-add", "10m", waits},
		{"scale-down-delay-after-delete", "10s", waits},
		{"scale-down-delay-after-failure", "3m", waits},
		{"scale-down-unready-time", "20m", "nodes that are not ready are replaced when the " +
			"feature " +
			"gate NodeRepair is on"},
		{"max-node-provision-time", "15m", "a machine that does not become a node in time is " +
			"given " +
			"back and another bought; the time is the controller's"},
		{"max-total-unready-percentage", "45", "unready nodes hold up nothing else"},
		{"ok-total-unready-count", "3", "unready nodes hold up nothing else"},
		{"new-pod-scale-up-delay", "0s", "pods are gathered for as long as the controller's " +
			"--batch-idle-duration and --batch-max-duration say"},
		{"daemonset-eviction-for-empty-nodes", "false", "pods of DaemonSets end with their node, " +
			"after the others"},
		{"daemonset-eviction-for-occupied-nodes", "true", "pods of DaemonSets end with their " +
			"node, after the others"},
		{"ignore-daemonsets-utilization", "false", moves},
	}
}

// profile reads the autoscaler's settings, and notes those that nothing stands for. Those that are
// as they are everywhere share a note.
func (w *writer) profile() profile {
	s := w.cluster.profile
	p := profile{after: "10m", atOnce: 10}
	var usual []string
	for _, k := range knobs() {
		v := s.text(k.name)
		switch {
		case v == "":
		case same(v, k.usual) && k.name != "expander":
			usual = append(usual, k.name)
		case k.what == "":
			p.carry(w, k, v)
		case k.name == "scale-down-utilization-threshold" && zero(v):
			p.emptyOnly = true
		default:
			w.note("autoScalerProfile."+k.name+" "+v, "%s", k.what)
		}
	}
	if len(usual) > 0 {
		w.note("autoScalerProfile", "nothing is carried over of these, nor has to be at their "+
			"values: %s", strings.Join(usual, ", "))
	}
	return p
}

// carry takes a setting over.
func (p *profile) carry(w *writer, k knob, v string) {
	at := "autoScalerProfile." + k.name + " " + v
	switch k.name {
	case "scale-down-unneeded-time":
		if d, err := time.ParseDuration(v); err == nil && d >= 0 {
			p.after = duration(d)
			return
		}
	case "max-empty-bulk-delete":
		if n, err := strconv.ParseInt(v, 10, 64); err == nil && n >= 0 {
			p.atOnce = n
			return
		}
	case "max-graceful-termination-sec":
		n, err := strconv.ParseInt(v, 10, 32)
		if err == nil && n > 0 {
			p.grace = duration(time.Duration(n) * time.Second)
			w.note(at, "it became terminationGracePeriod, after which pods are ended against "+
				"their "+
				"disruption budgets, too")
			return
		}
	case "expander":
		p.expander(w, at, v)
		return
	}
	w.note(at, "it cannot be read, and was not carried over")
}

// expander is how the autoscaler chose among agent pools.
func (p *profile) expander(w *writer, at, v string) {
	switch {
	case strings.Contains(v, "priority") && len(w.cluster.priorities) > 0:
		p.byPriority = true
	case strings.Contains(v, "priority"):
		w.note(at, "its priorities become weights when they are known: kubectl -n kube-system get "+
			"configmap cluster-autoscaler-priority-expander -o json (-f)")
	default:
		w.note(at, "Karpenter buys what costs least of all that NodePools of the same weight allow")
	}
}

// disruption is what a NodePool says of nodes that leave.
func (p profile) disruption() object {
	policy := "WhenEmptyOrUnderutilized"
	if p.emptyOnly {
		policy = "WhenEmpty"
	}
	return object{{"consolidationPolicy", policy}, {"consolidateAfter", p.after}, {"budgets", []any{
		inline{{"nodes", strconv.FormatInt(p.atOnce, 10)}, {"reasons", []any{"Empty"}}},
		inline{{"nodes", "10%"}, {"reasons", []any{"Underutilized", "Drifted"}}},
	}}}
}

// duration writes whole hours, minutes or seconds, as the CRDs want it.
func duration(d time.Duration) string {
	switch {
	case d > 0 && d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d > 0 && d%time.Minute == 0:
		return fmt.Sprintf("%dm", d/time.Minute)
	}
	return fmt.Sprintf("%ds", d/time.Second)
}

// same compares settings as the autoscaler reads them: 10 is 10s for some.
func same(v, usual string) bool {
	return strings.EqualFold(v, usual) || v+"s" == usual || v+".0" == usual
}

func zero(v string) bool {
	f, err := strconv.ParseFloat(v, 64)
	return err == nil && f == 0
}

// priority is one line of the priority expander's ConfigMap: agent pools whose name matches, and
// what they are worth.
type priority struct {
	value int64
	names []*regexp.Regexp
}

// mostWeight is the largest weight of a NodePool.
const mostWeight = 100

// priorities reads the ConfigMap's text: YAML, numbers to lists of regular expressions.
func priorities(text string) ([]priority, error) {
	var in map[int64][]string
	if err := yaml.Unmarshal([]byte(text), &in); err != nil {
		return nil, fmt.Errorf("priorities: %w", err)
	}
	var out []priority
	for _, value := range slices.Sorted(maps.Keys(in)) {
		p := priority{value: value}
		for _, x := range in[value] {
			re, err := regexp.Compile(x)
			if err != nil {
				return nil, fmt.Errorf("priorities: %d: %w", value, err)
			}
			p.names = append(p.names, re)
		}
		out = append(out, p)
	}
	return out, nil
}

// weightOf is the weight of an agent pool: its priority where all of them are weights, else its
// rank among them; 0 when it has none. The autoscaler compares the names of scale sets, which begin
// with aks- and the pool's name.
func weightOf(pool string, list []priority) int64 {
	weights := !slices.ContainsFunc(list, func(p priority) bool {
		return p.value < 1 || p.value > mostWeight
	})
	best := int64(0)
	for i, p := range list {
		for _, re := range p.names {
			if !re.MatchString("aks-" + pool + "-00000000-vmss") {
				continue
			}
			best = min(int64(i+1), mostWeight)
			if weights {
				best = p.value
			}
		}
	}
	return best
}
