package simulate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/karpenter-aks/karpenter/internal/mutated"
)

// awkward are values that look like the structure of a file when they stand in a text over several lines.
func awkward() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{"plain", "- dash", "---", "...", "items:", "# no comment", "a: b", "kind: List", "two\nlines",
		"- x\n- y\n", "---\n---\n", "items:\n- a\n", "trailing \n\n", "\ttab", "{", "[1, 2", "yes", "2026-05-01T12:00:00Z", "0x1F", "“quoted”", ""})
}

func someObject(t *rapid.T, i int) map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{"name": fmt.Sprintf("p%d", i), "annotations": map[string]any{
			awkward().Draw(t, "key") + "x": awkward().Draw(t, "value"), "z": awkward().Draw(t, "other")}},
		"spec": map[string]any{"containers": []any{map[string]any{"name": "a", "args": []any{awkward().Draw(t, "arg"), awkward().Draw(t, "arg")}}}},
	}
}

// objectsOf is what splitting a file gives, as JSON, object by object.
func objectsOf(t *rapid.T, f File) []string {
	var out []string
	add := func(text []byte) {
		var v any
		if err := json.Unmarshal(text, &v); err != nil {
			t.Fatalf("%s: %v in %q", f.Name, err, text)
		}
		clean, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(clean))
	}
	if formatOf(f) == asJSON {
		for _, p := range jsonItems(f.Text) {
			add(p.raw)
		}
		return out
	}
	for _, d := range documents(f) {
		chunks, frame := items(d)
		if frame.file != "" && bytes.Count(frame.text, []byte{'\n'}) != bytes.Count(d.text, []byte{'\n'}) {
			t.Fatalf("%s: the frame has not the lines of the document:\n%s", f.Name, frame.text)
		}
		for _, c := range chunks {
			text, err := yaml.YAMLToJSONStrict(c.yaml())
			if err != nil {
				t.Fatalf("%s: %v in\n%s", f.Name, err, c.text)
			}
			add(text)
			// The chunk says where it begins.
			line := strings.Split(string(f.Text), "\n")[c.line-1]
			if first := strings.Split(string(c.text), "\n")[0]; strings.TrimLeft(line, "- ") != strings.TrimLeft(first, "- ") {
				t.Fatalf("%s: a chunk says it begins in line %d, %q, but begins with %q", f.Name, c.line, line, first)
			}
		}
	}
	return out
}

// TestHoweverItIsWrittenItIsTheSame writes the same objects as a list and as documents, in YAML and in JSON.
func TestHoweverItIsWrittenItIsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var objects []any
		var want []string
		var documents bytes.Buffer
		for i := range rapid.IntRange(1, 5).Draw(t, "n") {
			o := someObject(t, i)
			objects = append(objects, o)
			text, err := json.Marshal(o)
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, string(text))
			doc, err := yaml.Marshal(o)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&documents, "---\n%s", doc)
		}
		list := map[string]any{"apiVersion": "v1", "kind": "List", "metadata": map[string]any{"resourceVersion": ""}, "items": objects}
		asList, err := yaml.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		asObject, err := json.MarshalIndent(list, "", rapid.SampledFrom([]string{"", "  "}).Draw(t, "indent"))
		if err != nil {
			t.Fatal(err)
		}
		indented := strings.ReplaceAll(string(asList), "\n", "\n  ") // a list whose items are indented, too
		for _, f := range []File{
			{Name: "list.yaml", Text: asList}, {Name: "documents.yaml", Text: documents.Bytes()}, {Name: "list.json", Text: asObject}, {Name: "stdin", Text: asObject},
			{Name: "indented.yaml", Text: []byte(strings.TrimSuffix(strings.ReplaceAll(strings.ReplaceAll(indented, "\n  kind: List", "\nkind: List"), "\n  metadata:\n    resourceVersion", "\nmetadata:\n  resourceVersion"), "  "))},
		} {
			if f.Name == "indented.yaml" {
				f.Text = []byte(strings.Replace(string(f.Text), "\n  items:", "\nitems:", 1))
			}
			if got := objectsOf(t, f); strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Fatalf("%s:\n%s\nread as\n%s\nwant\n%s", f.Name, f.Text, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
	})
}

