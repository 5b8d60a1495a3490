package manual

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/karpenter-aks/karpenter/internal/place"
)

var (
	more   = regexp.MustCompile(`leaves more (\d+), fewer (\d+)`)
	dearer = regexp.MustCompile(`dearer (\d+), cheaper \d+, ([+-][\d.]+) %`)
	beside = regexp.MustCompile(`(\d+) planned, (\d+) beside`)
)

// TestEveryMechanismEarnsItsPlace: the table of what mechanisms earn has a row for each of them, and none of
// which all cells say that plans are as good without it.
func TestEveryMechanismEarnsItsPlace(t *testing.T) {
	rows := ablations(t)
	whole := rows["nothing"]
	var want []string
	for _, m := range place.Mechanisms() {
		want = append(want, string(m))
		row, ok := rows[string(m)]
		switch {
		case !ok:
			t.Errorf("%s has no row: run make ablate", m)
		case len(row) != len(whole):
			t.Errorf("%s has %d cells, not %d", m, len(row), len(whole))
		case !slices.ContainsFunc(row, func(cell string) bool {
			return earns(t, cell, whole[len(whole)-1])
		}):
			t.Errorf("%s earns nothing in any world: it goes, or a kind of world is missing", m)
		}
	}
	for name := range rows {
		if name != "nothing" && !slices.Contains(want, name) {
			t.Errorf("there is a row for %q, and no such mechanism", name)
		}
	}
}

// TestWhatEarnsNothingIsSeen asks about cells as they are written.
func TestWhatEarnsNothingIsSeen(t *testing.T) {
	for cell, want := range map[string]bool{
		"× 1.29": false,
		"leaves more 2, fewer 0; dearer 2, cheaper 0, +0.213 %; × 1.02": true,
		"leaves more 1, fewer 1; × 1.02":                                false,
		"dearer 2, cheaper 2, -0.013 %; × 1.04":                         false,
		"dearer 2, cheaper 0, +0.000 %; × 0.96":                         false,
		"dearer 0, cheaper 1, -0.001 %; × 1.31":                         false,
		"dearer 1, cheaper 0, +0.004 %; × 1.02":                         true,
		"50 planned, 0 beside":                                          false,
		"50 planned, 6 beside":                                          true,
	} {
		if got := earns(t, cell, "50 planned, 0 beside"); got != want {
			t.Errorf("%q: %v, want %v", cell, got, want)
		}
	}
}

// earns reports whether a cell says that plans are worse without: more pods are left, they are dearer on average, or
// more machines are bought for what lands, beside those of the whole engine.
func earns(t *testing.T, cell, landed string) bool {
	t.Helper()
	if m := more.FindStringSubmatch(cell); m != nil && number(t, m[1]) > number(t, m[2]) {
		return true
	}
	if m := dearer.FindStringSubmatch(cell); m != nil && number(t, m[2]) > 0 {
		return true
	}
	m, whole := beside.FindStringSubmatch(cell), beside.FindStringSubmatch(landed)
	return m != nil && whole != nil &&
		number(t, m[1])+number(t, m[2]) > number(t, whole[1])+number(t, whole[2])
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// ablations are the cells of the table, by mechanism.
func ablations(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs", "engine.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(text), "<!-- begin: written by make ablate -->\n")
	table, _, ended := strings.Cut(table, "<!-- end -->")
	if !found || !ended {
		t.Fatal("docs/engine.md has no table of mechanisms")
	}
	rows := map[string][]string{}
	for _, line := range strings.Split(strings.TrimSpace(table), "\n")[2:] {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		rows[cells[0]] = cells[1:]
	}
	return rows
}
