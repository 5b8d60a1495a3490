package simulate

import (
	"cmp"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/karpenter-aks/karpenter/internal/palette"
	"github.com/karpenter-aks/karpenter/internal/place"
)

// Look is what a terminal shows of a table.
type Look struct {
	Colour bool
	// Width is how many columns the terminal has: longer rows of tables are cut. 0 = none is.
	Width int
}

// Table is Text for a terminal: what Text says line by line stands in columns, and is coloured if
// that is wished. Offerings that would do beside those that are bought are only counted.
func (a Answer) Table(l Look) string {
	s := &sheet{look: l}
	var b strings.Builder
	a.asked(&b)
	s.say(palette.Strong, b.String()+a.buyText())
	a.buyTable(s, a.Plan.NewClaims)
	a.fitTable(s)
	a.leftTable(s)
	b.Reset()
	a.static(&b, maxNamed, func(list []place.NewClaim) {
		s.say(palette.Strong, b.String())
		b.Reset()
		a.buyTable(s, list)
	})
	s.say(palette.Strong, b.String()+a.priceText())
	var rows [][]string
	for _, of := range a.sums() {
		for i, t := range of.list {
			if i == maxGroups {
				rows = append(rows, []string{of.by, fmt.Sprintf("and %d more", len(of.list)-i)})
				break
			}
			rows = append(rows, []string{of.by, t.Name, fmt.Sprint(t.Machines), t.Price.String()})
		}
	}
	s.table(palette.Plain, []string{"BY", "NAME", "MACHINES", "PRICE"}, rows)
	b.Reset()
	a.bounds(&b)
	s.say(palette.Plain, b.String())
	if len(a.WhatIf) > 0 {
		rows := a.whatIfRows()
		s.table(palette.Plain, []string{"WHAT IF", "MACHINES", "LEFT OVER", "PRICE", "CHANGE"}, rows[1:])
	}
	for _, n := range a.Notes {
		s.say(palette.Faint, "note: "+n+"\n")
	}
	return s.b.String()
}

func (a Answer) buyTable(s *sheet, list []place.NewClaim) {
	var rows [][]string
	more := ""
	for i, g := range together(list, false) {
		if i == maxGroups {
			more = moreKinds
			break
		}
		best := g.first.Options[0]
		row := []string{fmt.Sprint(g.n), best.Key.Type, cmp.Or(best.Key.Zone, "-"), best.Key.CapacityType,
			g.first.Pool, best.Price.String(), "-", "-", "-", some(sorted(g.pods), maxNamed)}
		if cpu, memory, ok := a.fill(g); ok {
			row[6], row[7] = fmt.Sprintf("%d%%", cpu), fmt.Sprintf("%d%%", memory)
		}
		if g.others {
			row[8] = fmt.Sprint(len(g.first.Options) - 1)
		}
		rows = append(rows, row)
	}
	s.table(palette.Plain, []string{"N", "TYPE", "ZONE", "BUY", "POOL", "EACH", "CPU", "MEM", "ELSE", "PODS"}, rows)
	s.say(palette.Faint, more)
}

func (a Answer) fitTable(s *sheet) {
	if len(a.Plan.Existing) == 0 {
		return
	}
	s.say(palette.Strong, a.fitsText())
	places, pods := a.places()
	var rows [][]string
	more := ""
	for i, where := range places {
		if i == maxGroups {
			more = moreNodes(len(places) - i)
			break
		}
		rows = append(rows, []string{where, some(sorted(pods[where]), maxNamed)})
	}
	s.table(palette.Plain, []string{"ON", "PODS"}, rows)
	s.say(palette.Faint, more)
}

func (a Answer) leftTable(s *sheet) {
	if len(a.Plan.Unscheduled) == 0 {
		return
	}
	s.say(palette.Bad, a.leftText())
	groups := a.unlucky()
	var rows [][]string
	more := ""
	for i, g := range groups {
		if i == maxGroups {
			more = moreReasons(len(groups) - i)
			break
		}
		names := some(g.pods, maxNamed)
		if g.first.Why != "" {
			rows = append(rows, []string{names, "-", string(g.first.Why), "-", g.first.Detail})
			names = ""
		}
		for _, r := range g.first.Refusals {
			rows = append(rows, []string{names, r.Pool, string(r.Why),
				fmt.Sprintf("%d of %d", removed(r), a.offerings(r.Pool)), r.Detail})
			names = ""
		}
	}
	s.table(palette.Attention, []string{"PODS", "POOL", "WHY", "REMOVED", "DETAIL"}, rows)
	s.say(palette.Faint, more)
}

// sheet is what is printed.
type sheet struct {
	look Look
	b    strings.Builder
}

// say prints whole lines.
func (s *sheet) say(t palette.Tone, text string) {
	for line := range strings.Lines(printable(text)) {
		s.line(t, strings.TrimSuffix(line, "\n"))
	}
}

func (s *sheet) line(t palette.Tone, text string) {
	if s.look.Colour {
		text = t.Paint(text)
	}
	s.b.WriteString(text + "\n")
}

// table prints rows below a head; nothing where there are none.
func (s *sheet) table(t palette.Tone, head []string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	as := palette.Heading
	for line := range strings.Lines(Aligned(append([][]string{head}, rows...))) {
		s.line(as, s.cut("  "+strings.TrimSuffix(line, "\n")))
		as = t
	}
}

// cut shortens a line to what the terminal has room for.
func (s *sheet) cut(line string) string {
	letters := []rune(line)
	if s.look.Width < 1 || len(letters) <= s.look.Width {
		return line
	}
	return string(letters[:s.look.Width-1]) + "…"
}

// Aligned writes rows with their columns below each other, a line each, and nothing behind the last word of a line.
func Aligned(rows [][]string) string {
	var table, out strings.Builder
	t := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		var cells []string
		for _, c := range row {
			cells = append(cells, printable(strings.ReplaceAll(c, "\n", " ")))
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	t.Flush() // a strings.Builder takes everything
	for line := range strings.Lines(table.String()) {
		out.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return out.String()
}
