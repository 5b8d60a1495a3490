package top_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/cockroachdb/datadriven"
	"golang.org/x/text/width"

	"github.com/karpenter-aks/karpenter/internal/simulate"
	"github.com/karpenter-aks/karpenter/internal/top"
	"github.com/karpenter-aks/karpenter/model"
)

// read takes a world as a file has it.
func read(t testing.TB, text string) (model.World, time.Time) {
	t.Helper()
	q, err := simulate.Read(context.Background(), simulate.Options{Partial: true,
		Files: []simulate.File{{Name: "world.txt", Text: []byte(text)}}})
	if err != nil {
		t.Fatal(err)
	}
	return q.World, q.Now
}

// pressed are the words of scripts for keys that are no letters.
var pressed = map[string]top.Key{"up": top.Up, "down": top.Down, "enter": top.Enter,
	"esc": top.Escape, "tab": top.Tab, "backtab": top.BackTab, "pgup": top.PageUp,
	"pgdown": top.PageDown, "home": top.Home, "end": top.End, "backspace": top.Backspace}

// added are keys that a caller gives.
var added = []top.Command{{Key: '+', Name: "more", Help: "asks for more"},
	{Key: '-', Name: "less"}}

// TestScreens presses keys and compares what is shown. Each file begins with a world:
//
//	world FILE [colour] [ascii] [view=nodes] [commands]
//	keys WIDTH HEIGHT       words in the input: keys by name, else their letters
//	hear                    lines in the input: KIND NAME REASON MESSAGE; ! before REASON warns
//	answer                  the input answers what was asked last
//	did [failed]            the input says how it went what was ordered first; prints the order
//	once
func TestScreens(t *testing.T) {
	datadriven.Walk(t, "testdata/screens", func(t *testing.T, path string) {
		var s *top.State
		var now time.Time
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "world":
				raw, err := os.ReadFile(filepath.Join("testdata", d.CmdArgs[0].Key))
				if err != nil {
					t.Fatal(err)
				}
				o := top.Options{Source: d.CmdArgs[0].Key, Colour: d.HasArg("colour"),
					ASCII: d.HasArg("ascii")}
				d.MaybeScanArgs(t, "view", &o.View)
				if d.HasArg("commands") {
					o.Commands, o.Welcome = added, "Press + for more.\nPress - for less.\n"
				}
				s = top.NewState(o)
				w, at := read(t, string(raw)+"\n"+d.Input)
				now = at
				s.Show(top.New(w, now))
				return ""
			case "keys":
				press(s, d.Input)
			case "hear":
				for i, line := range strings.Split(d.Input, "\n") {
					f := strings.SplitN(line, " ", 4)
					reason, warns := strings.CutPrefix(f[2], "!")
					s.Hear(top.Event{At: now.Add(time.Duration(i-10) * time.Minute), Kind: f[0],
						Name: f[1], Reason: reason, Warning: warns, Message: f[3], ID: line})
				}
				return ""
			case "answer":
				x, ok := s.Wanted()
				s.Answer(x, d.Input)
				return fmt.Sprintf("%s %s %v\n", x.Kind, x.Name, ok)
			case "did":
				x, ok := s.Ordered()
				s.Did(d.Input, d.HasArg("failed"))
				if !ok {
					return "nothing was ordered\n"
				}
				return fmt.Sprintf("%c of %q\n", x.Command.Key, x.About)
			case "once":
				return top.Once(s)
			}
			var w, h int
			fmt.Sscan(d.CmdArgs[0].Key, &w)
			fmt.Sscan(d.CmdArgs[1].Key, &h)
			return visible(top.Frame(s, w, h)) + "\n"
		})
	})
}

func press(s *top.State, script string) {
	for _, word := range strings.Fields(script) {
		if k, ok := pressed[word]; ok {
			s.Press(k)
			continue
		}
		for _, r := range word {
			s.Press(top.Key(r))
		}
	}
}

// visible writes a frame so that editors leave it alone: without blanks at the ends of lines, and ESC as a sign.
func visible(frame string) string {
	var out []string
	for _, line := range strings.Split(frame, "\n") {
		out = append(out, strings.TrimRight(strings.ReplaceAll(line, "\x1b", "␛"), " "))
	}
	return strings.Join(out, "\n")
}

var sgr = regexp.MustCompile("\x1b\\[[0-9;]*m")

