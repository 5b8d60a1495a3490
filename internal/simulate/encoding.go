package simulate

import (
	"bytes"
	"encoding/binary"
	"regexp"
	"unicode/utf16"
	"unicode/utf8"
)

// plainText returns what a file says as UTF-8 without what shells and editors put before it, or why it is no text. Some shells write
// UTF-16 when output is sent to a file.
func plainText(f File) ([]byte, Problem) {
	text := f.Text
	switch {
	case bytes.HasPrefix(text, []byte{0xef, 0xbb, 0xbf}):
		text = text[3:]
	case bytes.HasPrefix(text, []byte{0xff, 0xfe}):
		text = fromUTF16(text[2:], binary.LittleEndian)
	case bytes.HasPrefix(text, []byte{0xfe, 0xff}):
		text = fromUTF16(text[2:], binary.BigEndian)
	case bytes.HasPrefix(text, []byte{0x1f, 0x8b}), bytes.HasPrefix(text, []byte("PK\x03\x04")):
		return nil, Problem{File: f.Name, What: "it is compressed", Do: "unpack it first"}
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, Problem{File: f.Name, What: "there is nothing in it", Do: "did the command that wrote it fail?"}
	}
	if at := notText(text); at >= 0 {
		return nil, Problem{f.Name, 1 + bytes.Count(text[:at], []byte{'\n'}), "this is not text", "is it a dump?"}
	}
	if bytes.IndexByte(text, '\r') >= 0 { // a large file is not copied for nothing
		text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	}
	return text, Problem{}
}

func fromUTF16(b []byte, order binary.ByteOrder) []byte {
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = order.Uint16(b[2*i:])
	}
	return []byte(string(utf16.Decode(units)))
}

// notText returns where a byte stands that no text has, or -1.
func notText(text []byte) int {
	if at := bytes.IndexByte(text, 0); at >= 0 {
		return at
	}
	if utf8.Valid(text) {
		return -1
	}
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// sayings are lines that kubectl writes beside a dump, and that end up in it when both outputs go to one file.
var sayings = regexp.MustCompile(`^(Warning: |[IWE][0-9]{4} [0-9:.]+ )`)

// failure is what kubectl writes instead of a dump.
var failure = regexp.MustCompile(`^([Ee]rror: |Error from server|Unable to connect to the server|The connection to the server|No resources found)`)
