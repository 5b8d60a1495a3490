package convert

import (
	"bytes"
	"strings"
	"testing"

	"github.com/karpenter-aks/karpenter/internal/mutated"
)

// seeds are inputs from which the fuzzer starts.
var seeds = []string{
	"",
	"---\n---\n",
	"apiVersion: karpenter.sh/v1beta1\nkind: NodePool\nmetadata: {name: a}\nspec: {template: {spec: {nodeClassRef: {name: default}}}}\n",
	"apiVersion: karpenter.sh/v1beta1\nkind: NodePool\nspec:\n  template:\n    spec:\n      kubelet: {maxPods: 5}\n      nodeClassRef: {name: c}\n---\napiVersion: karpenter.azure.com/v1alpha2\nkind: AKSNodeClass\nmetadata: {name: c}\n",
	"kind: List\nitems: [{kind: List, items: [{apiVersion: karpenter.sh/v1beta1, kind: NodePool, spec: {disruption: {consolidationPolicy: WhenEmpty}, template: {spec: {}}}}]}]\n",
	`{"apiVersion":"karpenter.sh/v1beta1","kind":"NodePool","spec":{"template":{"spec":{"resources":{"cpu":1}}},"disruption":{"expireAfter":"Never"}}}`,
	"a: &x {b: *x}\n",
	"a: [\n",
	"\xff\xfe",
}

// Whatever comes in, the answer is a result or a list of problems; a result needs no second conversion.
func FuzzFiles(f *testing.F) {
	mutated.AddBytes(f, 500, seeds...)
	f.Fuzz(func(t *testing.T, text []byte) {
		once, err := Files([]Input{{"in.yaml", text}})
		if err != nil {
			if strings.TrimSpace(err.Error()) == "" {
				t.Fatal("an error without words")
			}
			return
		}
		twice, err := Files([]Input{{"in.yaml", once.Text}})
		if err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, once.Text)
		}
		if twice.Changed != 0 || !bytes.Equal(twice.Text, once.Text) {
			t.Fatalf("the second conversion changed %d objects\nonce:\n%s\ntwice:\n%s", twice.Changed, once.Text, twice.Text)
		}
	})
}

// Two NodePools that ask the same class for different settings are told so, with both places.
func TestPoolsThatDisagreeNeedTwoClasses(t *testing.T) {
	pool := func(name, pods string) string {
		return "---\napiVersion: karpenter.sh/v1beta1\nkind: NodePool\nmetadata: {name: " + name + "}\nspec: {template: {spec: {kubelet: {maxPods: " + pods + "}, nodeClassRef: {name: c}}}}\n"
	}
	class := "---\napiVersion: karpenter.azure.com/v1alpha2\nkind: AKSNodeClass\nmetadata: {name: c}\n"
	if out, err := Files([]Input{{"in.yaml", []byte(pool("a", "50") + pool("b", "50") + class)}}); err != nil || strings.Count(string(out.Text), "maxPods: 50") != 1 {
		t.Errorf("those that agree: %v\n%s", err, out.Text)
	}
	_, err := Files([]Input{{"in.yaml", []byte(pool("a", "50") + pool("b", "60") + class)}})
	if err == nil || !strings.Contains(err.Error(), "in.yaml:10: NodePool b") || !strings.Contains(err.Error(), "two classes") {
		t.Errorf("those that differ: %v", err)
	}
}

// What nobody wrote by hand is not read, and that is said; each document counts, however it ends.
func TestFilesAreBounded(t *testing.T) {
	for text, want := range map[string]string{
		strings.Repeat("# x\n", MaxFile/4+1):          "in.yaml:1: it is larger than 16 MiB",
		strings.Repeat("---\na: b\n", maxDocuments+1): "in.yaml:20001: there are more than 10000 documents",
	} {
		if _, err := Files([]Input{{"in.yaml", []byte(text)}}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.300v, want %s", err, want)
		}
	}
	pool := "apiVersion: karpenter.sh/v1beta1\nkind: NodePool\nmetadata: {name: a}\nspec: {template: {spec: {nodeClassRef: {name: c}}}}\n"
	out, err := Files([]Input{{"in.yaml", []byte("a: 1\n...\n" + pool + "...\n%YAML 1.1\n---\nb: 2\n")}})
	if err != nil || out.Changed != 1 || !strings.Contains(string(out.Text), "karpenter.sh/v1\n") || !strings.Contains(string(out.Text), "b: 2") {
		t.Errorf("documents that end in three dots: %v, %d changed\n%s", err, out.Changed, out.Text)
	}
	if again, err := Files([]Input{{"in.yaml", out.Text}}); err != nil || !bytes.Equal(again.Text, out.Text) {
		t.Errorf("%v: read again\n%s\nit is\n%s", err, out.Text, again.Text)
	}
}
