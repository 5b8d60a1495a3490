package kubelet

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
)

// kind says how a kubelet flag reads its value.
type kind int

const (
	text kind = iota
	boolean
	integer
	duration
	pairs // k=v,k=v
	list  // a,b,c
)

// flagKinds are the flags that the kubelet of Kubernetes 1.37 takes (`kubelet --help`), less those of a stand-alone kubelet.
// A kubelet that meets any other flag writes "unknown flag" and exits.
func flagKinds() map[string]kind {
	table := map[kind]string{
		text: `address authorization-mode bootstrap-kubeconfig cert-dir cgroup-driver cgroup-root client-ca-file cloud-provider
			cluster-domain config config-dir container-log-max-size container-runtime-endpoint cpu-manager-policy experimental-mounter-path
			hairpin-mode healthz-bind-address image-credential-provider-bin-dir image-credential-provider-config image-service-endpoint
			kube-api-content-type kube-reserved-cgroup kubeconfig kubelet-cgroups lock-file memory-manager-policy node-ip pod-cidr
			pod-manifest-path provider-id reserved-cpus reserved-memory resolv-conf root-dir runtime-cgroups system-cgroups
			system-reserved-cgroup tls-cert-file tls-min-version tls-private-key-file topology-manager-policy topology-manager-scope
			volume-plugin-dir`,
		boolean: `anonymous-auth authentication-token-webhook cgroups-per-qos contention-profiling cpu-cfs-quota
			enable-controller-attach-detach enable-debugging-handlers enable-server exit-on-lock-contention
			experimental-allocatable-ignore-eviction fail-cgroupv1 fail-swap-on kernel-memcg-notification local-storage-capacity-isolation
			make-iptables-util-chains protect-kernel-defaults register-node rotate-certificates rotate-server-certificates runonce
			seccomp-default serialize-image-pulls`,
		integer: `container-log-max-files event-burst event-qps eviction-max-pod-grace-period healthz-port image-gc-high-threshold
			image-gc-low-threshold kube-api-burst kube-api-qps max-open-files max-pods maximum-dead-containers
			maximum-dead-containers-per-container node-status-max-images oom-score-adj pod-max-pids pods-per-core port read-only-port
			registry-burst registry-qps v`,
		duration: `authentication-token-webhook-cache-ttl authorization-webhook-cache-authorized-ttl
			authorization-webhook-cache-unauthorized-ttl cpu-cfs-quota-period cpu-manager-reconcile-period eviction-pressure-transition-period
			file-check-frequency http-check-frequency minimum-container-ttl-duration minimum-image-ttl-duration node-status-update-frequency
			runtime-request-timeout streaming-connection-idle-timeout sync-frequency volume-stats-agg-period`,
		pairs: `cpu-manager-policy-options eviction-minimum-reclaim eviction-soft-grace-period feature-gates kube-reserved node-labels
			qos-reserved system-reserved topology-manager-policy-options`,
		list: `allowed-unsafe-sysctls cluster-dns enforce-node-allocatable eviction-hard eviction-soft register-with-taints tls-cipher-suites`,
	}
	out := map[string]kind{}
	for k, names := range table {
		for _, name := range strings.Fields(names) {
			out[name] = k
		}
	}
	return out
}

// retired are flags that older kubelets took and AKS images passed, with the first minor version that refuses them.
func retired() map[string]int {
	return map[string]int{"keep-terminated-pod-volumes": 31, "cloud-config": 34, "pod-infra-container-image": 35}
}

// flags is a parsed command line: the last value given for each name, as pflag keeps it.
type flags map[string]string

// parseFlags reads a kubelet command line for the given minor version of Kubernetes; every mistake is in the answer.
func parseFlags(line string, minor int) (flags, []error) {
	var errs []error
	known, gone := flagKinds(), retired()
	out := flags{}
	for _, arg := range strings.Fields(line) {
		if !strings.HasPrefix(arg, "--") {
			errs = append(errs, fmt.Errorf("unknown command %q: kubelet flags are --name=value", arg))
			continue
		}
		name, value, given := strings.Cut(arg[2:], "=")
		k, ok := known[name]
		if last, was := gone[name]; was && minor < last {
			k, ok = text, true
		}
		if !ok {
			errs = append(errs, fmt.Errorf("unknown flag: --%s", name))
			continue
		}
		if !given {
			if k != boolean {
				errs = append(errs, fmt.Errorf("flag needs an argument: --%s", name))
				continue
			}
			value = "true"
		}
		if err := k.check(value); err != nil {
			errs = append(errs, fmt.Errorf("invalid argument %q for --%s: %w", value, name, err))
			continue
		}
		if prev, twice := out[name]; twice && (k == pairs || k == list) {
			value = prev + "," + value
		}
		out[name] = value
	}
	return out, errs
}