// fits holds what any frame must keep.
func fits(t *testing.T, what, frame string, w, h int) {
	t.Helper()
	lines := strings.Split(frame, "\n")
	if len(lines) > h {
		t.Fatalf("%s: %d lines on a screen of %d", what, len(lines), h)
	}
	for _, line := range lines {
		n := 0
		for _, r := range sgr.ReplaceAllString(line, "") {
			if unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Mn) {
				t.Fatalf("%s: %q reaches the terminal: %q", what, r, line)
			}
			n++
			if k := width.LookupRune(r).Kind(); k == width.EastAsianWide ||
				k == width.EastAsianFullwidth {
				n++
			}
		}
		if n > w {
			t.Fatalf("%s: a line of %d columns on a screen of %d: %q", what, n, w, line)
		}
	}
}

// letters are what names are made of here, for good and ill.
var letters = []rune("abz-019é漢字\x1b[]\x00\n\t\u202e\u0301\u200b\ufffd🚀\u0090;m")

func word(r *rand.Rand) string {
	var b strings.Builder
	for range 1 + r.IntN(40) {
		b.WriteRune(letters[r.IntN(len(letters))])
	}
	if r.IntN(4) == 0 {
		b.WriteByte(0xff) // no UTF-8
	}
	return b.String()
}

// wild is a world with names as nobody should have them.
func wild(r *rand.Rand) model.World {
	var w model.World
	for i := range 1 + r.IntN(5) {
		w.Pools = append(w.Pools, model.Pool{Name: fmt.Sprint(i, word(r)), Unreadable: word(r),
			Limits: map[string]int64{model.ResourceCPU: r.Int64N(3) * 1000, word(r): r.Int64N(9)}})
	}
	for i := range r.IntN(40) {
		n := model.Node{Name: fmt.Sprint(i, word(r)), ProviderID: fmt.Sprint(i), Ready: model.True,
			ReadyReason: word(r), Labels: map[string]string{model.LabelZone: word(r),
				model.LabelInstanceType: word(r),
				model.LabelPool:         w.Pools[r.IntN(len(w.Pools))].Name},
			Allocatable: model.Resources{CPU: r.Int64N(2) * 4000}}
		if r.IntN(3) == 0 {
			n.Ready = model.False
		}
		w.Nodes = append(w.Nodes, n)
		for j := range r.IntN(5) {
			p := model.Pod{Namespace: word(r), Name: fmt.Sprint(j, word(r)), Node: n.Name,
				DoNotDisrupt: []string{"", "true", "9h", word(r)}[r.IntN(4)],
				Requests:     model.Resources{CPU: r.Int64N(9000), Memory: r.Int64N(1 << 40)}}
			if r.IntN(4) == 0 {
				p.Node = ""
			}
			w.Pods = append(w.Pods, p)
		}
	}
	return w
}

func TestFramesFitAndAreHarmless(t *testing.T) {
	keys := []top.Key{top.Up, top.Down, top.PageDown, top.PageUp, top.Home, top.End, top.Enter,
		top.Enter, top.Escape, top.Tab, top.BackTab, top.Backspace, 's', 'r', '/', 'a', 'w',
		'?', '漢', '1', '2', '3', '4', '+', '-'}
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		o := top.Options{Source: word(r), Colour: seed%2 == 0, ASCII: seed%3 == 0}
		if seed%5 == 0 {
			o.Welcome, o.Commands = word(r), []top.Command{{Key: '+', Name: word(r), Help: word(r)}}
		}
		s := top.NewState(o)
		s.Note([]string{word(r)})
		s.Trouble(word(r))
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		s.Show(top.New(wild(r), now))
		for step := range 40 {
			switch r.IntN(9) {
			case 8:
				s.Did(word(r), r.IntN(2) == 0)
			case 0:
				s.Show(top.New(wild(r), now))
			case 1:
				s.Hear(top.Event{ID: word(r), At: now, Kind: word(r), Name: word(r),
					Reason: word(r), Message: word(r) + word(r), Warning: r.IntN(2) == 0})
			case 2:
				if x, ok := s.Wanted(); ok {
					s.Answer(x, word(r)+"\n"+word(r))
				}
			default:
				s.Press(keys[r.IntN(len(keys))])
			}
			w, h := r.IntN(220), r.IntN(60)
			what := fmt.Sprintf("seed %d step %d, %dx%d", seed, step, w, h)
			if frame := top.Frame(s, w, h); w > 0 && h > 0 {
				fits(t, what, frame, w, h)
			} else if frame != "" {
				t.Fatalf("%s: %q where there is no room", what, frame)
			}
		}
		for _, line := range strings.Split(strings.TrimSuffix(top.Once(s), "\n"), "\n") {
			fits(t, fmt.Sprint("once, seed ", seed), line, 1000, 1)
		}
	}
}

