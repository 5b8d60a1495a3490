package simulate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/karpenter-aks/karpenter/internal/letin"
	"github.com/karpenter-aks/karpenter/internal/place"
	"github.com/karpenter-aks/karpenter/model"
)

// WaysIn asks the engine which one change would let a pod in that the plan has no place for. The error is *Panicked.
func (a Answer) WaysIn(key model.PodKey) (out letin.Answer, err error) {
	defer panicked(&err)
	return letin.Find(letin.Input{Pod: key, Plan: a.Plan,
		Place: place.Input{World: a.World, Preferences: a.preferences, MinValues: a.minValues}}), nil
}

// remedies says what may be done about each reason for which a pod is left over, each once.
func (a Answer) remedies(b *strings.Builder, l place.Unscheduled) {
	var told []model.Why
	for _, why := range append([]model.Why{l.Why}, refusedFor(l)...) {
		if r := why.Remedy(); r != "" && !slices.Contains(told, why) {
			told = append(told, why)
			fmt.Fprintf(b, "  about %s: %s\n", why, r)
		}
	}
}

func refusedFor(l place.Unscheduled) (out []model.Why) {
	for _, r := range l.Refusals {
		out = append(out, r.Why)
	}
	return out
}

// waysIn prints them, the cheapest first.
func (a Answer) waysIn(b *strings.Builder, key model.PodKey) {
	x, err := a.WaysIn(key)
	if err != nil {
		fmt.Fprintf(b, "  what would let it in is not known: %s\n", err)
		return
	}
	if len(x.Ways) == 0 {
		fmt.Fprintf(b, "  no one change lets it in: %s\n", triedText(x))
		return
	}
	for i, w := range x.Ways {
		word := "or"
		if i == 0 {
			word = "the cheapest change"
		}
		fmt.Fprintf(b, "  %s: %s, %s: from %s to %s\n      then %s\n", word, w.Object, w.Field, w.From, w.To, a.wayText(w))
	}
	fmt.Fprintf(b, "  %s\n", triedText(x))
}

func triedText(x letin.Answer) string {
	s := fmt.Sprintf("%s tried, by asking the engine %s", model.Count(x.Tried, "change"), often(x.Questions))
	if x.Cut {
		s += "; there are more, which were not"
	}
	return s
}

// often says how often.
func often(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func (a Answer) wayText(w letin.Way) string {
	s := ""
	switch {
	case w.Node != "":
		s = "it fits on node " + w.Node + ", which is paid for"
	case w.Claim != "":
		s = "it fits on claim " + w.Claim + ", which is paid for"
	default:
		s = fmt.Sprintf("it gets %s for pool %s, %s", w.Offering, w.Pool, w.Price)
		if w.With > 0 {
			s += ", with " + model.Count(w.With, "other pod")
		}
	}
	if w.Also > 0 {
		s += "; " + model.Count(w.Also, "other pod") + " that had no place, too"
	}
	if w.More != w.Price {
		s += "; the plan costs " + moreText(w.More)
	}
	return s
}

func moreText(p model.Price) string {
	switch {
	case p < 0:
		return (-p).String() + " less"
	case p == 0:
		return "no more"
	}
	return p.String() + " more"
}
