package ship

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Changes writes a list of changes from the subjects of commits, newest first, as "area: what". They are
// gathered by area; a subject without one is under "more".
func Changes(version string, when time.Time, subjects []string) []byte {
	by := map[string][]string{}
	for _, s := range subjects {
		area, what, ok := strings.Cut(s, ": ")
		if !ok || strings.Contains(area, "\"") || len(area) > 40 {
			area, what = "more", s
		}
		by[area] = append(by[area], what)
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "# %s, %s\n", version, when.UTC().Format(time.DateOnly))
	areas := slices.SortedFunc(maps.Keys(by), func(a, b string) int {
		if (a == "more") != (b == "more") {
			return map[bool]int{true: 1, false: -1}[a == "more"]
		}
		return strings.Compare(a, b)
	})
	for _, area := range areas {
		fmt.Fprintf(&out, "\n## %s\n\n", area)
		for _, what := range by[area] {
			fmt.Fprintf(&out, "- %s\n", what)
		}
	}
	return out.Bytes()
}
