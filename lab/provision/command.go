package provision

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// joined refuses what needs a shell to know: a change of variables, or the entry point, that happens in another process
// or only if another command fails or succeeds.
func joined(words []word, before, after string) error {
	changes := words[0].assign > 0 && !calls(words) || slices.Contains([]string{"export", "set", "unset"}, words[0].text)
	switch {
	case changes && (slices.Contains([]string{"&&", "||", "|"}, before) || after == "|" || after == "&"):
		return fmt.Errorf("a change of variables joined to another command by %s is beyond this image's reader", strings.TrimSpace(before+" "+after))
	case calls(words) && (before == "||" || before == "|"):
		return fmt.Errorf("%s is called only if another command fails, or with its output", entryPoint)
	}
	return nil
}

// run takes one command as bash would: assignments change variables, export marks them, a call of the entry point ends
// the reading. called reports that, and env is then what the entry point finds in its environment.
func (s *shell) run(words []word) (env map[string]string, called bool, err error) {
	n := 0
	for n < len(words) && words[n].assign > 0 {
		n++
	}
	prefix, rest := words[:n], words[n:]
	if len(rest) == 0 {
		for _, w := range prefix {
			s.set(w, s.all)
		}
		return nil, false, nil
	}
	name := rest[0].text
	switch {
	case slices.Contains([]string{"function", "eval", "source", "."}, name):
		return nil, false, fmt.Errorf("%q is beyond this image's reader", name)
	case name == "export":
		return nil, false, s.export(rest[1:])
	case name == "set":
		s.option(rest[1:])
		return nil, false, nil
	case name == "exit" || name == "return":
		return nil, false, fmt.Errorf("the script ends with %q before it calls %s", name, entryPoint)
	case name == "unset":
		for _, w := range rest[1:] {
			delete(s.vars, w.text)
			delete(s.exported, w.text)
		}
		return nil, false, nil
	}
	if !calls(rest) {
		return nil, false, nil
	}
	env = map[string]string{}
	for name := range s.exported {
		if v, ok := s.vars[name]; ok {
			env[name] = v
		}
	}
	for _, w := range prefix {
		env[w.text[:w.assign]] = w.text[w.assign+1:]
	}
	return env, true, nil
}

// unseen lists what the script set and the entry point does not find: set, but not exported.
func (s *shell) unseen(env map[string]string) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(s.vars)) {
		if _, ok := env[name]; !ok {
			out = append(out, name)
		}
	}
	return out
}

// calls reports whether the command runs the entry point, directly, through bash, or as bash -c "…".
func calls(words []word) bool {
	for _, w := range words {
		if slices.Contains(strings.Fields(w.text), entryPoint) {
			return words[0].text != "echo" && words[0].text != "test" && words[0].text != "["
		}
	}
	return false
}

func (s *shell) set(w word, export bool) {
	name := w.text[:w.assign]
	s.vars[name] = w.text[w.assign+1:]
	if export {
		s.exported[name] = true
	}
}

func (s *shell) export(words []word) error {
	for _, w := range words {
		switch {
		case w.assign > 0:
			s.set(w, true)
		case isName(w.text):
			s.exported[w.text] = true
		default:
			return fmt.Errorf("export: %q: not a valid identifier", w.text)
		}
	}
	return nil
}

// option follows set -a and set -o allexport, in any bundle of letters; the other options change nothing here.
func (s *shell) option(words []word) {
	for i, w := range words {
		switch {
		case w.text == "allexport" && i > 0:
			s.all = strings.HasPrefix(words[i-1].text, "-")
		case strings.HasPrefix(w.text, "-") && strings.Contains(w.text, "a"):
			s.all = true
		case strings.HasPrefix(w.text, "+") && strings.Contains(w.text, "a"):
			s.all = false
		}
	}
}
