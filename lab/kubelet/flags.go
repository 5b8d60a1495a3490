package kubelet

import (
	"encoding/csv"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"
)

// kind says how a kubelet flag reads its value, and what a second value of it does.
type kind int

const (
	text kind = iota
	boolean
	integer   // 32 bits
	long      // 64 bits
	duration  // Go's notation
	ip        // an address, or nothing
	anything  // text that is checked elsewhere
	pairs     // k=v,k=v; more are added
	pair      // one k=v, whose value may hold commas; more are added
	labels    // the same, and k alone is k=
	gates     // the same, with true or false
	fewer     // k<v,k<v; more are added
	list      // a,b,c as CSV; more are added
	onlyPrint // --help and --version: the kubelet prints something and exits
)

// flagKinds are the flags that the kubelet of Kubernetes 1.37 takes (cmd/kubelet/app/options, which a test asks). A kubelet
// that meets any other flag writes "unknown flag" and exits.
func flagKinds() map[string]kind {
	table := map[kind]string{
		text: `authorization-mode bootstrap-kubeconfig cert-dir cgroup-driver cgroup-root client-ca-file cloud-provider
			cluster-domain config config-dir container-log-max-size container-runtime-endpoint cpu-manager-policy experimental-mounter-path
			hairpin-mode hostname-override image-credential-provider-bin-dir image-credential-provider-config
			image-service-endpoint kube-api-content-type kube-reserved-cgroup kubeconfig kubelet-cgroups lock-file log-text-info-buffer-size
			logging-format manifest-url memory-manager-policy node-ip pod-cidr pod-manifest-path provider-id reserved-cpus resolv-conf
			root-dir runtime-cgroups system-cgroups system-reserved-cgroup tls-cert-file tls-min-version tls-private-key-file
			topology-manager-policy topology-manager-scope vmodule volume-plugin-dir`,
		anything: `manifest-url-header register-with-taints reserved-memory`,
		boolean: `anonymous-auth authentication-token-webhook cgroups-per-qos contention-profiling cpu-cfs-quota
			enable-controller-attach-detach enable-debugging-handlers enable-server exit-on-lock-contention
			experimental-allocatable-ignore-eviction fail-cgroupv1 fail-swap-on kernel-memcg-notification local-storage-capacity-isolation
			log-text-split-stream
			make-iptables-util-chains protect-kernel-defaults register-node rotate-certificates rotate-server-certificates runonce
			seccomp-default serialize-image-pulls`,
		integer: `container-log-max-files event-burst event-qps eviction-max-pod-grace-period healthz-port image-gc-high-threshold
			image-gc-low-threshold kube-api-burst kube-api-qps max-pods maximum-dead-containers
			maximum-dead-containers-per-container node-status-max-images oom-score-adj pods-per-core port read-only-port
			registry-burst registry-qps v`,
		long: `max-open-files pod-max-pids`,
		duration: `authentication-token-webhook-cache-ttl authorization-webhook-cache-authorized-ttl
			authorization-webhook-cache-unauthorized-ttl cpu-cfs-quota-period cpu-manager-reconcile-period eviction-pressure-transition-period
			file-check-frequency housekeeping-interval http-check-frequency log-flush-frequency minimum-container-ttl-duration minimum-image-ttl-duration
			node-status-update-frequency runtime-request-timeout streaming-connection-idle-timeout sync-frequency volume-stats-agg-period`,
		ip:   `address healthz-bind-address`,
		pair: `cpu-manager-policy-options`,
		pairs: `eviction-minimum-reclaim eviction-soft-grace-period kube-reserved
			qos-reserved system-reserved topology-manager-policy-options`,
		labels:    `node-labels`,
		gates:     `feature-gates`,
		fewer:     `eviction-hard eviction-soft`,
		list:      `allowed-unsafe-sysctls cluster-dns enforce-node-allocatable tls-cipher-suites`,
		onlyPrint: `help version`,
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
	return map[string]int{"container-runtime": 27, "azure-container-registry-config": 30, "keep-terminated-pod-volumes": 31, "cloud-config": 34, "pod-infra-container-image": 35}
}

// flags is a parsed command line: for each name what its values come to, as pflag keeps it.
type flags map[string]string

// parseFlags reads a kubelet's arguments for the given minor version of Kubernetes; every mistake is in the answer.
func parseFlags(args []string, minor int) (flags, []error) {
	var errs []error
	known, gone := flagKinds(), retired()
	out := flags{}
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if !strings.HasPrefix(arg, "--") || arg == "--" {
			errs = append(errs, fmt.Errorf("unknown command %q: kubelet flags are --name=value", arg))
			continue
		}
		name, value, given := strings.Cut(arg[2:], "=")
		name = strings.ReplaceAll(name, "_", "-") // the kubelet takes both
		k, ok := known[name]
		if last, was := gone[name]; was && minor < last {
			k, ok = text, true
		}
		switch {
		case !ok:
			errs = append(errs, fmt.Errorf("unknown flag: --%s", name))
			continue
		case k == onlyPrint:
			errs = append(errs, fmt.Errorf("--%s makes the kubelet print it and exit", name))
			continue
		case !given && k == boolean:
			value = "true"
		case !given && i+1 == len(args):
			errs = append(errs, fmt.Errorf("flag needs an argument: --%s", name))
			continue
		case !given:
			i++
			value = args[i]
		}
		if err := k.check(value); err != nil {
			errs = append(errs, fmt.Errorf("invalid argument %q for --%s: %w", value, name, err))
			continue
		}
		if prev, twice := out[name]; twice && prev != "" && k >= pairs {
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
		_, err = strconv.ParseInt(value, 0, 32)
	case long:
		_, err = strconv.ParseInt(value, 0, 64)
	case duration:
		_, err = time.ParseDuration(value)
	case ip:
		if value != "" && net.ParseIP(value) == nil {
			err = fmt.Errorf("%q is not a valid IP address", value)
		}
	case pair:
		if !strings.Contains(value, "=") {
			return fmt.Errorf("%q is not key=value", value)
		}
	case pairs, fewer, gates:
		sign := map[kind]string{pairs: "=", fewer: "<", gates: "="}[k]
		for _, p := range splitList(value) {
			_, v, found := strings.Cut(p, sign)
			if !found {
				return fmt.Errorf("%q is not key%svalue", p, sign)
			}
			if _, bad := strconv.ParseBool(strings.TrimSpace(v)); k == gates && bad != nil {
				return fmt.Errorf("%q is neither true nor false", p)
			}
		}
	case list:
		if value != "" {
			_, err = csv.NewReader(strings.NewReader(value)).Read()
		}
	}
	return err
}

// slice is the value of a flag that takes a list.
func (f flags) slice(name string) []string {
	if f[name] == "" {
		return nil
	}
	out, err := csv.NewReader(strings.NewReader(f[name])).Read()
	if err != nil {
		return nil // was checked when it was read
	}
	return out
}

// number is the value of a flag, or def when it is not given.
func (f flags) number(name string, def int64) int64 {
	n, err := strconv.ParseInt(f[name], 0, 64)
	if err != nil {
		return def
	}
	return n
}

// bool is the value of a flag, or def when it is not given.
func (f flags) bool(name string, def bool) bool {
	b, err := strconv.ParseBool(f[name])
	if err != nil {
		return def
	}
	return b
}

// splitList splits at commas and drops what is empty.
func splitList(s string) []string {
	return slices.DeleteFunc(strings.Split(s, ","), func(p string) bool { return p == "" })
}

// labelLine prints labels for a log, sorted.
func labelLine(labels map[string]string) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		out = append(out, k+"="+labels[k])
	}
	return strings.Join(out, ",")
}

// FlagNames lists the flags that the newest kubelet takes, sorted.
func FlagNames() []string { return sortedKeys(flagKinds()) }

// Takes reports whether the newest kubelet takes a flag.
func Takes(name string) bool {
	_, ok := flagKinds()[name]
	return ok
}

// CheckFlag says what the newest kubelet's command line says to a value of a flag, before anything else is looked at.
func CheckFlag(name, value string) error {
	if name == "register-with-taints" {
		_, err := parseTaints(value)
		return err
	}
	return flagKinds()[name].check(value)
}
