package worldtext

import (
	"fmt"
	"strconv"
	"strings"
)

// emptyValue stands for a value without a letter, where nothing would be taken for no value.
const emptyValue = "%e"

// escape writes a value so that it is one word, and has nothing in it that separates values: bytes that are not printable, spaces,
// '#', '%', and those in also become %XX.
func escape(s, also string) string {
	plain := func(c byte) bool {
		return c > ' ' && c < 0x7f && c != '#' && c != '%' && strings.IndexByte(also, c) < 0
	}
	first := 0
	for first < len(s) && plain(s[first]) {
		first++
	}
	if first == len(s) {
		return s
	}
	var b strings.Builder
	b.WriteString(s[:first])
	for i := first; i < len(s); i++ {
		if plain(s[i]) {
			b.WriteByte(s[i])
		} else {
			fmt.Fprintf(&b, "%%%02X", s[i])
		}
	}
	return b.String()
}

// unescape is the inverse. A '%' that no two digits follow stands for itself.
func unescape(s string) string {
	if strings.IndexByte(s, '%') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(n))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// inValues are the bytes that separate values, or what stands around them, somewhere.
const inValues = ",;:|=!"

// word is escape that has a word for nothing, too.
func word(s, also string) string {
	if s == "" {
		return emptyValue
	}
	return escape(s, also)
}

// unword is unescape for what word wrote.
func unword(s string) string {
	if s == emptyValue {
		return ""
	}
	return unescape(s)
}

// inStead escapes the first byte of a name that would be read as a word with a meaning of its own.
func inStead(s string) string { return fmt.Sprintf("%%%02X", s[0]) + escape(s[1:], inNames) }

// inNames are the bytes that end a name somewhere.
const inNames = "<>" + inValues

// at writes a zone and a capacity type as part of a field's name.
func at(zone, capacityType string) string {
	return word(zone, "/"+inNames) + "/" + escape(capacityType, inNames)
}

func escapeAll(list []string, sep string) string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = word(v, inValues)
	}
	return strings.Join(out, sep)
}

func unescapeAll(s, sep string) []string {
	out := strings.Split(s, sep)
	for i, v := range out {
		out[i] = unword(v)
	}
	return out
}