// under is the line that the cursor is on.
func under(t *testing.T, s *top.State) string {
	t.Helper()
	for _, line := range strings.Split(top.Frame(s, 160, 40), "\n") {
		if strings.HasPrefix(line, "> ") {
			return strings.Fields(line)[1]
		}
	}
	t.Fatal("no row has the cursor")
	return ""
}

func TestTheCursorStaysOnItsObject(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 2))
		load := func() model.World {
			var w model.World
			for i := range 30 {
				if i != 17 && r.IntN(3) == 0 {
					continue // gone, or not there yet
				}
				n := model.Node{Name: fmt.Sprintf("n%02d", i), Ready: model.True,
					Allocatable: model.Resources{CPU: 10000}}
				w.Nodes = append(w.Nodes, n)
				w.Pods = append(w.Pods, model.Pod{Name: n.Name, Node: n.Name,
					Requests: model.Resources{CPU: r.Int64N(10000)}})
			}
			return w
		}
		s := top.NewState(top.Options{ASCII: true})
		s.Show(top.New(load(), time.Time{}))
		for under(t, s) != "n17" {
			s.Press(top.Down)
		}
		for range 20 {
			if r.IntN(2) == 0 {
				s.Press([]top.Key{'s', 'r'}[r.IntN(2)])
			} else {
				s.Show(top.New(load(), time.Time{}))
			}
			if got := under(t, s); got != "n17" {
				t.Fatalf("seed %d: the cursor went from n17 to %s", seed, got)
			}
		}
		press(s, "enter")
		s.Show(top.New(load(), time.Time{}))
		press(s, "esc")
		if got := under(t, s); got != "n17" {
			t.Fatalf("seed %d: back from its pods the cursor is on %s", seed, got)
		}
	}
}

// When its object goes, the cursor stays in its place.
func TestTheCursorOutlivesItsObject(t *testing.T) {
	nodes := func(names ...string) *top.Picture {
		var w model.World
		for _, n := range names {
			w.Nodes = append(w.Nodes, model.Node{Name: n})
		}
		return top.New(w, time.Time{})
	}
	s := top.NewState(top.Options{})
	s.Show(nodes("a", "b", "c"))
	press(s, "down")
	s.Show(nodes("a", "c"))
	if got := under(t, s); got != "c" {
		t.Errorf("the cursor is on %s, want c, which took the place of b", got)
	}
	s.Show(nodes())
	s.Show(nodes("z"))
	if got := under(t, s); got != "z" {
		t.Errorf("the cursor is on %s, want z", got)
	}
}

// large is a cluster of so many nodes with twenty pods each.
func large(nodes int) model.World {
	var w model.World
	w.Pools = []model.Pool{{Name: "general"}}
	for i := range nodes {
		n := model.Node{Name: fmt.Sprintf("aks-general-%05d", i), Ready: model.True,
			ProviderID: fmt.Sprint("azure:///", i), Labels: map[string]string{
				model.LabelPool: "general", model.LabelZone: "westeurope-1",
				model.LabelInstanceType: "Standard_D8s_v5",
				model.LabelCapacityType: model.OnDemand},
			Allocatable: model.Resources{CPU: 8000, Memory: 32 << 30}}
		w.Nodes = append(w.Nodes, n)
		for j := range 20 {
			w.Pods = append(w.Pods, model.Pod{Namespace: "shop",
				Name: fmt.Sprintf("web-%05d-%02d", i, j), Node: n.Name,
				Requests: model.Resources{CPU: 300, Memory: 1 << 30}})
		}
	}
	return w
}

// A frame costs what it shows: on a cluster ten times as large it allocates no more, and what it allocates grows with the rows.
func TestAFrameCostsTheRowsThatItShows(t *testing.T) {
	cost := func(nodes, height int) float64 {
		s := top.NewState(top.Options{Colour: true})
		s.Show(top.New(large(nodes), time.Time{}))
		press(s, "end")
		return testing.AllocsPerRun(10, func() { top.Frame(s, 200, height) })
	}
	const rows = 45
	small, big, short := cost(100, rows), cost(1000, rows), cost(1000, 5+rows/3)
	if big > small*1.05+5 {
		t.Errorf("a frame of 1000 nodes takes %v allocations, one of 100 takes %v: it walks "+
			"what it does not show", big, small)
	}
	if most := 100.0 * rows; big > most {
		t.Errorf("a frame of %d rows takes %v allocations, want at most %v", rows, big, most)
	}
	if short > big*0.6 {
		t.Errorf("a third of the rows takes %v allocations, all take %v: want fewer for fewer rows",
			short, big)
	}
}

