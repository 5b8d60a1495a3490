package simulate

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/karpenter-aks/karpenter/internal/blocks"
)

// TestBlocksAreTakenInTheirOrder reads a list of several blocks, in which an object far behind takes the
// place of one at the beginning, as YAML and as JSON.
func TestBlocksAreTakenInTheirOrder(t *testing.T) {
	const n = 4*blockOf + 7
	files := manyPods(t, n, func(i int) (name, cpu string) {
		if i == n-3 {
			return "p5", "7"
		}
		return fmt.Sprintf("p%d", i), "1"
	})
	for _, f := range files {
		in, err := read([]File{f})
		if err != nil {
			t.Fatal(err)
		}
		if len(in.problems) > 0 {
			t.Fatalf("%s: %v", f.Name, in.problems)
		}
		pods := in.world().Pods
		if len(pods) != n-1 {
			t.Errorf("%s: %d pods of %d", f.Name, len(pods), n-1)
		}
		for _, p := range pods {
			want := int64(1000)
			if p.Name == "p5" {
				want = 7000 // what stands last counts
			}
			if p.Requests.CPU != want {
				t.Errorf("%s: %s asks for %d millicores, not %d", f.Name, p.Name, p.Requests.CPU, want)
			}
		}
	}
}

// TestNoBlockHidesTheMistakesOfOthers has one mistake in each block but the first.
func TestNoBlockHidesTheMistakesOfOthers(t *testing.T) {
	const n = 4 * blockOf
	files := manyPods(t, n, func(i int) (name, cpu string) {
		if i > 0 && i%blockOf == 0 {
			return fmt.Sprintf("p%d", i), "much"
		}
		return fmt.Sprintf("p%d", i), "1"
	})
	for _, f := range files {
		in, err := read([]File{f})
		if err != nil {
			t.Fatal(err)
		}
		if len(in.problems) != 3 {
			t.Fatalf("%s: %d problems, not 3: %v", f.Name, len(in.problems), in.problems)
		}
		for i, p := range in.problems {
			line := strings.Split(string(f.Text), "\n")[p.Line-1]
			if !strings.Contains(line, "much") {
				t.Errorf("%s: problem %d is told of line %d, %q", f.Name, i, p.Line, line)
			}
		}
	}
}

// manyPods is a list of pods, once as YAML and once as JSON.
func manyPods(t *testing.T, n int, pod func(i int) (name, cpu string)) []File {
	t.Helper()
	items := make([]any, 0, n)
	for i := range n {
		name, cpu := pod(i)
		items = append(items, map[string]any{
			"apiVersion": "v1", "kind": "Pod",
			"metadata": map[string]any{"name": name, "namespace": "default", "uid": fmt.Sprint("u", i)},
			"spec": map[string]any{"containers": []any{map[string]any{
				"name": "a", "image": "b", "resources": map[string]any{"requests": map[string]any{"cpu": cpu}},
			}}},
		})
	}
	list := map[string]any{"apiVersion": "v1", "kind": "List", "items": items}
	asYAML, err := yaml.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	asJSON, err := json.MarshalIndent(list, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return []File{{Name: "a.yaml", Text: asYAML}, {Name: "a.json", Text: asJSON}}
}

// TestTheFirstHeaderIsTheHeader asks of odd objects in block style: what is read of the beginning alone
// is what is read of the whole.
func TestTheFirstHeaderIsTheHeader(t *testing.T) {
	read := 0
	rapid.Check(t, func(t *rapid.T) {
		object := someObject(t, 0)
		words := rapid.SampledFrom([]string{"v1", "Pod", "", "apps/v1", "a\"b", "null", "List", "1"})
		keys := rapid.SampledFrom([]string{"apiVersion", "kind", "Kind", "KIND", "metadata", "Metadata",
			"items", "Items", "zz", "A", "kinds", "metadatum"})
		for range rapid.IntRange(0, 3).Draw(t, "changes") {
			switch key := keys.Draw(t, "key"); rapid.IntRange(0, 2).Draw(t, "change") {
			case 0:
				delete(object, key)
			case 1:
				object[key] = words.Draw(t, "word")
			case 2:
				object[key] = map[string]any{"name": words.Draw(t, "name"), "uid": 1, "Name": "n"}
			}
		}
		text, err := yaml.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		plain, ok := (&blocks.Reader{}).JSON(text)
		if !ok {
			return
		}
		got, ok := firstHeader(plain)
		if !ok {
			return
		}
		read++
		var want header
		if err := json.Unmarshal(plain, &want); err != nil {
			t.Fatalf("%s: the whole is refused: %v", plain, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, but the whole says %+v", plain, got, want)
		}
	})
	if read == 0 {
		t.Error("no header was read so")
	}
}
