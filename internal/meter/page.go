package meter

import (
	"fmt"
	"slices"
	"strings"
)

// Page writes the tables as a page of the manual.
func Page() string {
	var b strings.Builder
	b.WriteString(pageHead)
	b.WriteString("\n## Metrics\n\n| metric | type | labels | from | what it says |\n" +
		"|---|---|---|---|---|\n")
	all := slices.Concat(Counted(), Seen())
	slices.SortStableFunc(all, func(a, b Metric) int { return strings.Compare(a.Name, b.Name) })
	for _, m := range all {
		help := m.Help
		if m.Unit != "" {
			help += " In " + m.Unit + "."
		}
		if m.Own {
			help += " Only here."
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", m.Name, m.Kind, labels(m.Names()),
			m.Profile, help)
	}
	for _, l := range Libraries() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s Counted by %s. |\n", l.Name, l.Kind,
			labels(strings.Fields(l.Labels)), l.Profile, l.Help, l.From)
	}
	b.WriteString("\n" + nodeNote)
	for i, l := range nodeLabels() {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString("`" + l[1] + "`")
	}
	b.WriteString(".\n")
	b.WriteString("\n## What there is not\n\n| what | why |\n|---|---|\n")
	for _, x := range Without() {
		fmt.Fprintf(&b, "| %s | %s |\n", ticked(x.Names), x.Why)
	}
	events(&b)
	return b.String()
}

// events writes the tables of events and conditions.
func events(b *strings.Builder) {
	b.WriteString("\n## Events\n\nEvents of objects without a namespace are in the namespace " +
		"default.\n\n" +
		"| reason | type | on | when |\n|---|---|---|---|\n")
	list := Events()
	slices.SortStableFunc(list, func(x, y Event) int { return strings.Compare(x.Reason, y.Reason) })
	for _, e := range list {
		when := e.When
		if e.Own {
			when += " (only here)"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", e.Reason, e.Type, strings.Join(e.On, ", "+
			""), when)
	}
	b.WriteString("\n## Conditions\n\nThey stand in the order in which they became what they " +
		"are, Ready last.\n\n| on | condition | when it is True |\n|---|---|---|\n")
	for _, c := range Conditions() {
		says := c.Says
		if c.Own {
			says += " (only here)"
		}
		fmt.Fprintf(b, "| %s | `%s` | %s |\n", c.On, c.Type, says)
	}
}

const pageHead = `# Metrics

This page is written from the tables of internal/meter by "make generate". What each addition of
ours is for, and what to do about it, says [observability.md](observability.md).

How much is served is the flag --metrics-profile (METRICS_PROFILE; in the chart
controller.metrics.profile): lean, standard (unless told otherwise) or full. Each has all of those
before; the column *from* names the first that has a metric.

| profile | of each node | of each pod | resources of nodes | namespaces of pods |
|---|---|---|---|---|
| lean | 6 series | none | cpu, memory | not told apart |
| standard | about 35 | none; ages of the 100 that wait longest | and pods | the 50 with most pods |
| full | 50 and more | 1 | all | all |

--disable-cluster-state-observability leaves out what is about the cluster's objects as they are:
nodes, pods, limits, usage, cost, and conditions. Where several replicas run, the one that leads
tells.
`

const nodeNote = "Labels of *node* are `node_name`, `phase`, `managed`, and the last part of " +
	"these labels of " +
	"nodes, with `_` for `-`: "

func labels(names []string) string {
	node := strings.Fields(ofNode())
	out := []string{}
	if len(names) >= len(node) && slices.Equal(names[:len(node)], node) {
		out, names = append(out, "*node*"), names[len(node):]
	}
	for _, n := range names {
		out = append(out, "`"+n+"`")
	}
	return strings.Join(out, " ")
}

// ticked marks names, where a row has several, each.
func ticked(names string) string {
	if strings.Contains(names, " of ") {
		return names
	}
	return "`" + strings.ReplaceAll(names, ", ", "`, `") + "`"
}
