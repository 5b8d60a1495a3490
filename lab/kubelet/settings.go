package kubelet

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
)

// settings is what the simulated kubelet acts on.
type settings struct {
	maxPods        int64
	external       bool // the cloud's own node manager finishes registration
	register       bool
	taints         []corev1.Taint
	kubeReserved   corev1.ResourceList
	systemReserved corev1.ResourceList
	eviction       map[string]string // signal → threshold, "750Mi" or "10%"
	labels         map[string]string // --node-labels
}

// settings checks the flags as the kubelet does before it starts.
func (f flags) settings() (settings, []error) {
	var errs []error
	note := func(name string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("--%s=%s: %w", name, f[name], err))
		}
	}
	s := settings{maxPods: f.number("max-pods", 110), register: f.bool("register-node", true)} // both are the kubelet's defaults
	var err error
	switch f["cloud-provider"] {
	case "external":
		s.external = true
	case "":
	default:
		note("cloud-provider", fmt.Errorf("unsupported cloud provider; in-tree providers are gone, only %q is left", "external"))
	}
	s.taints, err = parseTaints(f["register-with-taints"])
	note("register-with-taints", err)
	s.kubeReserved, err = parseReserved(f["kube-reserved"])
	note("kube-reserved", err)
	s.systemReserved, err = parseReserved(f["system-reserved"])
	note("system-reserved", err)
	s.eviction, err = parseEviction(f)
	note("eviction-hard", err)
	s.labels, err = parseLabels(f["node-labels"])
	note("node-labels", err)
	return s, append(errs, f.validate()...)
}

// parseTaints reads "key=value:Effect,key:Effect", sorted by key and effect.
func parseTaints(line string) ([]corev1.Taint, error) {
	if line == "" {
		return nil, nil
	}
	var out []corev1.Taint
	for item := range strings.SplitSeq(line, ",") {
		kv, effect, ok := strings.Cut(item, ":")
		key, value, _ := strings.Cut(kv, "=")
		t := corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)}
		switch {
		case !ok || !slices.Contains([]string{"NoSchedule", "PreferNoSchedule", "NoExecute"}, effect):
			return nil, fmt.Errorf("invalid taint %q: it ends in none of :NoSchedule, :PreferNoSchedule, :NoExecute", item)
		case len(validation.IsQualifiedName(key)) > 0:
			return nil, fmt.Errorf("invalid taint %q: key: %s", item, validation.IsQualifiedName(key)[0])
		case len(validation.IsValidLabelValue(value)) > 0:
			return nil, fmt.Errorf("invalid taint %q: value: %s", item, validation.IsValidLabelValue(value)[0])
		case slices.ContainsFunc(out, func(o corev1.Taint) bool { return o.Key == key && o.Effect == t.Effect }):
			return nil, fmt.Errorf("duplicated taint %s:%s", key, effect)
		}
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b corev1.Taint) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Effect, b.Effect))
	})
	return out, nil
}

// parseReserved reads "cpu=100m,memory=1843Mi"; the kubelet takes cpu, memory, ephemeral-storage and pid.
func parseReserved(line string) (corev1.ResourceList, error) {
	out := corev1.ResourceList{}
	for _, item := range splitList(line) {
		name, value, _ := strings.Cut(item, "=")
		if !slices.Contains([]string{"cpu", "memory", "ephemeral-storage", "pid"}, name) {
			return nil, fmt.Errorf("cannot reserve %q", name)
		}
		q, err := resource.ParseQuantity(value)
		if err != nil || q.Sign() < 0 {
			return nil, fmt.Errorf("%s: %q is no quantity of zero or more", name, value)
		}
		out[corev1.ResourceName(name)] = q
	}
	return out, nil
}

// parseEviction reads --eviction-hard. Not given, it has the kubelet's defaults; given, the defaults are gone.
func parseEviction(f flags) (map[string]string, error) {
	line, ok := f["eviction-hard"]
	if !ok {
		line = "memory.available<100Mi,nodefs.available<10%,nodefs.inodesFree<5%,imagefs.available<15%,imagefs.inodesFree<5%"
	}
	signals := []string{"memory.available", "nodefs.available", "nodefs.inodesFree", "imagefs.available", "imagefs.inodesFree",
		"containerfs.available", "containerfs.inodesFree", "allocatableMemory.available", "pid.available"}
	out := map[string]string{}
	for _, item := range splitList(line) {
		signal, value, cut := strings.Cut(item, "<")
		signal, value = strings.TrimSpace(signal), strings.TrimSpace(value)
		if !cut || !slices.Contains(signals, signal) {
			return nil, fmt.Errorf("%q is no threshold: signal<quantity", item)
		}
		if _, err := threshold(value, 0); err != nil {
			return nil, fmt.Errorf("%s: %w", signal, err)
		}
		out[signal] = value
	}
	return out, nil
}

// threshold is an eviction threshold in bytes, of the given capacity when it is a percentage.
func threshold(value string, capacity int64) (int64, error) {
	if p, ok := strings.CutSuffix(value, "%"); ok {
		f, err := strconv.ParseFloat(p, 64)
		if err != nil || f < 0 || f >= 100 {
			return 0, fmt.Errorf("%q is no percentage", value)
		}
		return int64(f / 100 * float64(capacity)), nil
	}
	q, err := resource.ParseQuantity(value)
	if err != nil || q.Sign() < 0 {
		return 0, fmt.Errorf("%q is no quantity of zero or more", value)
	}
	return q.Value(), nil
}

// parseLabels reads "k=v,k=v" and refuses what a kubelet may not say of itself: keys in Kubernetes' own domains other than
// kubelet.kubernetes.io, node.kubernetes.io and a closed list (kubelet --node-labels).
func parseLabels(line string) (map[string]string, error) {
	own := []string{corev1.LabelHostname, corev1.LabelTopologyZone, corev1.LabelTopologyRegion, corev1.LabelFailureDomainBetaZone,
		corev1.LabelFailureDomainBetaRegion, corev1.LabelInstanceType, corev1.LabelInstanceTypeStable, corev1.LabelOSStable,
		corev1.LabelArchStable, betaOS, betaArch}
	out := map[string]string{}
	var refused []string
	for _, item := range splitList(line) {
		key, value, _ := strings.Cut(item, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if errs := append(validation.IsQualifiedName(key), validation.IsValidLabelValue(value)...); len(errs) > 0 {
			return nil, fmt.Errorf("label %q: %s", item, errs[0])
		}
		domain, _, _ := strings.Cut(key, "/")
		if within(domain, "kubernetes.io", "k8s.io") && !within(domain, "kubelet.kubernetes.io", "node.kubernetes.io") && !slices.Contains(own, key) {
			refused = append(refused, key)
		}
		out[key] = value
	}
	if len(refused) > 0 {
		slices.Sort(refused)
		return nil, fmt.Errorf("unknown 'kubernetes.io' or 'k8s.io' labels: %s", strings.Join(refused, ", "))
	}
	return out, nil
}

// within reports whether name is one of the domains or lies in one.
func within(name string, domains ...string) bool {
	return slices.ContainsFunc(domains, func(d string) bool { return name == d || strings.HasSuffix(name, "."+d) })
}
