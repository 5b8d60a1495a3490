package azure

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-aks/karpenter/cloud"
	"github.com/karpenter-aks/karpenter/model"
)

// A value that we send to a machine has many readers. Bash reads the script. AKS' scripts put it, as it stands, into
// /etc/default/kubelet, where systemd ends a value at its line and gives quotes and backslashes a meaning; into JSON
// (azure.json) and YAML (kubeconfig) between double quotes; into file names and commands, some of them unquoted. systemd
// then splits $KUBELET_FLAGS at blanks, and the kubelet splits lists at commas. No way of quoting suits all of them. So
// nothing is escaped for them: a value that one of them could take for anything but itself is refused, here, before
// a machine is bought. The kubelet's own rules are part of it, because a kubelet that refuses a flag exits for ever on a
// machine that is paid for.

// A shape is what a value must look like, and the words for people about it.
type shape struct {
	re  *regexp.Regexp
	say string
}

func (s shape) takes(v string) bool { return s.re.MatchString(v) }

var (
	// plain is what no reader gives a meaning to.
	plain = shape{regexp.MustCompile(`^[A-Za-z0-9._:/@+=,-]*$`), "may hold letters, digits and . _ : / @ + = , - only"}
	// argument is one flag of the kubelet. "<" stands in eviction thresholds, "*" ends patterns of kernel settings.
	argument = shape{regexp.MustCompile(`^--[a-z][a-z0-9-]*=[A-Za-z0-9._:/@+=,<*-]+$`), "is not one flag of the form --name=value without blanks, quotes or control characters"}

	hostName      = shape{regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$`), "is no host name"}
	tokenShape    = shape{regexp.MustCompile(`^[a-z0-9]{6}\.[a-z0-9]{16}$`), "is not six letters or digits, a dot and sixteen of them"}
	versionShape  = shape{regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+$`), "is no version such as 1.37.1"}
	userShape     = shape{regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,31}$`), "is not a letter followed by at most 31 letters, digits, - or _"}
	groupShape    = shape{regexp.MustCompile(`^[\p{L}\p{N}._()-]{1,90}$`), "is no name of a resource group"}
	resourceShape = shape{regexp.MustCompile(`^[A-Za-z0-9_.-]{0,80}$`), "may hold up to 80 letters, digits, _ . and - only"}
	labelValue    = shape{regexp.MustCompile(`^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$`), "is not a label's value: up to 63 letters, digits, - _ and ., beginning and ending with a letter or digit"}
	labelKey      = shape{regexp.MustCompile(`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`), "is not a label's key"}

	// sizeShape is a size that the kubelet reads as a 64-bit number: its reader gives up on that at some 15 digits, counted
	// before units of 1024 are multiplied out. Source: ParseQuantity of k8s.io/apimachinery. The CRD holds the same pattern.
	sizeShape = shape{regexp.MustCompile(`^([0-9]{1,11}Ki?|[0-9]{1,8}Mi?|[0-9]{1,5}Gi?|[0-9]{1,2}Ti?)$`),
		"is not a whole number of K, M, G, T, Ki, Mi, Gi or Ti below 100Ti"}

	// sysctlShape is a kernel setting that the kubelet knows to be namespaced, or a prefix of such with a trailing "*": what
	// kubelets from 1.29 on all take. It exits at any other. Source: k8s.io/component-helpers/node/util/sysctl and
	// pkg/kubelet/sysctl of those versions. The CRD holds the same pattern.
	sysctlShape = shape{regexp.MustCompile(`^(kernel[./](sem|shm(\*|all|max|mni|_rmid_forced)|msg(\*|max|mnb|mni))|(net[./]|fs\.mqueue\.|fs/mqueue/)([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*([a-z0-9][-_a-z0-9]*)?[a-z0-9*])$`),
		"is not a namespaced kernel setting (kernel.sem, kernel.shm*, kernel.msg*, fs.mqueue.…, net.…), or a prefix of such followed by *"}
)

// Limits of the lists and of what a kubelet takes.
const (
	maxSysctls = 64
	maxSysctl  = 253
	maxPrefix  = 253 // of a label's key
	// The kubelet's limits of cpuCFSQuotaPeriod.
	minCFSPeriod, maxCFSPeriod = time.Millisecond, time.Second
)

// variableShapes are the variables whose values must be more than plain. Every other one is plain.
func variableShapes() map[string]shape {
	return map[string]shape{
		"API_SERVER_NAME": hostName, "TLS_BOOTSTRAP_TOKEN": tokenShape, "KUBERNETES_VERSION": versionShape, "ADMINUSER": userShape,
		"RESOURCE_GROUP": groupShape, "VIRTUAL_NETWORK_RESOURCE_GROUP": groupShape,
		"SUBNET": resourceShape, "VIRTUAL_NETWORK": resourceShape, "NETWORK_SECURITY_GROUP": resourceShape, "ROUTE_TABLE": resourceShape,
	}
}

// readable checks that every variable of the script reads as itself everywhere. flags are the kubelet's, one by one:
// KUBELET_FLAGS is checked as these, because it is they, with a blank between any two.
func readable(vars map[string]string, flags []string) error {
	shapes := variableShapes()
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		if name == "KUBELET_FLAGS" {
			continue
		}
		s, ok := shapes[name]
		if !ok {
			s = plain
		}
		switch {
		case s.takes(vars[name]):
		case name == "TLS_BOOTSTRAP_TOKEN": // a secret: not shown
			return cloud.Errorf(cloud.Invalid, "the bootstrap token %s", s.say)
		default:
			return cloud.Errorf(cloud.Invalid, "%s of the first-boot script: %q %s", name, vars[name], s.say)
		}
	}
	for _, f := range flags {
		if !argument.takes(f) {
			return cloud.Errorf(cloud.Invalid, "the kubelet's flag %q %s", f, argument.say)
		}
	}
	return nil
}

// acceptOrder checks what the claim brings: labels and taints. The kubelet exits at a label or taint that is not valid.
func acceptOrder(labels map[string]string, taints []model.Taint) error {
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		if why := badKey(k); why != "" {
			return cloud.Errorf(cloud.Invalid, "label %q %s", k, why)
		}
		if !labelValue.takes(labels[k]) {
			return cloud.Errorf(cloud.Invalid, "label %s: %q %s", k, labels[k], labelValue.say)
		}
	}
	for _, t := range taints {
		if why := badKey(t.Key); why != "" {
			return cloud.Errorf(cloud.Invalid, "taint %q %s", t.Key, why)
		}
		if !labelValue.takes(t.Value) {
			return cloud.Errorf(cloud.Invalid, "taint %s: %q %s", t.Key, t.Value, labelValue.say)
		}
		if t.Effect != model.NoSchedule && t.Effect != model.PreferNoSchedule && t.Effect != model.NoExecute {
			return cloud.Errorf(cloud.Invalid, "taint %s: %q is not an effect", t.Key, t.Effect)
		}
	}
	return nil
}

func badKey(k string) string {
	prefix, _, found := strings.Cut(k, "/")
	if !labelKey.takes(k) || found && len(prefix) > maxPrefix {
		return labelKey.say
	}
	return ""
}

// takesSubnet reports whether the parts of a subnet's id are names that Azure gives, and so nothing but names.
func takesSubnet(s subnetID) bool {
	return plain.takes(s.Subscription) && groupShape.takes(s.ResourceGroup) && resourceShape.takes(s.Vnet) && resourceShape.takes(s.Name)
}

// problemsOf lists what is wrong with a class, each with its field, its value and what to do. A class that the API
// server took has none of these as long as the CRD is of the same age as we are.
func problemsOf(class *model.AzureClass) []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if n := class.MaxPods; n != nil && *n < 1 {
		add("maxPods: %d is below 1", *n)
	}
	k := class.Kubelet
	oneOf := func(field, v string, allowed ...string) {
		if v != "" && !slices.Contains(allowed, v) {
			add("kubelet.%s: %q is none of %s", field, v, strings.Join(allowed, ", "))
		}
	}
	oneOf("cpuManagerPolicy", k.CPUManagerPolicy, "none", "static")
	oneOf("topologyManagerPolicy", k.TopologyManagerPolicy, "none", "best-effort", "restricted", "single-numa-node")
	if p := k.CPUCFSQuotaPeriod; p != nil && (*p < minCFSPeriod || *p > maxCFSPeriod) {
		add("kubelet.cpuCFSQuotaPeriod: %s is not between %s and %s", *p, minCFSPeriod, maxCFSPeriod)
	}
	if low, high := imageGC(k); low < 0 || high > 100 || low >= high {
		add("kubelet.imageGCLowThresholdPercent %d must be below imageGCHighThresholdPercent %d, both from 0 to 100", low, high)
	}
	if n := len(k.AllowedUnsafeSysctls); n > maxSysctls {
		add("kubelet.allowedUnsafeSysctls: %d entries, at most %d are possible", n, maxSysctls)
	}
	for i, s := range k.AllowedUnsafeSysctls {
		if len(s) > maxSysctl || !sysctlShape.takes(s) {
			add("kubelet.allowedUnsafeSysctls[%d]: %q %s", i, s, sysctlShape.say)
		}
	}
	if v := k.ContainerLogMaxSize; v != "" && !sizeShape.takes(v) {
		add("kubelet.containerLogMaxSize: %q %s", v, sizeShape.say)
	}
	if n := k.ContainerLogMaxFiles; n != nil && *n < 2 {
		add("kubelet.containerLogMaxFiles: %d is below 2", *n)
	}
	return out
}

// logSize writes "50K" as the kubelet reads it: it knows "k" for a thousand, and exits at "K".
func logSize(v string) string {
	if digits, ok := strings.CutSuffix(v, "K"); ok {
		return digits + "k"
	}
	return v
}

// Thresholds of image garbage collection that AKS' nodes have.
const defaultImageGCHigh, defaultImageGCLow = 85, 80

// imageGC are the thresholds between which unused images are removed. The kubelet exits unless low is below high, so
// a threshold that is given alone takes the other one along, at AKS' own distance.
func imageGC(k model.AzureKubelet) (low, high int32) {
	const apart = defaultImageGCHigh - defaultImageGCLow
	switch h, l := k.ImageGCHighThresholdPercent, k.ImageGCLowThresholdPercent; {
	case h != nil && l != nil:
		return *l, *h
	case h != nil && *h <= defaultImageGCLow:
		return max(0, *h-apart), *h
	case h != nil:
		return defaultImageGCLow, *h
	case l != nil && *l >= defaultImageGCHigh:
		return *l, min(100, *l+apart)
	case l != nil:
		return *l, defaultImageGCHigh
	}
	return defaultImageGCLow, defaultImageGCHigh
}

// addressOf is the API server's host, for machines: images connect to port 443 and can write no IPv6 literal.
func addressOf(endpoint string) (string, error) {
	u, err := url.Parse(endpoint)
	switch {
	case err != nil || !hostName.takes(u.Hostname()) || strings.ContainsAny(endpoint, "?#@"):
		return "", cloud.Errorf(cloud.Invalid, "cluster endpoint %q has no host that node images can connect to", endpoint)
	case u.Port() != "" && u.Port() != "443":
		return "", cloud.Errorf(cloud.Invalid, "cluster endpoint %q: node images connect to port 443 only", endpoint)
	}
	return u.Hostname(), nil
}
