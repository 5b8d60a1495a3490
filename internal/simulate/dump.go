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
		in.yamlChunks(list)
		if in.full() {
			return
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

// read reads what is needed of an object in any case. Of one that is plain the keys are in order, and
// all letters are of ASCII.
func (a *ahead) read(r *apikube.Reader, object []byte, plain bool) {
	a.of = object
	if a.deep = manifest.Shallow(object); a.deep != nil {
		return
	}
	ok := false
	if plain {
		a.head, ok = firstHeader(object)
	}
	if !ok {
		a.head = header{}
		a.headless = json.Unmarshal(object, &a.head)
	}
	if a.headless == nil && !isCustom(a.head.Kind) {
		a.typed = r.Decode(object, a.head.APIVersion, a.head.Kind)
	}
}

// firstHeader reads the header of an object that begins with it, and nothing else of the object. ok is
// false for any other. Its keys are in order and of ASCII: so no key behind metadata can mean the same
// as one before, in capitals say.
func firstHeader(object []byte) (h header, ok bool) {
	rest := object
	for _, part := range []struct {
		before string
		into   *string
	}{{`{"apiVersion":"`, &h.APIVersion}, {`,"kind":"`, &h.Kind}} {
		if rest, ok = bytes.CutPrefix(rest, []byte(part.before)); !ok {
			return h, false
		}
		end := bytes.IndexAny(rest, `"\`)
		if end < 0 || rest[end] != '"' {
			return h, false
		}
		*part.into, rest = string(rest[:end]), rest[end+1:]
	}
	if rest, ok = bytes.CutPrefix(rest, []byte(`,"metadata":`)); !ok {
		return h, false
	}
	return h, json.NewDecoder(bytes.NewReader(rest)).Decode(&h.Metadata) == nil
}

// yamlChunks takes the chunks one after the other, whatever their parsing takes.
func (in *input) yamlChunks(list []chunk) {
	inBlocks(in, list, chunk.yaml, func(text []byte, r *blocks.Reader, a *ahead) {
		if a.many = manifest.Fits(text); a.many != nil {
			return
		}
		object, plain := r.JSON(text)
		if !plain {
			object, a.parsed = yaml.YAMLToJSONStrict(text)
		}
		if a.parsed == nil {
			a.read(in.reader, object, plain)
		}
	}, func(c chunk, a *ahead) {
		switch {
		case a.many != nil:
			in.tooMuch(c, a.many)
		case a.parsed != nil:
			in.notYAML(c, a.parsed)
		default:
			c.ahead = a
			in.object(c, a.of)
		}
	})
}

// inBlocks reads the parts of a list ahead, block by block, and takes them in their order: one block is
// read side by side while the one before is taken. text is called by this goroutine alone, so that it is
// noticed here when the file goes away. It ends early when the input is full.
func inBlocks[T any](
	in *input, list []T, text func(T) []byte, read func([]byte, *blocks.Reader, *ahead), take func(T, *ahead),
) {
	var before []T
	done := func() []ahead { return nil }
	for block := range slices.Chunk(list, blockOf) {
		texts := make([][]byte, len(block))
		for i, part := range block {
			texts[i] = text(part)
		}
		were := done()
		done = in.sideBySide(len(block), func(i int, r *blocks.Reader, a *ahead) {
			read(texts[i], r, a)
			texts[i] = nil
		})
		each(in, before, were, take)
		before = block
		if in.full() {
			break
		}
	}
	each(in, before, done(), take)
}

// each takes what was read ahead, until the input is full.
func each[T any](in *input, list []T, read []ahead, take func(T, *ahead)) {
	for i := range list {
		if in.full() {
			return
		}
		take(list[i], &read[i])
	}
}

// sideBySide begins to read n objects ahead; done waits for that. Only one may be under way.
func (in *input) sideBySide(n int, read func(i int, r *blocks.Reader, a *ahead)) (done func() []ahead) {
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
	return func() []ahead {
		wg.Wait()
		return out
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
	inBlocks(in, parts, func(p jsonPart) []byte { return bytes.Clone(p.raw) },
		func(text []byte, _ *blocks.Reader, a *ahead) {
			if a.many = manifest.Fits(text); a.many == nil {
				a.read(in.reader, text, false)
			}
		}, func(p jsonPart, a *ahead) {
			c := chunk{file: f.Name, line: lines.at(start + p.offset), text: p.raw, ahead: a}
			if a.many != nil {
				in.tooMuch(c, a.many)
				return
			}
			in.object(c, a.of)
		})
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
		c.ahead.read(in.reader, object, false)
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

// ApplyPod implements kube.PodSink. Without it World's would be called, and nothing seen.
func (m *mirror) ApplyPod(p *model.Pod) {
	m.seen = append(m.seen, *p)
	m.World.ApplyPod(p)
}
