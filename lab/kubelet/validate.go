package kubelet

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

// between are the numbers that flags may have. Source: pkg/kubelet/apis/config/validation of Kubernetes.
func between() map[string][2]int64 {
	const most = 1 << 62
	return map[string][2]int64{
		"event-burst": {0, most}, "event-qps": {0, most}, "healthz-port": {0, 65535}, "image-gc-high-threshold": {0, 100}, "image-gc-low-threshold": {0, 100},
		"kube-api-burst": {0, most}, "kube-api-qps": {0, most}, "max-open-files": {0, most}, "max-pods": {0, most}, "node-status-max-images": {-1, most},
		"oom-score-adj": {-1000, 1000}, "pods-per-core": {0, most}, "port": {1, 65535}, "read-only-port": {0, 65535}, "registry-burst": {0, most},
		"registry-qps": {0, most}, "container-log-max-files": {2, most},
	}
}

// oneOf are the words that flags may have; each takes "" for its default.
func oneOf() map[string]string {
	return map[string]string{
		"authorization-mode": "AlwaysAllow Webhook", "cgroup-driver": "cgroupfs systemd", "cpu-manager-policy": "none static",
		"hairpin-mode": "promiscuous-bridge hairpin-veth none", "memory-manager-policy": "None Static",
		"topology-manager-policy": "none best-effort restricted single-numa-node", "topology-manager-scope": "container pod",
		"tls-min-version": "VersionTLS10 VersionTLS11 VersionTLS12 VersionTLS13",
	}
}

// validate checks the flags against each other as the kubelet does when it starts; sorted.
func (f flags) validate() []error {
	var errs []error
	bad := func(name, format string, args ...any) {
		errs = append(errs, fmt.Errorf("--%s=%s: %s", name, f[name], fmt.Sprintf(format, args...)))
	}
	for _, name := range sortedKeys(between()) {
		if r := between()[name]; f[name] != "" && (f.number(name, 0) < r[0] || f.number(name, 0) > r[1]) {
			bad(name, "must be between %d and %d", r[0], r[1])
		}
	}
	for _, name := range sortedKeys(oneOf()) {
		if v := f[name]; v != "" && !slices.Contains(strings.Fields(oneOf()[name]), v) {
			bad(name, "none of: %s", oneOf()[name])
		}
	}
	if f.number("image-gc-low-threshold", 80) >= f.number("image-gc-high-threshold", 85) {
		bad("image-gc-low-threshold", "must be less than --image-gc-high-threshold")
	}
	if f.bool("runonce", false) {
		bad("runonce", "is gone and may not be set")
	}
	if v := f["container-log-max-size"]; v != "" {
		if _, err := resource.ParseQuantity(v); err != nil {
			bad("container-log-max-size", "%v", err)
		}
	}
	for _, a := range strings.Split(f["node-ip"], ",") {
		if f["node-ip"] != "" && net.ParseIP(strings.TrimSpace(a)) == nil {
			bad("node-ip", "%q is no address", a)
		}
	}
	if err := f.quotaPeriod(); err != nil {
		bad("cpu-cfs-quota-period", "%v", err)
	}
	for _, s := range f.slice("allowed-unsafe-sysctls") {
		if !namespaced.MatchString(s) {
			bad("allowed-unsafe-sysctls", "%q is no setting that a pod may have for itself", s)
		}
	}
	for _, s := range f.slice("tls-cipher-suites") {
		if !slices.ContainsFunc(append(tls.CipherSuites(), tls.InsecureCipherSuites()...), func(c *tls.CipherSuite) bool { return c.Name == s }) {
			bad("tls-cipher-suites", "%q is not supported", s)
		}
	}
	return append(errs, f.enforcement()...)
}

// namespaced are the kernel settings, or patterns of them, that exist once per pod (pkg/kubelet/sysctl of Kubernetes).
var namespaced = regexp.MustCompile(`^(kernel\.shm|kernel\.msg|kernel\.sem($|\*)|fs\.mqueue\.|net\.)[a-z0-9_./-]*\*?$`)

// quotaPeriod: any period but Kubernetes' own needs a feature gate that is off by default.
func (f flags) quotaPeriod() error {
	d, err := time.ParseDuration(f["cpu-cfs-quota-period"])
	if err != nil {
		return nil // not given
	}
	on := false
	for _, g := range splitList(f["feature-gates"]) {
		name, v, _ := strings.Cut(g, "=")
		if strings.TrimSpace(name) == "CustomCPUCFSQuotaPeriod" {
			on = flags{"x": strings.TrimSpace(v)}.bool("x", false)
		}
	}
	switch {
	case !on && d != 100*time.Millisecond:
		return errors.New("needs the feature gate CustomCPUCFSQuotaPeriod")
	case on && (d < time.Millisecond || d > time.Second):
		return errors.New("must be between 1ms and 1s")
	}
	return nil
}

// enforcement checks --enforce-node-allocatable and the static managers, which ask for other flags beside them.
func (f flags) enforcement() []error {
	var errs []error
	kinds := []string{"pods"} // the kubelet's default
	if _, given := f["enforce-node-allocatable"]; given {
		kinds = f.slice("enforce-node-allocatable")
	}
	for _, what := range kinds {
		base := strings.TrimSuffix(what, "-compressible")
		switch {
		case what == "none" && len(kinds) > 1:
			errs = append(errs, errors.New("--enforce-node-allocatable: none goes with nothing else"))
		case what == "none":
			continue
		case what == "pods":
		case base == "kube-reserved", base == "system-reserved":
			if f[base+"-cgroup"] == "" {
				errs = append(errs, fmt.Errorf("--enforce-node-allocatable=%s needs --%s-cgroup", what, base))
			}
		default:
			errs = append(errs, fmt.Errorf("--enforce-node-allocatable: unknown option %q", what))
		}
		if !f.bool("cgroups-per-qos", true) {
			errs = append(errs, fmt.Errorf("--enforce-node-allocatable=%s needs --cgroups-per-qos", what))
		}
	}
	if f["cpu-manager-policy"] == "static" && !strings.Contains(f["kube-reserved"]+f["system-reserved"], "cpu=") && f["reserved-cpus"] == "" {
		errs = append(errs, errors.New("--cpu-manager-policy=static needs cpu in --kube-reserved or --system-reserved"))
	}
	return errs
}
