package simulate

import (
	"bytes"
	"cmp"
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

	"github.com/karpenter-aks/karpenter/api/admit"
	"github.com/karpenter-aks/karpenter/internal/blocks"
	"github.com/karpenter-aks/karpenter/internal/kube/apikube"
	"github.com/karpenter-aks/karpenter/internal/manifest"
	"github.com/karpenter-aks/karpenter/internal/world"
	"github.com/karpenter-aks/karpenter/model"
)

// readYAML reads documents of YAML. The items of a list as kubectl prints it are chunks of their own.
func (in *input) readYAML(f File) {
	docs := documents(f)
	if in.crowd(len(docs)) {
		return
	}
	for _, doc := range docs {
		list, frame := items(doc)
		if in.crowd(len(list)) {
			return
		}
		for block := range slices.Chunk(list, blockOf) {
			if in.full() {
				return
			}
			in.yamlChunks(block)
		}
		if frame.file != "" {
			in.frame(frame)
		}
	}
}

// blockOf chunks are read ahead side by side, which takes by far the most of the time that a large dump takes.
const blockOf = 256

// ahead is what was read of an object before its turn, beside others.
type ahead struct {
	of           []byte // the object as JSON
	parsed, many error  // why it is no YAML, or too much
	deep         error
	head         header
	headless     error
	typed        apikube.Typed
}

// is reports whether a is about this very text.
func (a *ahead) is(object []byte) bool {
	return a != nil && len(a.of) == len(object) && len(object) > 0 && &a.of[0] == &object[0]
}

// read reads what is needed of an object in any case.
func (a *ahead) read(r *apikube.Reader, object []byte) {
	a.of = object
	if a.deep = manifest.Shallow(object); a.deep != nil {
		return
	}
	if a.headless = json.Unmarshal(object, &a.head); a.headless == nil && !isCustom(a.head.Kind) {
		a.typed = r.Decode(object, a.head.APIVersion, a.head.Kind)
	}
}

// yamlChunks takes the chunks one after the other, whatever their parsing takes.
func (in *input) yamlChunks(list []chunk) {
	texts := make([][]byte, len(list))
	for i, c := range list { // here, where it is noticed when the file goes away
		texts[i] = c.yaml()
	}
	read := in.sideBySide(len(list), func(i int, r *blocks.Reader, a *ahead) {
		text := texts[i]
		texts[i] = nil
		if a.many = manifest.Fits(text); a.many != nil {
			return
		}
		object, plain := r.JSON(text)
		if !plain {
			object, a.parsed = yaml.YAMLToJSONStrict(text)
		}
		if a.parsed == nil {
			a.read(in.reader, object)
		}
	})
	for i, c := range list {
		switch a := &read[i]; {
		case a.many != nil:
			in.tooMuch(c, a.many)
		case a.parsed != nil:
			in.notYAML(c, a.parsed)
		default:
			c.ahead = a
			in.object(c, a.of)
		}
	}
}