func BenchmarkFrame(b *testing.B) {
	s := top.NewState(top.Options{Colour: true})
	s.Show(top.New(large(1000), time.Time{}))
	b.ReportAllocs()
	for b.Loop() {
		top.Frame(s, 200, 50)
	}
}

// BenchmarkShow is what news of the cluster costs: the picture is added up, and the rows are sorted.
func BenchmarkShow(b *testing.B) {
	w := large(1000).Indexed()
	s := top.NewState(top.Options{})
	press(s, "sss")
	b.ReportAllocs()
	for b.Loop() {
		s.Show(top.New(w, time.Time{}))
	}
}

// A key that commands may have does nothing by itself, so that no command takes a key away.
func TestFreeKeysDoNothing(t *testing.T) {
	free := 0
	for k := rune(' '); k < 0x7f; k++ {
		s := top.NewState(top.Options{})
		s.Show(top.New(large(3), time.Time{}))
		press(s, "down")
		before := top.Frame(s, 100, 20)
		s.Press(top.Key(k))
		same := !s.Done() && top.Frame(s, 100, 20) == before
		if top.Free(k) {
			free++
			if !same {
				t.Errorf("%q is said to be free, and does something", k)
			}
		} else if same && !strings.ContainsRune("2h ", k) { // these do nothing here
			t.Errorf("%q does nothing, and is said not to be free", k)
		}
	}
	for _, k := range []rune{0, '\t', 0x7f, '\u0301', '漢', '\u202e'} {
		if top.Free(k) {
			t.Errorf("%q is said to be free: it would not stand in one column", k)
		}
	}
	if free < 60 {
		t.Errorf("only %d keys are free", free)
	}
}

// Orders wait for each other, and no more of them than a person can mean.
func TestOrdersWaitInLine(t *testing.T) {
	s := top.NewState(top.Options{Commands: added})
	for range 100 {
		s.Press('+')
	}
	n := 0
	for _, ok := s.Ordered(); ok; _, ok = s.Ordered() {
		s.Did("", false)
		n++
	}
	if n < 2 || n > 50 {
		t.Errorf("of 100 orders %d were kept", n)
	}
	s.Did("nothing was ordered", false)
	s.Press('/')
	s.Press('+')
	if o, ok := s.Ordered(); ok {
		t.Errorf("a letter of the filter ordered %v", o)
	}
}

func TestKeysAreRead(t *testing.T) {
	for _, c := range []struct {
		sent string
		want []top.Key
	}{
		{"j", []top.Key{'j'}},
		{"\x1b[A\x1b[B", []top.Key{top.Up, top.Down}},
		{"\x1bOA", []top.Key{top.Up}},
		{"\x1b", []top.Key{top.Escape}},
		{"\x1b[5~\x1b[6~q", []top.Key{top.PageUp, top.PageDown, 'q'}},
		{"\x1b[1;5Cq", []top.Key{'q'}}, // a key that means nothing here
		{"\x1b[20", nil},
		{"\r\t\x7f\x03", []top.Key{top.Enter, top.Tab, top.Backspace, top.Interrupt}},
		{"漢\xff\x01", []top.Key{'漢'}},
	} {
		if got := top.Keys([]byte(c.sent)); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%q: %v, want %v", c.sent, got, c.want)
		}
	}
}

// FuzzKeys: whatever a terminal sends ends, means known keys only, and no more of them than there are bytes.
func FuzzKeys(f *testing.F) {
	for _, s := range []string{"q", "\x1b[A", "\x1bO", "\x1b[", "\x1b\x1b[5~", "漢\xff"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		keys := top.Keys(sent)
		if len(keys) > len(sent) {
			t.Fatalf("%d keys out of %d bytes", len(keys), len(sent))
		}
		for _, k := range keys {
			if k < top.Interrupt || k >= 0 && unicode.IsControl(rune(k)) && k < ' ' {
				t.Fatalf("%q means key %d, which there is not", sent, k)
			}
		}
	})
}
