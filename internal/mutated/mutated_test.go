package mutated_test

import (
	"slices"
	"testing"

	"github.com/karpenter-aks/karpenter/internal/mutated"
)

// TestTextsAreTheSameOnEveryRun: a change is judged by the same input wherever it is judged; and nearly no text is a seed again.
func TestTextsAreTheSameOnEveryRun(t *testing.T) {
	seeds := []string{"", "pod web cpu=1", "a: 1\n---\nb: 2\n"}
	texts := mutated.Texts(1000, seeds...)
	if len(texts) != 1000 || !slices.Equal(texts, mutated.Texts(1000, seeds...)) {
		t.Fatal("the same arguments gave other texts")
	}
	different := map[string]bool{}
	for _, s := range texts {
		if !slices.Contains(seeds, s) {
			different[s] = true
		}
		if len(s) > 4096 {
			t.Errorf("a text of %d bytes", len(s))
		}
	}
	if len(different) < 600 {
		t.Errorf("only %d different texts", len(different))
	}
}
