package top

import (
	"cmp"
	"fmt"
	"slices"
)

const (
	// barWidth is how long the bars of rows are.
	barWidth = 10
	// leastName and mostName bound the column of names; leastLast is what the last column gets at least.
	leastName, mostName, leastLast = 16, 48, 12
	// mostNatural bounds the columns that are as wide as what stands in them.
	mostNatural = 24
)

// natural is how wide the longest name, pool, type and zone of the rows are. O(rows).
func (s *State) natural() (out [4]int) {
	for i := range s.rows {
		r := &s.rows[i]
		if out[0] = max(out[0], len(r.name)); r.event != nil {
			out[0] = max(out[0], len(r.event.Kind)+1+len(r.name))
		}
		if m := r.machine; m != nil {
			out[1], out[2] = max(out[1], len(m.pool)), max(out[2], len(m.typ))
			out[3] = max(out[3], len(m.zone))
		}
	}
	for i := 1; i < len(out); i++ {
		out[i] = min(max(out[i], 4), mostNatural)
	}
	return out
}

// columns are those of the screen that there is room for; nil for a screen of text. The first takes what its names need, the last
// what is left.
func (s *State) columns(width int) []column {
	var all []column
	switch s.shown().kind {
	case pools:
		all = ofPools()
	case nodes:
		all = s.ofNodes()
	case pods, pending:
		all = ofPods()
	case decisions:
		all = ofEvents()
	default:
		return nil
	}
	left := func() int {
		room := width - 2
		for _, c := range all {
			room -= c.width + 1
		}
		return room
	}
	all[0].width = min(max(s.widest[0], leastName), mostName)
	if width == whole {
		all[0].width = max(s.widest[0], leastName)
	}
	last := len(all) - 1
	all[last].width = leastLast
	for left() < 0 && len(all) > 2 {
		if all[0].width > leastName {
			all[0].width = max(leastName, all[0].width+left())
			continue
		}
		worst := slices.MaxFunc(all[1:last], func(a, b column) int {
			return cmp.Compare(a.rank, b.rank)
		}).rank
		all = slices.DeleteFunc(all, func(c column) bool { return c.rank == worst })
		last = len(all) - 1
	}
	all[last].width = max(all[last].width+left(), 0)
	return all
}

func number(n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

// filled are two columns: a share as a number, and as a bar.
func filled(title string, rank int, of func(row) (used, most int64)) []column {
	return []column{
		{title: title, width: 4, rank: rank, right: true,
			cell: func(_ *Picture, _ look, r row) (string, style) {
				used, most := of(r)
				if most <= 0 {
					return "-", faint
				}
				return fmt.Sprintf("%d%%", percent(used, most)), plain
			}},
		{title: "", width: barWidth, rank: rank + 10,
			cell: func(_ *Picture, l look, r row) (string, style) {
				used, most := of(r)
				if most <= 0 {
					return "", faint
				}
				return l.bar(percent(used, most), barWidth), news
			}},
	}
}

func text(title string, width, rank int, of func(row) string) column {
	return column{title: title, width: width, rank: rank,
		cell: func(_ *Picture, _ look, r row) (string, style) { return of(r), plain }}
}

func rightText(title string, width, rank int, of func(row) string) column {
	c := text(title, width, rank, of)
	c.right = true
	return c
}

func (s state) String() string {
	if s.sign == "" {
		return s.word
	}
	return s.sign + " " + s.word
}

func ofPools() []column {
	out := []column{text("POOL", 0, 0, func(r row) string { return r.name }),
		rightText("NODES", 5, 1, func(r row) string { return number(r.pool.machines) })}
	out = append(out, filled("CPU", 4, func(r row) (int64, int64) {
		return r.pool.used.CPU, r.pool.allocatable.CPU
	})...)
	out = append(out, filled("MEM", 5, func(r row) (int64, int64) {
		return r.pool.used.Memory, r.pool.allocatable.Memory
	})...)
	return append(out,
		rightText("PODS", 5, 3, func(r row) string { return number(r.pool.pods) }),
		rightText("$/H", 9, 2, func(r row) string {
			known := r.pool.unpriced < r.pool.machines || r.pool.machines == 0
			text := dollars(r.pool.price, known)
			if known && r.pool.unpriced > 0 {
				text += "+?"
			}
			return text
		}),
		text("OF LIMIT", 14, 6, func(r row) string {
			share, resource := r.pool.limits()
			if resource == "" {
				return "none"
			}
			return fmt.Sprintf("%d%% of %s", share, resource)
		}),
		column{title: "STATUS", cell: func(_ *Picture, _ look, r row) (string, style) {
			return r.pool.state.String(), r.pool.state.style
		}})
}

func (s *State) ofNodes() []column {
	field := func(of func(*machine) string) func(row) string {
		return func(r row) string { return of(r.machine) }
	}
	out := []column{text("NODE", 0, 0, func(r row) string { return r.name }),
		text("POOL", s.widest[1], 6, field(func(m *machine) string { return m.pool })),
		text("TYPE", s.widest[2], 7, field(func(m *machine) string { return m.typ })),
		text("ZONE", s.widest[3], 9, field(func(m *machine) string { return m.zone })),
		text("BUY", 9, 10, field(func(m *machine) string { return m.buying }))}
	out = append(out, filled("CPU", 2, func(r row) (int64, int64) {
		return r.machine.used.CPU, r.machine.allocatable.CPU
	})...)
	out = append(out, filled("MEM", 3, func(r row) (int64, int64) {
		return r.machine.used.Memory, r.machine.allocatable.Memory
	})...)
	return append(out,
		rightText("PODS", 4, 5, field(func(m *machine) string { return number(m.pods) })),
		rightText("$/H", 8, 1, field(func(m *machine) string {
			return dollars(m.price, m.priced)
		})),
		column{title: "AGE", width: 4, rank: 8, right: true,
			cell: func(p *Picture, _ look, r row) (string, style) {
				return age(r.machine.created, p.Now), plain
			}},
		column{title: "STATUS", width: 12, rank: 4,
			cell: func(_ *Picture, _ look, r row) (string, style) {
				return r.machine.state.String(), r.machine.state.style
			}},
		column{title: "BLOCKERS", cell: func(p *Picture, _ look, r row) (string, style) {
			return p.blockers(r.machine), attention
		}})
}

func ofPods() []column {
	return []column{text("POD", 0, 0, func(r row) string { return r.name }),
		rightText("CPU", 6, 1, func(r row) string { return cores(r.pod.Requests.CPU) }),
		rightText("MEMORY", 7, 2, func(r row) string { return bytes10(r.pod.Requests.Memory) }),
		column{title: "AGE", width: 4, rank: 3, right: true,
			cell: func(p *Picture, _ look, r row) (string, style) {
				return age(r.pod.Created, p.Now), plain
			}},
		column{title: "STATUS", cell: func(p *Picture, _ look, r row) (string, style) {
			x := p.ofPod(r.pod)
			return x.String(), x.style
		}}}
}

func ofEvents() []column {
	return []column{text("ABOUT", 0, 0, func(r row) string { return r.event.Kind + " " + r.name }),
		column{title: "AGE", width: 4, rank: 1, right: true,
			cell: func(p *Picture, _ look, r row) (string, style) {
				return age(r.event.At, p.Now), plain
			}},
		column{title: "REASON", width: 22, rank: 2,
			cell: func(_ *Picture, _ look, r row) (string, style) {
				if r.event.Warning {
					return "! " + r.event.Reason, attention
				}
				return r.event.Reason, news
			}},
		text("WHAT", 0, 3, func(r row) string { return r.event.Message })}
}
