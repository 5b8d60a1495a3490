// Package convert answers: how are manifests of Karpenter's older API versions written today?
//
// karpenter.sh/v1beta1 was served until Karpenter v1.0 and is gone since v1.1; karpenter.azure.com/v1alpha2 is still served and
// deprecated. File rewrites both, keeps comments and the order of fields, and leaves every other document as it is. It is pure: it
// reads no cluster, and does not check what it is given beyond what it has to change.
package convert

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	yaml "go.yaml.in/yaml/v3"

	"github.com/karpenter-aks/karpenter/internal/manifest"
)

// The versions that are read, and those that are written.
const (
	poolBefore  = "karpenter.sh/v1beta1"
	poolToday   = "karpenter.sh/v1"
	classBefore = "karpenter.azure.com/v1alpha2"
	classToday  = "karpenter.azure.com/v1beta1"
)

// MaxFile is the most bytes of one file: manifests that people wrote are thousands of times smaller.
const MaxFile = 16 << 20

// maxDocuments is the most documents of one file.
const maxDocuments = 10_000

// Note is something that a person should know about one object: a change of meaning, or why it cannot be converted.
type Note struct {
	File string
	Line int    // of the object or field, from 1
	What string // the object and what is the matter
}

// String is FILE:LINE: WHAT.
func (n Note) String() string { return fmt.Sprintf("%s:%d: %s", n.File, n.Line, n.What) }

// Problems are all reasons why the input cannot be converted.
type Problems []Note

// Error lists them, a line each.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, n := range p {
		lines[i] = n.String()
	}
	return strings.Join(lines, "\n")
}

// Input is one file.
type Input struct {
	Name string // as shown in notes
	Text []byte
}

// Result is the converted manifests.
type Result struct {
	Text    []byte // all files as one stream of YAML documents
	Notes   []Note // what a person should know
	Changed int    // objects that were rewritten
}

// document is one YAML document.
type document struct {
	file    string
	line    int // where it begins
	text    []byte
	root    *yaml.Node // nil when it holds nothing
	changed bool
}

// run is one conversion.
type run struct {
	docs     []*document
	objects  []*object
	notes    []Note
	problems Problems
	changed  int
}

// object is one Kubernetes object in a document.
type object struct {
	doc  *document
	node *yaml.Node
}

// Files converts all files together: a NodePool's kubelet settings move to the AKSNodeClass that it names, which may stand in
// another file. The error is Problems when something cannot be converted; then nothing is returned. O(size of the input).
func Files(in []Input) (Result, error) {
	r := &run{}
	for _, f := range in {
		r.read(f)
	}
	for _, o := range r.objects {
		r.convert(o)
	}
	if len(r.problems) > 0 {
		return Result{}, r.problems
	}
	text, err := r.write()
	return Result{Text: text, Notes: r.notes, Changed: r.changed}, err
}

// read splits a file into documents and finds the objects in them.
func (r *run) read(f Input) {
	f.Text = bytes.TrimPrefix(f.Text, []byte("\ufeff")) // editors on Windows put it there
	switch {
	case len(f.Text) > MaxFile:
		r.problems = append(r.problems, Note{f.Name, 1, fmt.Sprintf("it is larger than %d MiB: name only the files that NodePools and AKSNodeClasses are in", MaxFile>>20)})
		return
	case !utf8.Valid(f.Text):
		r.problems = append(r.problems, Note{f.Name, 1, "this is no text in UTF-8: save it as such"})
		return
	}
	docs := manifest.Documents(f.Text)
	if len(docs) > maxDocuments {
		r.problems = append(r.problems, Note{f.Name, docs[maxDocuments].Line, fmt.Sprintf("there are more than %d documents: name only the files that NodePools and AKSNodeClasses are in", maxDocuments)})
		return
	}
	for _, d := range docs {
		r.document(&document{file: f.Name, line: d.Line, text: d.Text})
	}
}

// yamlPlace is what the parser says about where it was: lines counted from somewhere in the document.
var yamlPlace = regexp.MustCompile(`^yaml: (?:line \d+: )?`)

func (r *run) document(d *document) {
	var root yaml.Node
	err := yaml.Unmarshal(d.text, &root)
	if err != nil {
		r.problems = append(r.problems, Note{d.file, d.line, "this document is no YAML: " + yamlPlace.ReplaceAllString(err.Error(), "")})
		return
	}
	r.docs = append(r.docs, d)
	if root.Kind != yaml.DocumentNode || len(root.Content) == 0 {
		return
	}
	d.root = &root
	r.find(d, root.Content[0], 0)
}

// find lists the objects of a document; a List holds several.
func (r *run) find(d *document, n *yaml.Node, depth int) {
	const deepest = 4 // a List of Lists is odd enough
	if n.Kind != yaml.MappingNode || depth > deepest {
		return
	}
	if items := get(n, "items"); items != nil && items.Kind == yaml.SequenceNode && strings.HasSuffix(text(n, "kind"), "List") {
		for _, item := range items.Content {
			r.find(d, item, depth+1)
		}
		return
	}
	r.objects = append(r.objects, &object{d, n})
}

// at is a note about a place in the object's document.
func (o *object) at(n *yaml.Node, format string, args ...any) Note {
	if n == nil {
		n = o.node
	}
	return Note{o.doc.file, o.doc.line + n.Line - 1, o.String() + ": " + fmt.Sprintf(format, args...)}
}

// String is the kind and name.
func (o *object) String() string {
	return text(o.node, "kind") + " " + text(get(o.node, "metadata"), "name")
}

// is reports whether the object has the version and kind.
func (o *object) is(version, kind string) bool {
	return text(o.node, "apiVersion") == version && text(o.node, "kind") == kind
}

// write joins the documents. Those that nobody changed are written as they were.
func (r *run) write() ([]byte, error) {
	var out bytes.Buffer
	for _, d := range r.docs {
		piece := d.text
		if d.changed {
			var b bytes.Buffer
			enc := yaml.NewEncoder(&b)
			enc.SetIndent(2)
			if err := errors.Join(enc.Encode(d.root), enc.Close()); err != nil {
				return nil, fmt.Errorf("write the document at %s:%d: %w", d.file, d.line, err)
			}
			piece = b.Bytes()
		}
		if len(bytes.TrimSpace(piece)) == 0 {
			continue
		}
		switch {
		case out.Len() > 0 && piece[0] == '%': // before directives, the document above must have ended
			_, _ = io.WriteString(&out, "...\n")
		case out.Len() > 0 && !bytes.HasPrefix(piece, []byte("---")), d.changed && bytes.HasPrefix(d.text, []byte("---")):
			_, _ = io.WriteString(&out, "---\n")
		}
		out.Write(piece)
		if !bytes.HasSuffix(piece, []byte("\n")) {
			out.WriteByte('\n')
		}
	}
	return out.Bytes(), nil
}
