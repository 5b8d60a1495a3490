package planned

import (
	"slices"
	"strings"
	"testing"

	"github.com/karpenter-aks/karpenter/internal/mutated"
	"github.com/karpenter-aks/karpenter/model"
)

// FuzzPods reads any list of planned pods, writes it and reads it again: it stays as long as it has room, and it is short enough
// for an annotation. What is no namespace/name is left out, and nothing else.
func FuzzPods(f *testing.F) {
	seeds := []string{"", "d/a", "d/a,d/b", "d/a,,x", "/", "a/b/c",
		strings.Repeat("d/a,", 20000),
		" d/a , d/b"}
	mutated.Add(f, 500, seeds...)
	f.Fuzz(func(t *testing.T, text string) {
		read := func(s string) []model.PodKey {
			return Pods(model.Claim{Annotations: map[string]string{Annotation: s}})
		}
		pods := read(text)
		named := 0
		for _, s := range strings.Split(text, ",") {
			if strings.Contains(s, "/") {
				named++
			}
		}
		if len(pods) != named {
			t.Errorf("%q names %d pods, %d were read", text, named, len(pods))
		}
		written := Text(pods)
		if len(written) > maxAnnotation {
			t.Fatalf("%d bytes were written", len(written))
		}
		again := read(written)
		if len(again) > len(pods) || !slices.Equal(again, pods[:len(again)]) {
			t.Fatalf("%q reads back as %v", written, again)
		}
		if rest := pods[len(again):]; len(rest) > 0 &&
			len(written)+len(rest[0].String())+1 < maxAnnotation {
			t.Errorf("%q has room for %s", written, rest[0])
		}
	})
}
