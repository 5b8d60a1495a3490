// Package mutated makes bad input out of good, for tests of readers: the same input on every run. Fuzzing by chance (make
// fuzz) finds new faults; these texts keep the faults that a machine can find from coming back, with one verdict for one
// change.
package mutated

import (
	"math/rand/v2"
	"strings"
)

// tokens are pieces that readers take for something: separators, quotes, ends of lines, large numbers and bytes that are no UTF-8.
var tokens = []string{
	"", " ", "\t", "\n", "\r\n", "\x00", "\u00a0", "\ufeff", "\xff", "\x1b[31m",
	"%", "%00", "%0", "%e", ":", "::", ",", ";", "|", "=", "!", "#", "/", ".",
	"..", "-", "--", "---", "'", "\"", "`", "$", "${", "$(", ")", "{", "}", "[",
	"]", "<", ">", "&", "*", "?", "\\", "null", "true", "~", "nan", "NaN", "Inf",
	"0", "-1", "08", "0x10", "1Ki", "1m", "1e300", "1e-9", "9223372036854775807",
	"9223372036854775808",
}

// most is the length in bytes beyond which a text is cut.
const most = 4096

// Texts returns n texts, each made of one or two seeds by one to four changes: a piece is removed, doubled, moved or
// replaced by a token, a byte is changed, or the text goes on as another seed. The same arguments give the same texts.
func Texts(n int, seeds ...string) []string {
	r := rand.New(rand.NewPCG(uint64(len(seeds)), 20261122))
	out := make([]string, 0, n)
	for range n {
		s := seeds[r.IntN(len(seeds))]
		for range 1 + r.IntN(4) {
			s = change(r, s, seeds)
		}
		out = append(out, s[:min(len(s), most)])
	}
	return out
}

// Corpus is what inputs are added to: a *testing.F.
type Corpus interface{ Add(args ...any) }

// Add gives a fuzz target that takes one text its seeds and n texts made of them.
func Add(f Corpus, n int, seeds ...string) {
	for _, s := range append(Texts(n, seeds...), seeds...) {
		f.Add(s)
	}
}

// AddBytes is Add for a target that takes bytes.
func AddBytes(f Corpus, n int, seeds ...string) {
	for _, s := range append(Texts(n, seeds...), seeds...) {
		f.Add([]byte(s))
	}
}

func change(r *rand.Rand, s string, seeds []string) string {
	from := r.IntN(len(s) + 1)
	to := from + r.IntN(min(len(s)-from, 16)+1)
	switch r.IntN(7) {
	case 0: // remove
		return s[:from] + s[to:]
	case 1: // double
		return s[:to] + s[from:]
	case 2: // move
		at := r.IntN(from + 1)
		return s[:at] + s[from:to] + s[at:from] + s[to:]
	case 3: // another byte
		if from == len(s) {
			return s + string(rune(r.IntN(128)))
		}
		return s[:from] + string([]byte{byte(r.IntN(256))}) + s[from+1:]
	case 4: // go on as another seed
		other := seeds[r.IntN(len(seeds))]
		return s[:from] + other[r.IntN(len(other)+1):]
	case 5: // many of one piece
		return s[:from] + strings.Repeat(s[from:to], 1+r.IntN(40)) + s[to:]
	}
	return s[:from] + tokens[r.IntN(len(tokens))] + s[to:]
}