// sideBySide reads n objects ahead.
func (in *input) sideBySide(n int, read func(i int, r *blocks.Reader, a *ahead)) []ahead {
	out := make([]ahead, n)
	for len(in.blocks) < runtime.GOMAXPROCS(0) {
		in.blocks = append(in.blocks, &blocks.Reader{})
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for _, r := range in.blocks[:min(runtime.GOMAXPROCS(0), n)] {
		wg.Go(func() {
			for i := next.Add(1) - 1; int(i) < n; i = next.Add(1) - 1 {
				read(int(i), r, &out[i])
			}
		})
	}
	wg.Wait()
	return out
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
	lines := lineCounter{text: f.Text}
	if parts, ok := soundList(f.Text); ok { // a large dump is not copied
		in.jsonParts(f, &lines, 0, parts)
		return
	}
	base := json.NewDecoder(bytes.NewReader(f.Text))
	for !in.over {
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
		in.jsonParts(f, &lines, base.InputOffset()-int64(len(raw)), jsonItems(raw))
	}
}

// jsonParts takes the parts of one value that begins so many bytes behind the beginning of its file.
func (in *input) jsonParts(f File, lines *lineCounter, start int64, parts []jsonPart) {
	if in.crowd(len(parts)) {
		return
	}
	for block := range slices.Chunk(parts, blockOf) {
		if in.full() {
			return
		}
		texts := make([][]byte, len(block))
		for i, part := range block { // here, where it is noticed when the file goes away
			texts[i] = bytes.Clone(part.raw)
		}
		read := in.sideBySide(len(block), func(i int, _ *blocks.Reader, a *ahead) {
			if a.many = manifest.Fits(texts[i]); a.many == nil {
				a.read(in.reader, texts[i])
			}
		})
		for i, part := range block {
			if in.full() {
				return
			}
			c := chunk{file: f.Name, line: lines.at(start + part.offset), text: part.raw, ahead: &read[i]}
			if read[i].many != nil {
				in.tooMuch(c, read[i].many)
				continue
			}
			in.object(c, texts[i])
		}
	}
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

// enough bounds the problems that are looked for: with so many, it is one mistake that was made over and over, or no dump at all.
const enough = 1000

// full reports whether no more objects are to be read, and says so once.
func (in *input) full() bool {
	if !in.over && len(in.problems) >= enough {
		in.over = true
		in.bad(Problem{What: fmt.Sprintf("what comes after the first %d problems was not read", enough), Do: "correct these first"})
	}
	return in.over
}

// crowd reports whether there would be too many objects with n more, and says so once.
func (in *input) crowd(n int) bool {
	if !in.over && in.objectsRead+n > manifest.MaxDocuments {
		in.over = true
		in.bad(Problem{What: fmt.Sprintf("there are more than %d objects", manifest.MaxDocuments), Do: "leave out what deciders do not look at"})
	}
	return in.over
}

func (in *input) tooMuch(c chunk, err error) {
	in.bad(Problem{c.file, c.line, "this is not read: " + err.Error(), "is it a Kubernetes object?"})
}

// header is what every object begins with.
type header struct {
	APIVersion, Kind string
	Items            []json.RawMessage
	Metadata         struct {
		Name, Namespace, UID string
		Annotations          map[string]any
	}
}

// object takes one object of the API, or a list of them that stands in one chunk.
func (in *input) object(c chunk, object []byte) {
	in.objectsRead++
	if !c.ahead.is(object) {
		c.ahead = &ahead{}
		c.ahead.read(in.reader, object)
	}
	if c.ahead.deep != nil {
		in.tooMuch(c, c.ahead.deep)
		return
	}
	if bytes.Equal(bytes.TrimSpace(object), []byte("null")) {
		return // a document of comments
	}
	head := c.ahead.head
	if err := c.ahead.headless; err != nil {
		var bad *json.SyntaxError
		if errors.As(err, &bad) {
			in.bad(Problem{c.file, c.line + bytes.Count(object[:bad.Offset], []byte("\n")), "this is not JSON: " + err.Error(), "correct it, or dump again with kubectl get … -o json"})
			return
		}
		if _, wrong := in.reader.Check(object); wrong != nil && bytes.HasPrefix(object, []byte("{")) && !errors.Is(wrong, apikube.ErrKind) {
			in.misread(c, object, wrong) // metadata.name is yes, say
			return
		}
		in.bad(Problem{c.file, c.line, "this is not a Kubernetes object", "a file holds objects as kubectl get -o yaml prints them, or lines like: pod web cpu=1"})
		return
	}
	if strings.HasSuffix(head.Kind, "List") && (head.Items != nil || head.Metadata.Name == "") {
		for _, item := range head.Items {
			if in.full() {
				return
			}
			in.object(chunk{file: c.file, line: c.line, text: item}, item)
		}
		return
	}
	if head.Metadata.Namespace == "" && namespaced(head.Kind) {
		object = inDefault(object)
	}
	if head.Metadata.UID == "" && isWorkload(head.Kind) {
		in.workloads = append(in.workloads, workload{c, head, cmp.Or(head.Metadata.Namespace, "default"), object})
	}
	if head.Kind == "PriorityClass" {
		in.priorityClass(c, head.Metadata.Name, object)
		in.objects++
		return
	}
	if unread(head.Kind) { // the controller never looks at them, but they make pods
		in.objects++
		in.kinds[head.Kind]++
		return
	}
	if !in.accept(c, head, object) {
		return
	}
	if head.Kind == "StorageClass" && head.Metadata.Annotations["storageclass.kubernetes.io/is-default-class"] == "true" {
		in.defaultClass = head.Metadata.Name
	}
	if head.Kind == "Node" {
		in.seen(object)
	}
	in.objects++
	in.kinds[head.Kind]++
	if key := c.file + " " + head.Kind + " " + head.Metadata.Namespace + "/" + head.Metadata.Name; !in.written[key] {
		in.written[key] = true
	} else {
		in.again[c.file]++
	}
	for _, o := range in.mirror.seen {
		if v, ok := o.(model.VolumeClaim); ok {
			in.claims[v.ObjectKey()] = true
			in.bound = in.bound || v.Volume != ""
		}
	}
}

// accept checks one object and tells the mirror of it. It reports false when it did not, and has said why.
func (in *input) accept(c chunk, head header, object []byte) bool {
	in.mirror.seen = nil
	faults, err := []admit.Fault(nil), error(nil)
	given := object
	if isCustom(head.Kind) {
		if object, faults, err = in.custom(given); err != nil {
			in.bad(Problem{c.file, c.line, head.Kind + " " + head.Metadata.Name + ": " + err.Error(), "correct it"})
			return false
		}
		if head.Metadata.UID != "" {
			object = given
		}
	}
	t := c.ahead.typed
	if isCustom(head.Kind) || !c.ahead.is(object) {
		t = in.reader.Decode(object, head.APIVersion, head.Kind)
	}
	report, err := in.reader.Take(t)
	switch {
	case errors.Is(err, apikube.ErrKind):
		in.ignored[head.Kind]++
		return false
	case err != nil:
		before := len(in.problems)
		in.misread(c, given, err)
		in.refused(c, head, in.beside(c, in.problems[before:], faults))
		return false
	case head.Metadata.Name == "":
		in.bad(Problem{c.file, c.line, fmt.Sprintf("a %s without a name", head.Kind), "give it metadata.name"})
		return false
	}
	if isCustom(head.Kind) { // what nobody knows was not kept
		if asGiven, err := in.reader.Check(given); err == nil {
			report.Unknown = asGiven.Unknown
		}
	}
	in.unknownFields(c, head, report.Unknown)
	faults = append(faults, report.Faults...)
	if len(faults) == 0 {
		faults = told(in.mirror.seen)
	}
	in.refused(c, head, faults)
	return true
}

// isCustom reports whether the kind is one that CRDs of ours define.
func isCustom(kind string) bool {
	return slices.Contains([]string{"NodePool", "NodeClaim", "AKSNodeClass", "NodeOverlay", "CapacityBuffer"}, kind)
}

// namespaced reports whether objects of the kind live in a namespace; of those that we read.
func namespaced(kind string) bool {
	return slices.Contains([]string{"Pod", "DaemonSet", "PodDisruptionBudget", "PersistentVolumeClaim", "Deployment", "StatefulSet",
		"ReplicaSet", "Job", "CronJob", "PodTemplate", "CapacityBuffer"}, kind)
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
