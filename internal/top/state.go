package top

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/karpenter-aks/karpenter/model"
)

// mostEvents bounds how many decisions are kept: an hour of a busy cluster.
const mostEvents = 500

// page is how many rows PageUp and PageDown go.
const page = 10

// Options of a State. The zero value shows nodes, plainly.
type Options struct {
	Source string // what is looked at: a cluster or a file
	Colour bool   // the terminal has colours, and the person wants them
	ASCII  bool   // the terminal has no other letters
	View   string // what to begin with: one of Views; "" = nodes
	Filter string // words that rows must have to be shown

	Commands []Command // keys of the caller's
	Welcome  string    // lines to show as long as there is no machine; "" = none
}

// Views are what State can begin with.
func Views() []string { return []string{"pools", "nodes", "pending", "decisions"} }

// Event is a decision that somebody told of.
type Event struct {
	At              time.Time
	Kind, Name      string // what it is about; pods as namespace/name
	Reason, Message string
	Warning         bool
	ID              string // tells it apart; an event of the same ID takes its place
}

// Subject is an object that a person asks about.
type Subject struct{ Kind, Name string }

// State is what of a cluster is looked at. Press changes it, Frame draws it.
type State struct {
	opt     Options
	look    look
	picture *Picture
	events  []Event // oldest first
	notes   []string
	trouble string

	stack  []screen // the last is shown; never empty
	typing bool     // letters go into the filter
	done   bool
	// interrupted: by Ctrl-C, which means more than this screen.
	interrupted bool

	orders []Order // the first is being done
	told   told    // how the last went

	// rows are those of the screen that is shown, filtered and sorted; made anew by arrange.
	rows []row
	// widest is how many columns the longest name of them takes, and so on: see natural.
	widest [4]int
}

// kind is what a screen shows.
type kind uint8

const (
	pools kind = iota
	nodes
	pending
	decisions
	pods // of one machine
	why
	help
)

// screen is one thing to look at, and where the person is in it.
type screen struct {
	kind   kind
	of     string // nodes: the pool, "" = all; pods: the machine's id
	cursor string // id of the row that the cursor is on
	at     int    // which row that was, for when it is gone
	order  int    // by which of orders it is sorted
	back   bool   // the other way round
	filter string
	asked  Subject  // why
	text   []string // the answer, nil until it is there; and help
}

// row is one object on the screen; one of the pointers is set, or text is what it says.
type row struct {
	id      string
	name    string
	machine *machine
	pool    *pool
	pod     *model.Pod
	event   *Event
	text    string
}

// NewState shows nothing yet.
func NewState(o Options) *State {
	s := &State{opt: o, look: look{o.Colour, o.ASCII}, picture: New(model.World{}, time.Time{})}
	first := max(0, slices.Index(Views(), cmp.Or(o.View, "nodes")))
	s.stack = []screen{{kind: kind(first), filter: o.Filter}}
	s.arrange()
	return s
}

// Show takes a new picture: the cursor stays on its object. O(rows of the screen · log).
func (s *State) Show(p *Picture) {
	s.picture = p
	s.arrange()
}

// Tick says what time it is, for ages.
func (s *State) Tick(now time.Time) {
	p := *s.picture
	p.Now = now
	s.picture = &p
}

// Note takes what is to be known of the source: what could not be read. It is shown with help.
func (s *State) Note(list []string) { s.notes = list }

// Hear takes a decision. Those that were first are forgotten when there are too many.
func (s *State) Hear(e Event) {
	s.events = slices.DeleteFunc(s.events, func(x Event) bool { return x.ID == e.ID })
	at, _ := slices.BinarySearchFunc(s.events, e, func(a, b Event) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID))
	})
	s.events = slices.Insert(s.events, at, e)
	if len(s.events) > mostEvents {
		s.events = slices.Delete(s.events, 0, len(s.events)-mostEvents)
	}
	if s.shown().kind == decisions {
		s.arrange()
	}
}

