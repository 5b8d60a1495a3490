package simulate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"sigs.k8s.io/yaml"

	"github.com/karpenter-aks/karpenter/internal/kube/apikube"
	"github.com/karpenter-aks/karpenter/internal/world"
	"github.com/karpenter-aks/karpenter/model"
)

// readYAML reads documents of YAML. The items of a list as kubectl prints it are chunks of their own.
func (in *input) readYAML(f File) {
	for _, doc := range documents(f) {
		list, frame := items(doc)
		for block := range slices.Chunk(list, blockOf) {
			in.yamlChunks(block)
		}
		if frame.file != "" {
			in.frame(frame)
		}
	}
}

// blockOf chunks are turned from YAML into JSON side by side, which takes by far the most of the time that a large dump takes.
const blockOf = 256

// yamlChunks takes the chunks one after the other, whatever their parsing takes.
func (in *input) yamlChunks(list []chunk) {
	type parsed struct {
		object []byte
		err    error
	}
	out := make([]parsed, len(list))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(list)) {
		wg.Go(func() {
			for i := next.Add(1) - 1; int(i) < len(list); i = next.Add(1) - 1 {
				out[i].object, out[i].err = yaml.YAMLToJSONStrict(list[i].yaml())
			}
		})
	}
	wg.Wait()
	for i, c := range list {
		if out[i].err != nil {
			in.notYAML(c, out[i].err)
			continue
		}
		in.object(c, out[i].object)
	}
}

// frame checks what stands around the items of a list: it is YAML, and kubectl writes the kind last.
func (in *input) frame(c chunk) {
	var head struct{ Kind string }
	object, err := yaml.YAMLToJSONStrict(c.text)
	if err != nil {
		in.notYAML(c, err)
		return
	}
	if json.Unmarshal(object, &head) != nil || head.Kind == "" {
		in.bad(Problem{c.file, c.line + bytes.Count(c.text, []byte("\n")) - 1, "the list has no kind: the file seems to be cut off", "dump again; is the disk full?"})
	}
}

var yamlLine = regexp.MustCompile(`line (\d+): `)

func (in *input) notYAML(c chunk, err error) {
	text := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "error converting YAML to JSON: "), "yaml: ")
	line := c.line
	if m := yamlLine.FindStringSubmatchIndex(text); m != nil {
		if n, err := strconv.Atoi(text[m[2]:m[3]]); err == nil {
			line = c.line + n - 1
		}
		text = text[m[1]:]
	}
	in.bad(Problem{c.file, line, "this is not YAML: " + text, "correct it, or dump again with kubectl get … -o yaml"})
}

// readJSON reads one JSON value after the other. The items of a list are chunks of their own.
func (in *input) readJSON(f File) {
	base := json.NewDecoder(bytes.NewReader(f.Text))
	lines := lineCounter{text: f.Text}
	for {
		var raw json.RawMessage
		err := base.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			at := int64(len(bytes.TrimRight(f.Text, " \t\r\n"))) // it ended too early, unless
			var bad *json.SyntaxError
			if errors.As(err, &bad) {
				at = max(base.InputOffset(), bad.Offset)
			}
			in.bad(Problem{f.Name, lines.at(at), "this is not JSON: " + err.Error(), "correct it, or dump again with kubectl get … -o json"})
			return
		}
		start := base.InputOffset() - int64(len(raw))
		for _, part := range jsonItems(raw) {
			in.object(chunk{file: f.Name, line: lines.at(start + part.offset), text: part.raw}, part.raw)
		}
	}
}

type jsonPart struct {
	raw    []byte
	offset int64
}

// jsonItems returns the items of a list, or the value itself. The value is sound JSON.
func jsonItems(raw []byte) []jsonPart {
	whole := []jsonPart{{raw: raw}}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return whole
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return whole
		}
		if key != "items" {
			var skip json.RawMessage
			if dec.Decode(&skip) != nil {
				return whole
			}
			continue
		}
		if t, err := dec.Token(); err != nil || t != json.Delim('[') {
			return whole
		}
		var out []jsonPart
		for dec.More() {
			var item json.RawMessage
			if dec.Decode(&item) != nil {
				return whole
			}
			out = append(out, jsonPart{item, dec.InputOffset() - int64(len(item))})
		}
		return out
	}
	return whole
}

// lineCounter turns growing offsets into lines without counting twice.
type lineCounter struct {
	text []byte
	from int64
	line int
}

func (l *lineCounter) at(offset int64) int {
	offset = min(offset, int64(len(l.text)))
	if offset < l.from {
		l.from, l.line = 0, 0
	}
	l.line += bytes.Count(l.text[l.from:offset], []byte{'\n'})
	l.from = offset
	return l.line + 1
}