// check reports whether value can be read as k.
func (k kind) check(value string) error {
	var err error
	switch k {
	case boolean:
		_, err = strconv.ParseBool(value)
	case integer:
		_, err = strconv.ParseInt(value, 0, 64)
	case duration:
		_, err = time.ParseDuration(value)
	case pairs:
		for _, p := range splitList(value) {
			if !strings.Contains(p, "=") {
				err = fmt.Errorf("%q is not key=value", p)
			}
		}
	}
	return err
}

// settings is what the simulated kubelet acts on.
type settings struct {
	maxPods        int64
	external       bool // the cloud's own node manager finishes registration
	register       bool
	taints         []corev1.Taint
	kubeReserved   corev1.ResourceList
	systemReserved corev1.ResourceList
	eviction       map[string]string // signal → threshold, "750Mi" or "10%"
	extraLabels    map[string]string // --node-labels
}

// settings checks the flags as the kubelet does before it starts.
func (f flags) settings() (settings, []error) {
	var errs []error
	note := func(name string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("--%s=%s: %w", name, f[name], err))
		}
	}
	s := settings{maxPods: 110, register: f["register-node"] == "" || truth(f["register-node"])} // both are the kubelet's defaults
	var err error
	if v, ok := f["max-pods"]; ok {
		if s.maxPods, _ = strconv.ParseInt(v, 0, 64); s.maxPods <= 0 {
			note("max-pods", fmt.Errorf("must be greater than 0"))
		}
	}
	switch f["cloud-provider"] {
	case "external":
		s.external = true
	case "":
	default:
		note("cloud-provider", fmt.Errorf("unsupported cloud provider; in-tree providers are gone, only %q is left", "external"))
	}
	s.taints, err = parseTaints(f["register-with-taints"])
	note("register-with-taints", err)
	if len(s.taints) > 0 && !s.register {
		note("register-with-taints", fmt.Errorf("needs --register-node"))
	}
	s.kubeReserved, err = parseReserved(f["kube-reserved"])
	note("kube-reserved", err)
	s.systemReserved, err = parseReserved(f["system-reserved"])
	note("system-reserved", err)
	s.eviction, err = parseEviction(f)
	note("eviction-hard", err)
	s.extraLabels, err = parseLabels(f["node-labels"])
	note("node-labels", err)
	errs = append(errs, f.enforcement()...)
	return s, errs
}

// enforcement checks --enforce-node-allocatable and the static CPU manager, which ask for other flags beside them.
func (f flags) enforcement() []error {
	var errs []error
	for _, what := range splitList(f["enforce-node-allocatable"]) {
		switch what {
		case "pods", "none", "kube-reserved-compressible", "system-reserved-compressible":
		case "kube-reserved", "system-reserved":
			if f[what+"-cgroup"] == "" {
				errs = append(errs, fmt.Errorf("--enforce-node-allocatable=%s needs --%s-cgroup", what, what))
			}
		default:
			errs = append(errs, fmt.Errorf("--enforce-node-allocatable: unknown option %q", what))
		}
	}
	switch f["cpu-manager-policy"] {
	case "", "none":
	case "static":
		if !strings.Contains(f["kube-reserved"]+f["system-reserved"], "cpu=") && f["reserved-cpus"] == "" {
			errs = append(errs, fmt.Errorf("--cpu-manager-policy=static needs cpu in --kube-reserved or --system-reserved"))
		}
	default:
		errs = append(errs, fmt.Errorf("--cpu-manager-policy=%s: unknown policy", f["cpu-manager-policy"]))
	}
	return errs
}

// parseTaints reads "key=value:Effect,key:Effect", sorted by key and effect.
func parseTaints(line string) ([]corev1.Taint, error) {
	var out []corev1.Taint
	for _, item := range splitList(line) {
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
		key, value, ok := strings.Cut(item, "=")
		if !ok {
			return nil, fmt.Errorf("label %q is not key=value", item)
		}
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

// splitList splits at commas and drops what is empty.
func splitList(s string) []string {
	return slices.DeleteFunc(strings.Split(s, ","), func(p string) bool { return p == "" })
}

func truth(s string) bool {
	b, err := strconv.ParseBool(s)
	return err == nil && b
}

// labelLine prints labels for a log, sorted.
func labelLine(labels map[string]string) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		out = append(out, k+"="+labels[k])
	}
	return strings.Join(out, ",")
}
