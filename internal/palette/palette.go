// Package palette answers: how does a terminal show what matters, to people who tell few colours apart, too?
//
// It knows the colours and nothing else: whether to use them at all is for whoever writes, and what
// is said must not depend on them.
package palette

// Tone is how a piece of text looks. The zero value is text as it is.
type Tone uint8

// The tones. Blue and orange are told apart with any of the usual deficiencies; signs and words stand
// beside them. Source: Okabe and Ito, "Color Universal Design".
const (
	Plain Tone = iota
	Faint
	Strong
	News      // blue: something new comes, or all is well
	Attention // orange: worth a look
	Bad       // orange and bold: something is wrong
	Heading   // the heads of columns
	Chosen    // the row of the cursor
)

// code is the tone for a terminal of 256 colours, as parameters of SGR (ECMA-48, 8.3.117). An unknown tone is Plain.
func (t Tone) code() string {
	codes := [...]string{"", "2", "1", "38;5;75", "38;5;214", "1;38;5;214", "1;4", "7"}
	if int(t) >= len(codes) {
		return ""
	}
	return codes[t]
}

// Paint puts the tone around a text of one line. Empty text stays empty.
func (t Tone) Paint(text string) string {
	code := t.code()
	if text == "" || code == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
