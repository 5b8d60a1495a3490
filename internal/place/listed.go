package place

import (
	"fmt"
	"strings"
)

// maxListed bounds how many names a line of the trace holds.
const maxListed = 4

// listed names the first few, and says how many more there are.
func listed(names []string) string {
	if more := len(names) - maxListed; more > 0 {
		return fmt.Sprintf("%s; and %d more", strings.Join(names[:maxListed], "; "), more)
	}
	return strings.Join(names, "; ")
}
