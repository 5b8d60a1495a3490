package model

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Pause is what people have put on hold, of one pool or of all. The zero value holds nothing.
type Pause struct {
	// Provisioning: nothing is bought, neither for pods that wait nor in place of nodes that leave.
	Provisioning bool
	// Disruption: no node leaves by our choice, drifted ones included, and moves that were begun are undone.
	Disruption bool
	// Drift: no node leaves because it has drifted.
	Drift bool
	// Observe: what nodes would leave is decided and told, and not done.
	Observe bool
	// Rollout is how carefully drifted nodes are replaced.
	Rollout Rollout
	// Unreadable are the words that nobody knows the meaning of, each with where it stands, sorted.
	Unreadable []string
}

// Rollout is how carefully drifted nodes of a pool are replaced. The zero value takes no care.
type Rollout struct {
	// MinAge is how old a node must be.
	MinAge time.Duration
	// Canary is how many, "1" or "10%", are replaced first; Soak how long as many new nodes must have been healthy before the others
	// follow.
	Canary string
	Soak   time.Duration
}

// DefaultSoak is how long the first new nodes must have been healthy unless the pool says so.
const DefaultSoak = 10 * time.Minute

// Words of AnnotationPause, and of the option --pause.
const (
	PauseProvisioning = "provisioning"
	PauseDisruption   = "disruption"
	PauseDrift        = "drift"
	PauseAll          = "all"
)

// Values of AnnotationDisruptionMode, and of the option --disruption-mode.
const (
	DisruptionAct     = "act"
	DisruptionObserve = "observe"
)

// ParsePause reads words separated by commas. One that is not known holds disruption: whoever wrote it wanted something to
// stop, nodes that stay harm least, and pods that wait for machines harm most. The other words count all the same.
func ParsePause(text string) Pause {
	var p Pause
	for word := range strings.SplitSeq(text, ",") {
		switch word = strings.ToLower(strings.TrimSpace(word)); word {
		case "":
		case PauseProvisioning:
			p.Provisioning = true
		case PauseDisruption:
			p.Disruption = true
		case PauseDrift:
			p.Drift = true
		case PauseAll:
			p.Provisioning, p.Disruption, p.Drift = true, true, true
		default:
			p.Disruption = true
			p.Unreadable = append(p.Unreadable, AnnotationPause+": "+word)
		}
	}
	slices.Sort(p.Unreadable)
	return p
}

// PauseOf is what is on hold of a pool: what is of all pools, and what its annotations ask for. O(length of these).
func (w *World) PauseOf(p *Pool) Pause {
	out := ParsePause(p.Annotations[AnnotationPause])
	switch mode := strings.ToLower(strings.TrimSpace(p.Annotations[AnnotationDisruptionMode])); mode {
	case "", DisruptionAct:
	case DisruptionObserve:
		out.Observe = true
	default: // nothing leaves by a word that nobody knows
		out.Observe = true
		out.Unreadable = append(out.Unreadable, AnnotationDisruptionMode+": "+mode)
	}
	out.rollout(p.Annotations)
	out.Provisioning = out.Provisioning || w.Paused.Provisioning
	out.Disruption = out.Disruption || w.Paused.Disruption
	out.Drift = out.Drift || w.Paused.Drift
	out.Observe = out.Observe || w.Paused.Observe
	slices.Sort(out.Unreadable)
	return out
}

// rollout reads what a pool says about drift. What cannot be read holds drift: it was to make it slower.
func (p *Pause) rollout(notes map[string]string) {
	p.Rollout = Rollout{Canary: strings.TrimSpace(notes[AnnotationDriftCanary]), Soak: DefaultSoak}
	bad := func(key string) {
		p.Drift = true
		p.Unreadable = append(p.Unreadable, key+": "+notes[key])
	}
	share, percent := strings.CutSuffix(p.Rollout.Canary, "%")
	n, err := strconv.Atoi(share)
	if p.Rollout.Canary != "" && (err != nil || n < 0 || percent && n > 100) {
		bad(AnnotationDriftCanary)
	}
	for key, at := range map[string]*time.Duration{AnnotationDriftMinAge: &p.Rollout.MinAge, AnnotationDriftSoak: &p.Rollout.Soak} {
		text := strings.TrimSpace(notes[key])
		if text == "" {
			continue
		}
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 {
			bad(key)
			continue
		}
		*at = d
	}
}

// Anything reports whether something is on hold.
func (p Pause) Anything() bool { return p.Provisioning || p.Disruption || p.Drift || p.Observe }

// Words lists what is on hold, as people write it.
func (p Pause) Words() []string {
	var out []string
	for _, x := range []struct {
		held bool
		word string
	}{{p.Provisioning, PauseProvisioning}, {p.Disruption, PauseDisruption}, {p.Drift, PauseDrift}} {
		if x.held {
			out = append(out, x.word)
		}
	}
	return out
}
