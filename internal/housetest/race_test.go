package housetest

import (
	"go/ast"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// notRaced are the packages with goroutines that "make race" leaves out, with the reason.
func notRaced() map[string]string {
	const kubernetes = "its tests build four to five hundred packages of Kubernetes' client anew; what it shares is guarded by one lock"
	const slow = "its stories take minutes, and ten times as long under the detector: ten of them are played so"
	return map[string]string{
		"internal/kube/storetest": "holds questions, and no tests of its own",
		"internal/simulate":       "its scenarios start nothing: what reads files side by side is raced",
		"internal/sim":            slow, "cmd/karpenter": kubernetes,
	}
}

// concurrent reports whether a file starts goroutines, or guards what several share.
func concurrent(s source) bool {
	if slices.ContainsFunc(s.imports, func(i string) bool { return i == "sync" || i == "sync/atomic" || strings.HasSuffix(i, "/errgroup") }) {
		return true
	}
	found := false
	ast.Inspect(s.file, func(n ast.Node) bool {
		_, starts := n.(*ast.GoStmt)
		found = found || starts
		return !found
	})
	return found
}

// Every package with goroutines is tested under the race detector, so that a race is found by the test that runs into it and not by
// whoever tries the detector one day.
func TestPackagesWithGoroutinesAreRaced(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(rootDir(t), "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	_, list, found := strings.Cut(string(raw), "\nRACE := ")
	list, _, _ = strings.Cut(strings.ReplaceAll(list, "\\\n", " "), "\n")
	raced := map[string]bool{}
	for _, dir := range strings.Fields(list) {
		raced[strings.TrimPrefix(dir, "./")] = true
	}
	if !found || len(raced) == 0 {
		t.Fatal("the Makefile has no list RACE")
	}
	want := map[string]bool{}
	for _, s := range tree(t) {
		outside := s.dir == "plane" || strings.HasPrefix(s.dir, "plane/") || strings.HasPrefix(s.dir, "compat") || strings.HasPrefix(s.dir, "bench")
		if !s.test && !outside && concurrent(s) {
			want[s.dir] = true
		}
	}
	left := notRaced()
	for _, dir := range slices.Sorted(maps.Keys(want)) {
		switch {
		case left[dir] != "" && raced[dir]:
			t.Errorf("%s is raced: take it out of the exceptions", dir)
		case left[dir] == "" && !raced[dir]:
			t.Errorf("%s has goroutines or locks: add ./%[1]s to RACE in the Makefile", dir)
		}
	}
	for dir := range maps.Keys(raced) {
		if !want[dir] {
			t.Errorf("%s has neither goroutines nor locks: take it out of RACE in the Makefile", dir)
		}
	}
	for dir := range maps.Keys(left) {
		if !want[dir] {
			t.Errorf("%s has neither goroutines nor locks: take it out of the exceptions", dir)
		}
	}
}