const sound = `apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Node
  metadata: {name: n1, labels: {topology.kubernetes.io/zone: "1"}}
  status:
    capacity: {cpu: "4", memory: 16Gi, pods: "110"}
    allocatable: {cpu: "4", memory: 16Gi, pods: "110"}
    conditions:
    - {type: Ready, status: "True"}
- apiVersion: v1
  kind: Pod
  metadata: {name: web, namespace: shop}
  spec:
    containers:
    - name: web
      resources:
        requests: {cpu: 500m, memory: 1Gi}
- apiVersion: karpenter.sh/v1
  kind: NodePool
  metadata:
    name: general
  spec:
    weight: 10
    limits: {cpu: "100"}
    template:
      spec:
        nodeClassRef: {group: karpenter.azure.com, kind: AKSNodeClass, name: default}
        expireAfter: 720h
        requirements:
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
- apiVersion: policy/v1
  kind: PodDisruptionBudget
  metadata: {name: web, namespace: shop}
  spec:
    maxUnavailable: 1
    selector: {matchLabels: {app: web}}
`

const soundText = `type D4 cpu=4 memory=16Gi zones=1,2 price=0.20 spot=0.05
pool general weight=3 limit.cpu=10 taint=a=b:NoSchedule req=kubernetes.io/arch:In:amd64
node n1 pool=general type=D4 zone=1 cpu=4 memory=16Gi initialized
claim c1 pool=general is=Launched created=10m
daemon cilium cpu=100m
pod web x3 cpu=500m memory=1Gi tolerate=a=b:NoSchedule affinity=kubernetes.io/arch:In:amd64
pdb web allowed=1 pods=default/web-0
`

// TestNoInputIsTooStrange spoils sound files at random: what comes back is a world, or problems with lines of the file.
func TestNoInputIsTooStrange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"dump.yaml", "world.txt", "stdin", "dump.json"}).Draw(t, "name")
		text := sound
		if name == "world.txt" || name == "stdin" && rapid.Bool().Draw(t, "text") {
			text = soundText
		}
		if name == "dump.json" {
			j, err := yaml.YAMLToJSON([]byte(sound))
			if err != nil {
				t.Fatal(err)
			}
			text = string(j)
		}
		b := []byte(text)
		for range rapid.IntRange(0, 4).Draw(t, "spoils") {
			at := rapid.IntRange(0, len(b)).Draw(t, "at")
			switch rapid.IntRange(0, 3).Draw(t, "how") {
			case 0: // put something in
				b = append(b[:at:at], append([]byte(rapid.SampledFrom([]string{"x", ":", "\n", "- ", "{", "}", "\x00", "\xff", "---\n", "&a ", "*a", "!!int ", "🐙", "1e999", "\t"}).Draw(t, "what")), b[at:]...)...)
			case 1: // take something out
				b = append(b[:at:at], b[min(len(b), at+rapid.IntRange(1, 30).Draw(t, "length")):]...)
			case 2: // cut it off
				b = b[:at]
			case 3: // say a piece twice
				b = append(b[:at:at], append(bytes.Clone(b[max(0, at-40):at]), b[at:]...)...)
			}
		}
		in, err := read([]File{{Name: name, Text: b}})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range in.problems {
			if last := bytes.Count(b, []byte{'\n'}) + 1; p.File != name || p.Line > last+1 || p.Line < 1 && len(bytes.TrimSpace(b)) > 0 || p.What == "" {
				t.Fatalf("problem %+v in a file of %d lines", p, last)
			}
		}
		if len(in.problems) == 0 {
			in.world()
		}
	})
}

// TestTheOrderOfObjectsChangesNothing shuffles a dump.
func TestTheOrderOfObjectsChangesNothing(t *testing.T) {
	catalog := File{Name: "types.txt", Text: []byte("type D4 cpu=4 memory=16Gi zones=1,2 price=0.20 spot=0.05\ntype D8 cpu=8 memory=32Gi zones=1,2 price=0.40\n")}
	var lines []string
	for i := range 30 {
		lines = append(lines, fmt.Sprintf("pod web-%d ns=shop%d cpu=%dm memory=%dMi", i, i%3, 100+i*90, 200+i*300))
	}
	lines = append(lines, "pool a", "pool b weight=5 limit.cpu=12", "daemon d cpu=100m", "pod huge cpu=99")
	answer := func(order []int) string {
		var b strings.Builder
		for _, i := range order {
			b.WriteString(lines[i] + "\n")
		}
		q, err := Read(t.Context(), Options{Files: []File{{Name: "world.txt", Text: []byte(b.String())}}, Catalog: catalog})
		if err != nil {
			t.Fatal(err)
		}
		a, err := Decide(q)
		if err != nil {
			t.Fatal(err)
		}
		text, err := a.JSON()
		if err != nil {
			t.Fatal(err)
		}
		return a.Text(false) + a.Text(true) + string(text)
	}
	random := rand.New(rand.NewPCG(1, 2))
	order := random.Perm(len(lines))
	want := answer(order)
	if !strings.Contains(want, "1 pod left over") {
		t.Fatalf("the huge pod found a place:\n%s", want)
	}
	for range 5 {
		random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		if got := answer(order); got != want {
			t.Fatalf("order %v gives\n%s\nwant\n%s", order, got, want)
		}
	}
}