// Trouble says why what is shown may be old; "" = it is not.
func (s *State) Trouble(why string) { s.trouble = why }

// Done reports whether the person has seen enough.
func (s *State) Done() bool { return s.done }

// Interrupted reports whether they pressed Ctrl-C: whoever shows the screen may want to end, too.
func (s *State) Interrupted() bool { return s.interrupted }

// Wanted is what the person asks about and has no answer yet; ok is false when there is nothing.
func (s *State) Wanted() (x Subject, ok bool) {
	c := s.shown()
	return c.asked, c.kind == why && c.text == nil
}

// Answer tells why a subject is as it is. Who no longer asks for it is not told.
func (s *State) Answer(x Subject, text string) {
	for i := range s.stack {
		if c := &s.stack[i]; c.kind == why && c.asked == x {
			c.text = strings.Split(strings.TrimRight(text, "\n"), "\n")
		}
	}
	s.arrange()
}

func (s *State) shown() *screen { return &s.stack[len(s.stack)-1] }

// arrange makes the rows of the screen anew, and keeps the cursor on its object; when that is gone it stays where it was.
func (s *State) arrange() {
	c := s.shown()
	s.rows = s.rows[:0]
	s.list(c)
	words := strings.Fields(strings.ToLower(c.filter))
	if len(words) > 0 {
		s.rows = slices.DeleteFunc(s.rows, func(r row) bool {
			text := strings.ToLower(s.words(r))
			return slices.ContainsFunc(words, func(w string) bool {
				return !strings.Contains(text, w)
			})
		})
	}
	if list := orders(c.kind); len(list) > 0 {
		o := list[c.order%len(list)]
		slices.SortStableFunc(s.rows, func(a, b row) int {
			x := o.compare(a, b)
			if c.back {
				x = -x
			}
			return cmp.Or(x, cmp.Compare(a.name, b.name), cmp.Compare(a.id, b.id))
		})
	}
	s.widest = s.natural()
	at := slices.IndexFunc(s.rows, func(r row) bool { return r.id == c.cursor })
	if at < 0 {
		at = min(c.at, len(s.rows)-1)
	}
	s.point(at)
}

// point moves the cursor to a row, or as near as can be.
func (s *State) point(at int) {
	c := s.shown()
	c.at = min(max(at, 0), max(len(s.rows)-1, 0))
	c.cursor = ""
	if c.at < len(s.rows) {
		c.cursor = s.rows[c.at].id
	}
}

// list appends what the screen may show.
func (s *State) list(c *screen) {
	p := s.picture
	switch c.kind {
	case pools:
		for i := range p.pools {
			x := &p.pools[i]
			s.rows = append(s.rows, row{id: x.name, name: x.name, pool: x})
		}
	case nodes:
		for i := range p.machines {
			m := &p.machines[i]
			if c.of == "" || c.of == cmp.Or(m.pool, noPool) {
				s.rows = append(s.rows, row{id: m.id, name: m.name, machine: m})
			}
		}
	case pending:
		s.pods(p.pending)
	case pods:
		if m := p.find(c.of); m != nil && m.node != nil {
			s.pods(p.world.Index.On(m.node.Name).Pods)
		}
	case decisions:
		for i := len(s.events) - 1; i >= 0; i-- {
			e := &s.events[i]
			s.rows = append(s.rows, row{id: e.ID, name: e.Name, event: e})
		}
	case why, help:
		for i, line := range s.lines(c) {
			s.rows = append(s.rows, row{id: strconv.Itoa(i), text: line})
		}
	}
}

func (s *State) pods(list []*model.Pod) {
	for _, p := range list {
		key := p.Key().String()
		s.rows = append(s.rows, row{id: key, name: key, pod: p})
	}
}

func (p *Picture) find(id string) *machine {
	i := slices.IndexFunc(p.machines, func(m machine) bool { return m.id == id })
	if i < 0 {
		return nil
	}
	return &p.machines[i]
}

