package sidebyside

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
)

// Machine describes where and with what the tables were made, in one line.
func Machine() string {
	return fmt.Sprintf("%s, %d cores of which one is used; %s %s/%s; sigs.k8s.io/karpenter %s", processor(), runtime.NumCPU(), runtime.Version(),
		runtime.GOOS, runtime.GOARCH, version("sigs.k8s.io/karpenter"))
}

// processor reads the processor's name where Linux tells it.
func processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "a processor without a name"
	}
	for line := range strings.Lines(string(text)) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == "model name" {
			return strings.TrimSpace(v)
		}
	}
	return "a processor without a name"
}

// version is the version of a module that this program was built with.
func version(module string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "of an unknown version"
	}
	for _, d := range info.Deps {
		if d.Path == module {
			return d.Version
		}
	}
	return "of an unknown version"
}
