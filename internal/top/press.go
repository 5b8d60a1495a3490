package top

import (
	"strings"
	"unicode/utf8"
)

// Press takes a key.
func (s *State) Press(k Key) {
	if k == Interrupt {
		s.done, s.interrupted = true, true
		return
	}
	if s.typing {
		s.letter(k)
		return
	}
	if s.move(k) {
		return
	}
	c := s.shown()
	switch k {
	case 'q':
		s.done = true
	case Enter, 'l':
		s.into()
	case Escape, Backspace, 'h':
		s.out()
	case '1', '2', '3', '4':
		s.view(kind(k - '1'))
	case Tab, BackTab:
		step := kind(1)
		if k == BackTab {
			step = decisions
		}
		s.view((s.stack[0].kind + step) % (decisions + 1))
	case 's':
		if n := len(orders(c.kind)); n > 0 {
			c.order, c.back = (c.order+1)%n, false
			s.arrange()
		}
	case 'r':
		c.back = !c.back
		s.arrange()
	case '/':
		s.typing = c.kind != why && c.kind != help
	case 'w':
		s.ask()
	case '?':
		if c.kind != help {
			s.push(screen{kind: help})
		}
	default:
		s.order(k)
	}
}

// move moves the cursor, if the key says so.
func (s *State) move(k Key) bool {
	at := s.shown().at
	switch k {
	case Up, 'k':
		at--
	case Down, 'j':
		at++
	case PageUp:
		at -= page
	case PageDown, ' ':
		at += page
	case Home, 'g':
		at = 0
	case End, 'G':
		at = len(s.rows) - 1
	default:
		return false
	}
	s.point(at)
	return true
}

// mostFilter bounds what is typed.
const mostFilter = 100

// letter takes a key for the filter.
func (s *State) letter(k Key) {
	c := s.shown()
	switch {
	case k == Enter:
		s.typing = false
	case k == Escape:
		s.typing, c.filter = false, ""
	case k == Backspace:
		_, n := utf8.DecodeLastRuneInString(c.filter)
		c.filter = c.filter[:len(c.filter)-n]
	case k >= ' ' && len(c.filter) < mostFilter:
		c.filter += string(rune(k))
	default:
		s.move(k)
		return
	}
	s.arrange()
}

func (s *State) push(c screen) {
	s.stack = append(s.stack, c)
	s.arrange()
}

// out goes back: the filter first, then the screen.
func (s *State) out() {
	c := s.shown()
	switch {
	case c.filter != "":
		c.filter = ""
	case len(s.stack) > 1:
		s.stack = s.stack[:len(s.stack)-1]
	}
	s.arrange()
}

// view goes to one of the first screens.
func (s *State) view(k kind) {
	if len(s.stack) == 1 && s.stack[0].kind == k {
		return
	}
	s.stack = []screen{{kind: k}}
	s.arrange()
}

// into drills down: from a pool to its nodes, from a node to its pods, from a pod to why.
func (s *State) into() {
	c := s.shown()
	if c.at >= len(s.rows) {
		return
	}
	r := s.rows[c.at]
	switch {
	case r.pool != nil:
		s.push(screen{kind: nodes, of: r.name})
	case r.machine != nil && r.machine.node != nil:
		s.push(screen{kind: pods, of: r.id})
	default:
		s.ask()
	}
}

// ask asks why the object under the cursor is as it is.
func (s *State) ask() {
	c := s.shown()
	if c.at >= len(s.rows) {
		return
	}
	if x, ok := s.rows[c.at].subject(); ok {
		s.push(screen{kind: why, asked: x})
	}
}

// subject is what can be asked of a row. Of a machine without a NodeClaim the node is asked for.
func (r row) subject() (Subject, bool) {
	switch {
	case r.pool != nil && r.pool.pool != nil:
		return Subject{"nodepool", r.name}, true
	case r.machine != nil && r.machine.node != nil:
		return Subject{"node", r.name}, true
	case r.machine != nil:
		return Subject{"nodeclaim", r.name}, true
	case r.pod != nil:
		return Subject{"pod", r.name}, true
	case r.event != nil:
		switch kind := strings.ToLower(r.event.Kind); kind {
		case "pod", "node", "nodeclaim", "nodepool", "aksnodeclass":
			return Subject{kind, r.name}, true
		}
	}
	return Subject{}, false
}