func TestEveryProposedFieldIsOne(t *testing.T) {
	lines := []string{"class a", "type a zones=1 price=1", "pool a", "node a cpu=1", "claim a", "pod a", "daemon a", "pdb a"}
	values := []string{"", "=1", "=a=b:NoSchedule", "=a:In:b", "=1h", "=TCP/80", "=80", "=zone:1:app=web", "=zone:app=web", "=1:a:In:b", "=1:zone:app=web", "=a:b:c:In:d", "=default/a"}
	for _, f := range fieldWords() {
		known := false
		for _, l := range lines {
			for _, v := range values {
				in, err := read([]File{{Name: "a.txt", Text: []byte(l + " " + f + v + "\n")}})
				if err != nil {
					t.Fatal(err)
				}
				known = known || len(in.problems) == 0
			}
		}
		if !known {
			t.Errorf("no line may have a field %q", f)
		}
	}
}

func TestProblemsOfManyLinesAreCounted(t *testing.T) {
	_, err := Read(t.Context(), Options{Files: []File{{Name: "a.txt", Text: []byte(strings.Repeat("nonsense here\n", 100))}}})
	if err == nil || !strings.Contains(err.Error(), "100 problems") || !strings.HasSuffix(err.Error(), "and 60 more") {
		t.Errorf("got %v", err)
	}
}

// TestListsAreFoundAsTheDecoderFindsThem takes lists apart by their brackets: the items are those of the decoder, byte for byte,
// or the text is left to the decoder.
func TestListsAreFoundAsTheDecoderFindsThem(t *testing.T) {
	for _, text := range append(mutated.Texts(3000, lists...), lists...) {
		parts, ok := soundList([]byte(text))
		if !ok {
			continue
		}
		var want struct{ Items []json.RawMessage }
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			if !slices.ContainsFunc(parts, func(p jsonPart) bool { return !json.Valid(p.raw) }) {
				t.Errorf("%q is taken for sound: %v", text, err)
			}
			continue
		}
		if len(parts) != len(want.Items) {
			t.Errorf("%q: %d items, want %d", text, len(parts), len(want.Items))
			continue
		}
		for i, p := range parts {
			if string(p.raw) != string(want.Items[i]) || text[p.offset:int(p.offset)+len(p.raw)] != string(p.raw) {
				t.Errorf("%q: item %d is %q, want %q", text, i, p.raw, want.Items[i])
			}
		}
	}
	for _, text := range lists {
		if _, ok := soundList([]byte(text)); !ok {
			t.Errorf("%q is left to the decoder", text)
		}
	}
}

var lists = []string{
	`{"apiVersion":"v1","items":[{"a":"]}"},{"b":["x",{"c":"\\\""}]}],"kind":"List"}`,
	"{\n  \"kind\": \"List\",\n  \"items\": [ {} , [] , 3, \"x\" ]\n}\n",
	`{"metadata":{"items":[{"no":1}]},"x":"items","items":[{"kind":"Pod"}]}`,
}

// TestLargeListsAreNotCopied: a dump of a large cluster is a gigabyte, and is taken apart where it is.
func TestLargeListsAreNotCopied(t *testing.T) {
	item := `{"kind":"Pod","metadata":{"name":"a"},"spec":{"x":"` + strings.Repeat("y", 8000) + `"}}`
	text := []byte(`{"kind":"List","items":[` + strings.Repeat(item+",", 999) + item + `]}`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	parts, ok := soundList(text)
	runtime.ReadMemStats(&after)
	if !ok || len(parts) != 1000 {
		t.Fatalf("%d items, %t", len(parts), ok)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > uint64(len(text))/10 {
		t.Errorf("%d bytes for a text of %d", took, len(text))
	}
}
