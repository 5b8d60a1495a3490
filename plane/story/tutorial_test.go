package story

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// theTutorialWorks runs the blocks of the tutorial that are marked sh in one shell, as they are written, and looks at what they
// print: after each something has to be there that the page promises.
func (l *lab) theTutorialWorks() {
	l.t.Helper()
	page, err := os.ReadFile("../../docs/tutorial.md")
	if err != nil {
		l.t.Fatal(err)
	}
	desk := l.t.TempDir()
	for name, to := range map[string]string{"bin": bin, "examples": "../../examples", "scenarios": "../../scenarios"} {
		full, err := filepath.Abs(to)
		if err != nil {
			l.t.Fatal(err)
		}
		if err := os.Symlink(full, filepath.Join(desk, name)); err != nil {
			l.t.Fatal(err)
		}
	}
	const mark = "=== what comes next ==="
	all := blocks(string(page))
	env := slices.DeleteFunc(l.person(), func(v string) bool { return strings.HasPrefix(v, "KUBECONFIG=") }) // the page finds it
	env = append(env, "KARPENTER_LAB_DIR="+l.dir)
	began := time.Now()
	said := strings.Split(l.obeys(desk, env, strings.Join(all, "echo '"+mark+"'\n")), mark)
	l.t.Logf("the tutorial's commands took %.1f s", time.Since(began).Seconds())
	for i, want := range [][]string{{"No resources found"}, {"condition met", "general-purpose"}, {"VM    aks-", "NIC   aks-"}, {"bought"},
		{"resources"}, {"deleted", "Ready"}, {"condition met", "Ready"}, {"condition met"}, {"buy", "bound"}} {
		if i >= len(said) {
			l.t.Fatalf("the tutorial has %d blocks", len(all))
		}
		for _, w := range want {
			if !strings.Contains(said[i], w) {
				l.t.Errorf("the tutorial says\n%sand nothing of %q is in\n%s", all[i], w, said[i])
			}
		}
	}
	if len(all) != 9 {
		l.t.Errorf("the tutorial has %d blocks, of which 9 are looked at", len(all))
	}
	l.until("the tutorial leaves nothing behind", time.Minute, l.nothingLeft)
}
