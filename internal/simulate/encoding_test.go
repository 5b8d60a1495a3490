package simulate

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"

	"github.com/karpenter-aks/karpenter/internal/mutated"
)

// TestShellsMayWriteAsTheyLike reads one world as different systems write it.
func TestShellsMayWriteAsTheyLike(t *testing.T) {
	const world = "apiVersion: v1\nkind: Pod\nmetadata: {name: “wäb”}\n"
	units := utf16.Encode([]rune(world))
	wide := func(mark []byte, order binary.AppendByteOrder) []byte {
		out := mark
		for _, u := range units {
			out = order.AppendUint16(out, u)
		}
		return out
	}
	for name, text := range map[string][]byte{
		"plain":         []byte(world),
		"marked":        []byte("\xef\xbb\xbf" + world),
		"line ends":     []byte(strings.ReplaceAll(world, "\n", "\r\n")),
		"little endian": wide([]byte{0xff, 0xfe}, binary.LittleEndian),
		"big endian":    wide([]byte{0xfe, 0xff}, binary.BigEndian),
	} {
		got, wrong := plainText(File{Name: "f", Text: text})
		if string(got) != world || wrong.What != "" {
			t.Errorf("%s: read %q, %v", name, got, wrong)
		}
		if f := formatOf(File{Name: "stdin", Text: got}); f != asYAML {
			t.Errorf("%s: format %v", name, f)
		}
	}
	for text, want := range map[string]string{
		"": "nothing in it", "\xef\xbb\xbf \n": "nothing in it", "pod a\n\x00": "f:2: this is not text", "pod a\npod b\xff\n": "f:2: this is not text",
		"\x1f\x8b\x08": "compressed", "PK\x03\x04": "compressed",
	} {
		if _, wrong := plainText(File{Name: "f", Text: []byte(text)}); !strings.Contains(wrong.String(), want) {
			t.Errorf("%q: got %q, want %q", text, wrong, want)
		}
	}
}

// awkwardFiles are files in which much can go wrong, each to be read under each of these names.
func awkwardFiles() (texts, names []string) {
	return []string{
		"pool a\npod web x3 cpu=1 spread=zone:1:app=web near=host:*\n", "simulate pending=all\ntype a cpu=1 price=1\n----\n", "plan buy option=a/b/c/1 pods=a/b\n",
		"apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata: {name: a}\nkind: List\n", "{\"kind\":\"List\",\"items\":[{\"kind\":\"Pod\"}]}",
		"---\n- a\n...\n", "items:\n-\n- - a\n\t- b\n", "pod a affinity=k:In:%e,%41;:: volume=a:b:c|d tolerate=*:X port=1@", "\xff\xfea\x00",
		"apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\nspec: {limits: {cpu: 1e99}, template: {spec: {requirements: [{key: a}]}}}\n",
	}, []string{"a.txt", "a.yaml", "a.json", "stdin"}
}

// readsOrHelps reads a file: the answer is a world, or words that help.
func readsOrHelps(t interface {
	Errorf(format string, args ...any)
}, name string, text []byte) {
	in, err := read([]File{{Name: name, Text: text}})
	if err != nil {
		t.Errorf("%q: %v", text, err)
		return
	}
	for _, p := range in.problems {
		if p.What == "" || p.Do == "" || p.Line < 0 || strings.Contains(p.String(), "\n") && !strings.Contains(name, "\n") {
			t.Errorf("%q in %q: a problem that does not help: %q", text, name, p)
		}
	}
}

// TestDamagedFilesAreReadOrRefusedInWords takes bytes out of files, puts others in, and reads what is left.
func TestDamagedFilesAreReadOrRefusedInWords(t *testing.T) {
	texts, names := awkwardFiles()
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(rapid.SampledFrom(texts).Draw(t, "file"))
		for range rapid.IntRange(0, 6).Draw(t, "damages") {
			at := rapid.IntRange(0, len(text)).Draw(t, "at")
			end := min(len(text), at+rapid.IntRange(0, 4).Draw(t, "taken"))
			put := rapid.SampledFrom([]string{"", "\n", "\t", " ", "-", ": ", ":", "=", "%", "{", "[", "|", "&a ", "*a", "\"", "#", "!!int ", "\x00", "\xff", "items:\n- ", "----\n"}).Draw(t, "put")
			text = slices.Concat(text[:at], []byte(put), text[end:])
		}
		readsOrHelps(t, rapid.SampledFrom(names).Draw(t, "name"), text)
	})
}

func FuzzReaderReadsOrHelps(f *testing.F) {
	texts, names := awkwardFiles()
	for _, seed := range texts {
		for _, name := range names {
			f.Add(name, []byte(seed))
		}
	}
	for i, text := range mutated.Texts(300, texts...) {
		f.Add(names[i%len(names)], []byte(text))
	}
	f.Fuzz(func(t *testing.T, name string, text []byte) { readsOrHelps(t, name, text) })
}
