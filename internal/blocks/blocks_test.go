package blocks_test

import (
	"bytes"
	"os"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/karpenter-aks/karpenter/internal/blocks"
	"github.com/karpenter-aks/karpenter/internal/mutated"
)

// asKubectlWrites is read from a file, so that nobody's editor changes a blank in it.
func asKubectlWrites(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile("testdata/pod.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// others are ways to write that kubectl does not have, and scalars that mean something else than
// they look like.
func others() []string {
	return []string{
		"a: 1\nb: yes\nc: ~\nd: null\ne: 0x1f\nf: 010\ng: 1_000\nh: 1:20\ni: .inf\nj: 2026-01-02\n",
		"1: a\ntrue: b\nnull: c\ny: d\n1.5: e\n", "b: 1\na: 2\nB: 3\nb2: 4\nb10: 5\n",
		"a: 1\na: 2\n", "a:\n- b\n- c: 1\n  d: 2\n- - e\n", "a:\n  - b\n  -\n    c: 1\n",
		"a:\nb:\n  c:\n", "- a\n- b\n", "a: |\n  b\n   c\n\n  d\ne: >-\n  f\n  g\n",
		"a: \"b\n  c\"\nd: 'e\n\n  f'\n", "a: b\n  c\n  d\ne: f\n", "a: # b\n- c\n",
		"a: b # c\n", "a: 'it''s'\nb: \"\\u00e4\"\n", "a: &x b\nc: *x\n", "a: !!str 5\n",
		"a: {b: c}\nd: [e]\nf: {}\ng: []\n", "? a\n: b\n", "a : b\n", "a:  b\n",
		"a: b: c\n", "a:\tb\n", "a: <b>&c\nd: \"e<f\"\n", "<<: {a: b}\n", "a: %b\n",
		"a: - b\n", "a: foo:\n", "a: >2\n   b\n",
		"a: 12345678-1234-1234-1234-123456789012\nb: 10.0.0.1\nc: 1.2.3\nd: '5'\ne: \"\"\n",
		"a:\n  b: 1\n c: 2\n", "a:\n   b: 1\n  c: 2\n", "a: |+\n  b\n\n",
		"  a: 1\n  b: 2\n", "a: 1\n b: 2\n",
		"a: falsey\nb: nullnull\nc: f\nd: N\ne: on\nf: Off\n",
		"a: ''\nb: '#'\nc: x#y\nd: x #y\n",
	}
}

// agrees has the library read the text, too. It returns whether this package did.
func agrees(t testing.TB, r *blocks.Reader, text string) bool {
	t.Helper()
	got, ok := r.JSON([]byte(text))
	if !ok {
		return false
	}
	want, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		t.Errorf("%q is read as %s, and the library says: %v", text, got, err)
	} else if !bytes.Equal(got, want) {
		t.Errorf("%q\n is read as %s\nthe library: %s", text, got, want)
	}
	return true
}

// What kubectl writes is read here, and as the library reads it; so is what is hidden in it by
// thousands of changes, or it is left to the library.
func TestTheLibraryReadsTheSame(t *testing.T) {
	text := asKubectlWrites(t)
	var r blocks.Reader
	if !agrees(t, &r, text) {
		t.Error("what kubectl writes is left to the library")
	}
	read := 0
	for _, x := range append(mutated.Texts(20_000, append(others(), text)...), others()...) {
		if agrees(t, &r, x) {
			read++
		}
		if t.Failed() {
			return
		}
	}
	if read < 1000 {
		t.Errorf("only %d of the changed texts are read: nothing is compared", read)
	}
}

func FuzzTheLibraryReadsTheSame(f *testing.F) {
	mutated.Add(f, 100, append(others(), asKubectlWrites(f))...)
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) < 4096 {
			agrees(t, new(blocks.Reader), text)
		}
	})
}

func BenchmarkPod(b *testing.B) {
	text := []byte(asKubectlWrites(b))
	b.Run("blocks", func(b *testing.B) {
		var r blocks.Reader
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			r.JSON(text)
		}
	})
	b.Run("library", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			if _, err := yaml.YAMLToJSONStrict(text); err != nil {
				b.Fatal(err)
			}
		}
	})
}