// lines is the text of a screen of text.
func (s *State) lines(c *screen) []string {
	switch {
	case c.kind == help:
		out := append(s.helpOfCommands(), strings.Split(helpText, "\n")...)
		if len(s.notes) > 0 {
			out = append(out, "", "What is to be known of "+s.opt.Source+":")
			for _, n := range s.notes {
				out = append(out, "  "+n)
			}
		}
		return out
	case c.text == nil:
		return []string{"the deciders are asked …"}
	}
	return c.text
}

// words is what a filter looks at.
func (s *State) words(r row) string {
	switch {
	case r.machine != nil:
		m := r.machine
		return strings.Join([]string{m.name, m.pool, m.typ, m.zone, m.buying, m.state.word}, " ")
	case r.pool != nil:
		return r.name + " " + r.pool.state.word
	case r.pod != nil:
		return r.name + " " + s.picture.ofPod(r.pod).word
	case r.event != nil:
		return strings.Join([]string{r.event.Kind, r.name, r.event.Reason, r.event.Message}, " ")
	}
	return r.text
}

// order is a way to sort rows.
type order struct {
	name    string
	compare func(a, b row) int
}

// orders are the ways to sort a screen; nil for those that have one order.
func orders(k kind) []order {
	by := func(name string, of func(row) int64) order { // most first
		return order{name, func(a, b row) int { return cmp.Compare(of(b), of(a)) }}
	}
	text := func(name string, of func(row) string) order {
		return order{name, func(a, b row) int { return cmp.Compare(of(a), of(b)) }}
	}
	none := text("name", func(row) string { return "" })
	switch k {
	case pools:
		return []order{none, by("$/h", func(r row) int64 { return int64(r.pool.price) }),
			by("nodes", func(r row) int64 { return int64(r.pool.machines) }),
			by("cpu", func(r row) int64 { return share(r.pool.used.CPU, r.pool.allocatable.CPU) }),
			by("memory", func(r row) int64 {
				return share(r.pool.used.Memory, r.pool.allocatable.Memory)
			})}
	case nodes:
		return []order{none, by("$/h", func(r row) int64 { return int64(r.machine.price) }),
			by("cpu", func(r row) int64 {
				return share(r.machine.used.CPU, r.machine.allocatable.CPU)
			}),
			by("memory", func(r row) int64 {
				return share(r.machine.used.Memory, r.machine.allocatable.Memory)
			}),
			by("pods", func(r row) int64 { return int64(r.machine.pods) }),
			by("youngest", func(r row) int64 { return r.machine.created.Unix() }),
			text("pool", func(r row) string { return r.machine.pool }),
			text("status", func(r row) string { return r.machine.state.word })}
	case pods, pending:
		return []order{none, by("cpu", func(r row) int64 { return r.pod.Requests.CPU }),
			by("memory", func(r row) int64 { return r.pod.Requests.Memory }),
			by("youngest", func(r row) int64 { return r.pod.Created.Unix() })}
	}
	return nil
}

// share is a fraction in millionths, to compare.
func share(part, whole int64) int64 {
	if whole <= 0 {
		return -1
	}
	return int64(float64(part) / float64(whole) * 1e6)
}

const helpText = `Keys
  up down, j k       a row up, down              enter     into it: pool, nodes, pods, why
  PgUp PgDn          ten rows                    esc       back
  g G, Home End      the first, the last row     w         why is it as it is?
  1 pools  2 nodes  3 pods that wait  4 decisions; tab goes on to the next
  s                  sort by something else      r         the other way round
  /                  show only rows with these words; esc shows all again
  q, Ctrl-C          leave

Signs
  + comes   - leaves   ~ could leave soon   # may not leave   ! something is wrong

  Fill is what pods ask for, of what pods may have.
  Prices are those of the catalogue that plans are made with.
  "?" is a price that nobody knows here; it is not in the sum.
  Blockers are what a look at the node's pods shows; w asks the deciders, which know all.`