// object takes one object of the API, or a list of them that stands in one chunk.
func (in *input) object(c chunk, object []byte) {
	var head struct {
		Kind     string
		Items    []json.RawMessage
		Metadata struct{ Name, Namespace, UID string }
	}
	if err := json.Unmarshal(object, &head); err != nil {
		if bytes.Equal(bytes.TrimSpace(object), []byte("null")) {
			return // a document of comments
		}
		in.bad(Problem{c.file, c.line, "this is not a Kubernetes object", "a file holds objects as kubectl get -o yaml prints them, or lines like: pod web cpu=1"})
		return
	}
	if strings.HasSuffix(head.Kind, "List") && (head.Items != nil || head.Metadata.Name == "") {
		for _, item := range head.Items {
			in.object(chunk{file: c.file, line: c.line, text: item}, item)
		}
		return
	}
	if head.Metadata.Namespace == "" && namespaced(head.Kind) {
		object = inDefault(object)
	}
	in.mirror.seen = nil
	unknown, err := in.reader.Read(object)
	switch {
	case errors.Is(err, apikube.ErrKind):
		in.ignored[head.Kind]++
		return
	case err != nil:
		in.misread(c, object, err)
		return
	case head.Metadata.Name == "":
		in.bad(Problem{c.file, c.line, fmt.Sprintf("a %s without a name", head.Kind), "give it metadata.name"})
		return
	}
	name := head.Kind + " " + head.Metadata.Name
	if strings.HasPrefix(head.Kind, "NodePool") || strings.HasPrefix(head.Kind, "AKSNodeClass") {
		for _, u := range unknown {
			in.doubts = append(in.doubts, Problem{c.file, in.lineOf(c, fieldOf(u)), name + ": " + u, "it has no effect"})
		}
	} else if len(unknown) > 0 { // of other kinds, the cluster may be newer than we are
		in.unknownFields(c, head.Kind, name, unknown)
	}
	in.objects++
	in.kinds[head.Kind]++
	if key := c.file + " " + head.Kind + " " + head.Metadata.Namespace + "/" + head.Metadata.Name; !in.written[key] {
		in.written[key] = true
	} else {
		in.again[c.file]++
	}
	for _, o := range slices.Clone(in.mirror.seen) {
		for _, wrong := range nonsense(o) {
			in.bad(Problem{c.file, c.line, name + ": " + wrong, "correct it"})
		}
		if t, ok := o.(model.Template); ok && head.Metadata.UID == "" {
			in.rollOut(t)
		}
	}
}

// namespaced reports whether objects of the kind live in a namespace; of those that we read.
func namespaced(kind string) bool {
	return slices.Contains([]string{"Pod", "DaemonSet", "PodDisruptionBudget", "PersistentVolumeClaim", "Deployment", "StatefulSet",
		"ReplicaSet", "PodTemplate", "CapacityBuffer"}, kind)
}

// inDefault puts an object that a person wrote where kubectl would put it. An object that is not sound is left as it is.
func inDefault(object []byte) []byte {
	var all, meta map[string]json.RawMessage
	if json.Unmarshal(object, &all) != nil || json.Unmarshal(all["metadata"], &meta) != nil || meta == nil {
		return object
	}
	meta["namespace"] = json.RawMessage(`"default"`)
	var err error
	if all["metadata"], err = json.Marshal(meta); err != nil {
		return object
	}
	out, err := json.Marshal(all)
	if err != nil {
		return object
	}
	return out
}

// maxRollOut bounds the pods that one workload brings, so that a typing error does not fill the memory.
const maxRollOut = 100_000

// rollOut makes the pods of a workload that was never in a cluster, as its controller would: what if it were deployed?
func (in *input) rollOut(t model.Template) {
	n := min(int(t.Replicas), maxRollOut)
	for i := range n {
		p := t.Pod
		p.Namespace, p.Name, p.UID = t.Namespace, fmt.Sprintf("%s-%d", t.Name, i), ""
		p.Unschedulable = true
		in.tell(p)
	}
	if n > 0 {
		in.note(fmt.Sprintf("%s %s/%s was never in a cluster: its %s counted as waiting", t.Kind, t.Namespace, t.Name, count(n, "pod")))
	}
}

// mirror is a sink that remembers what one object was told as.
type mirror struct {
	*world.World
	seen []model.Object
}

// Apply implements kube.Sink.
func (m *mirror) Apply(c model.Change) {
	m.seen = append(m.seen, c.Object)
	m.World.Apply(c)
}
