package observe

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every metric that nobody knows from elsewhere stands in the document about them, and nothing else stands there.
func TestOwnMetricsAreInTheDocument(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "observability.md"))
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("metrics.go")
	if err != nil {
		t.Fatal(err)
	}
	own := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?:counter|gauge|histogram)\("(\w+)", "(\w+)", "[^"]*\(only here\)`).FindAllStringSubmatch(string(source), -1) {
		own["karpenter_"+m[1]+"_"+m[2]] = true
	}
	if len(own) < 6 {
		t.Fatalf("only %d were found in the source: %v", len(own), own)
	}
	for name := range own {
		if !strings.Contains(string(page), "| `"+name+"` |") {
			t.Errorf("%s is not in the document", name)
		}
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `(karpenter_\\w+)`").FindAllStringSubmatch(string(page), -1) {
		if !own[m[1]] {
			t.Errorf("%s is in the document, and no metric of our own", m[1])
		}
	}
}
