package top

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Command is a key that the caller gives to the screen. What it does is done elsewhere: Ordered says when.
type Command struct {
	Key  rune   // a Free one
	Name string // what it does, in two or three words: the foot shows it
	Help string // the same in a line, for help
}

// Order is a command that the person gave.
type Order struct {
	Command Command
	About   Subject // what the cursor was on; the zero value where nothing was
}

// mostOrders bounds how many orders wait: who holds a key down does not mean the hundredth.
const mostOrders = 20

// own are the letters that mean something to the screen itself.
const own = "qlh1234sr/w?kj gG"

// Free reports whether a command may have this key.
func Free(k rune) bool {
	return k >= ' ' && k != 0x7f && !odd(k) && wide(k) == 1 && !strings.ContainsRune(own, k)
}

// order takes the key of a command.
func (s *State) order(k Key) {
	i := slices.IndexFunc(s.opt.Commands, func(c Command) bool { return Key(c.Key) == k })
	if i < 0 || len(s.orders) >= mostOrders {
		return
	}
	o := Order{Command: s.opt.Commands[i]}
	if c := s.shown(); c.at < len(s.rows) {
		o.About, _ = s.rows[c.at].subject()
	}
	s.orders = append(s.orders, o)
}

// Ordered is what is to be done next; ok is false when there is nothing. It is said until Did is called.
func (s *State) Ordered() (o Order, ok bool) {
	if len(s.orders) == 0 {
		return o, false
	}
	return s.orders[0], true
}

// Did tells how what was ordered went, in a sentence, which stands on the screen until the next.
func (s *State) Did(sentence string, failed bool) {
	if len(s.orders) == 0 {
		return
	}
	s.told = told{s.orders[0].Command, sentence, failed}
	s.orders = s.orders[1:]
}

// told is how an order went.
type told struct {
	by       Command
	sentence string
	failed   bool
}

// went is the line about orders; nil when there was none.
func (s *State) went() []span {
	t := s.told
	switch {
	case len(s.orders) > 0:
		line := []span{{naming(s.orders[0].Command) + " …", news}}
		if n := len(s.orders) - 1; n > 0 {
			line = append(line, span{fmt.Sprintf("   %d more to come", n), faint})
		}
		return line
	case t.by.Key == 0:
		return nil
	case t.failed:
		return []span{{"! " + naming(t.by), bad}, {"  " + t.sentence, plain}}
	}
	return []span{{naming(t.by), news}, {"  " + t.sentence, plain}}
}

func naming(c Command) string { return string(c.Key) + " " + c.Name }

// commands is the line that names them; nil when there are none.
func (s *State) commands() []span {
	var line []span
	for _, c := range s.opt.Commands {
		line = append(line, span{string(c.Key), strong}, span{" " + c.Name + "  ", plain})
	}
	return line
}

// helpOfCommands is what help says of them.
func (s *State) helpOfCommands() (out []string) {
	if len(s.opt.Commands) == 0 {
		return nil
	}
	out = append(out, "Keys that were added here")
	for _, c := range s.opt.Commands {
		text := c.Help
		if text == "" {
			text = c.Name
		}
		out = append(out, fmt.Sprintf("  %-18c %s", c.Key, text))
	}
	return append(out, "")
}

// welcome is what an empty cluster shows.
func (s *State) welcome() string {
	return strings.TrimRightFunc(s.opt.Welcome, unicode.IsSpace)
}
