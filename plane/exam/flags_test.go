package exam

import (
	"io"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"k8s.io/kubernetes/cmd/kubelet/app/options"

	"github.com/karpenter-aks/karpenter/lab/kubelet"
)

// TestFlagsAreTheKubelets compares the flags that the lab's kubelet takes with those of the kubelet that is linked here:
// the names, and what is said to values of every kind.
func TestFlagsAreTheKubelets(t *testing.T) {
	real := func() *pflag.FlagSet {
		s, err := options.NewKubeletServer()
		if err != nil {
			t.Fatal(err)
		}
		fs := pflag.NewFlagSet("kubelet", pflag.ContinueOnError)
		fs.SetOutput(io.Discard) // it says of many flags that they are deprecated
		s.AddFlags(fs)
		return fs
	}
	names := map[string]bool{}
	real().VisitAll(func(f *pflag.Flag) { names[f.Name] = true })
	if len(names) < 100 {
		t.Fatalf("the kubelet has %d flags", len(names))
	}
	// These come from libraries beside the kubelet's own, on its command line only.
	for _, name := range []string{"help", "version", "housekeeping-interval"} {
		names[name] = true
	}
	for name := range names {
		if !kubelet.Takes(name) {
			t.Errorf("the kubelet takes --%s", name)
		}
	}
	for _, name := range kubelet.FlagNames() {
		if !names[name] {
			t.Errorf("the kubelet does not take --%s", name)
			continue
		}
		for _, value := range []string{"", "1", "-1", "4294967296", "0x10", "true", "TRUE", "yes", "1s", "5m0s", "1.5", "a=b", "a=b,c", "a<b", "a=true", "=", ",", "10.0.0.1", "::1", "300.1.1.1",
			"a=b:NoSchedule", "a:NoExecute,b=c:PreferNoSchedule", "a=b:Sometimes", "a=b:NoSchedule,a=c:NoSchedule", "memory.available<5%", `"`, `a"b`, "\"a,b\",c", "x y", "100Mi"} {
			if name == "help" || name == "version" || name == "housekeeping-interval" || strings.HasPrefix(name, "reserved-memory") || strings.HasPrefix(name, "log") || name == "vmodule" || name == "v" || name == "manifest-url-header" {
				continue // of other libraries, or not read here
			}
			want, got := real().Set(name, value), kubelet.CheckFlag(name, value)
			if (want == nil) != (got == nil) {
				t.Errorf("--%s=%q: the kubelet says %v, the lab %v", name, value, want, got)
			}
		}
	}
}
