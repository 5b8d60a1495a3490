package story

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/plane/assemble"
)

// screen is a terminal, as tmux makes one.
type screen struct {
	t      *testing.T
	socket string
}

// newScreen starts a shell in a terminal, which ends with the test.
func newScreen(t *testing.T) *screen {
	t.Helper()
	s := &screen{t, filepath.Join(t.TempDir(), "tmux")}
	s.tmux("-f", os.DevNull, "new-session", "-d", "-x", "130", "-y", "40", "sh")
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the screen shows\n%s", s.shows())
		}
		s.tmux("kill-server")
	})
	return s
}

func (s *screen) tmux(args ...string) string {
	s.t.Helper()
	cmd := exec.Command("tmux", append([]string{"-S", s.socket}, args...)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "TERM=screen-256color")
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("tmux %s: %v\n%s", args[0], err, out)
	}
	return string(out)
}

func (s *screen) shows() string { return s.tmux("capture-pane", "-p") }

// press sends keys, and waits until the screen shows what is said.
func (s *screen) press(want string, keys ...string) {
	s.t.Helper()
	if len(keys) > 0 {
		s.tmux(append([]string{"send-keys", "--"}, keys...)...)
	}
	re := regexp.MustCompile(want)
	for began := time.Now(); !re.MatchString(s.shows()); time.Sleep(100 * time.Millisecond) {
		if time.Since(began) > 2*time.Minute {
			s.t.Fatalf("after %q the screen does not show %q", keys, want)
		}
	}
}

// TestTheFirstMinute is somebody in front of a terminal who starts the lab, and reads nothing but the screen.
func TestTheFirstMinute(t *testing.T) {
	dir := t.TempDir()
	s := newScreen(t)
	s.press(`Press \+ +and five pods`, fmt.Sprintf("%s up --dir %s --image %s --boot-time 0s; echo ended $?",
		filepath.Join(bin, "karpenter-lab"), dir, filepath.Join(bin, "image")), "Enter")
	l := &lab{t: t, dir: dir, kubeconfig: filepath.Join(dir, "kubeconfig")}
	l.connect()

	began := time.Now()
	s.press(`aks-demo-\S+ +demo +Standard_D\S+ +westus3-\d +spot +\d+%.* 0\.\d{4} .* ready`, "+")
	t.Logf("the first node was ready %.1f s after the key", time.Since(began).Seconds())
	s.press(`NodeClaim `+l.claims()[0].Name, "4")
	s.press(`nodes   by name`, "2")
	l.until("all pods run", 2*time.Minute, func() bool { return l.running("demo", 5) })
	l.seenFromAbove(l.claims()[0].Name, l.claims()[0].Status.NodeName)

	was := l.controller()
	s.press(`x kill  the controller, process \d+, is dead`, "x")
	l.until("the controller runs again", time.Minute, func() bool { return l.controller() != was })
	s.press(`o sell out  Standard_D\S+ is sold out everywhere`, "o")
	s.press(`t throttle  Azure answers 429`, "t")
	if knobs := l.do("knobs", "show"); !strings.Contains(knobs, "SkuNotAvailable") || !strings.Contains(knobs, "every: 1") {
		t.Errorf("the keys left Azure with these knobs:\n%s", knobs)
	}
	s.press(`m mend  Azure is whole again`, "m")
	if knobs := l.do("knobs", "show"); strings.TrimSpace(knobs) != "{}" {
		t.Errorf("a mended Azure has these knobs:\n%s", knobs)
	}
	s.press(`e evict  aks-demo-\S+ goes after its notice`, "e")
	gone := regexp.MustCompile(`evict  (\S+) goes`).FindStringSubmatch(s.shows())[1]
	l.until("the machine that Azure takes back is gone", 2*time.Minute, func() bool {
		return !slices.ContainsFunc(l.resources(), func(r held) bool { return r.Name == gone })
	})
	l.until("all pods run elsewhere", 2*time.Minute, func() bool { return l.running("demo", 5) })
	s.press(`no pod of the demo is asked for`, "-")
	s.press(`(?s)0 nodes.*Press \+`)
	s.press(`! e evict  no spot machine runs`, "e")

	s.press(`Ctrl-C here takes everything down`, "q")
	s.press(`ended 0`, "C-c")
	if _, err := assemble.Load(dir); err == nil {
		t.Errorf("the lab runs on")
	}
}

// seenFromAbove looks with karpenter top at what somebody who asks it once is told: the node of a claim with its price, and what was decided.
func (l *lab) seenFromAbove(claim, node string) {
	l.t.Helper()
	if out := l.karpenter("top", "--once"); !regexp.MustCompile(`(?m)^  ` + node + ` +demo +Standard_\S+ .* 0\.\d{4} .* ready`).MatchString(out) {
		l.t.Errorf("top does not show node %s with its price:\n%s", node, out)
	}
	if out := l.karpenter("top", "--once", "--view", "decisions"); !strings.Contains(out, "NodeClaim "+claim+" ") {
		l.t.Errorf("top knows of no decision about %s:\n%s", claim, out)
	}
}
