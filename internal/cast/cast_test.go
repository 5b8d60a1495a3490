package cast_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-aks/karpenter/internal/cast"
	"github.com/karpenter-aks/karpenter/internal/mutated"
)

// session is one of a few lines, with colours and what markup has to hide.
func session() cast.Recording {
	const first = "\x1b[1mnodes\x1b[0m & \"pods\""
	return cast.Recording{Width: 20, Height: 3, Title: "a < b",
		Frames: []cast.Frame{
			{Lines: []string{first, "", "\x1b[38;5;214m! <one>\x1b[0m"}},
			{At: 1500 * time.Millisecond, Lines: []string{first, "█░ 50%"}},
			{At: 4 * time.Second, Lines: []string{"", "\x1b[7m> n1\x1b[0m 漢"}},
		},
		Presses: []cast.Press{{At: time.Second, Key: "+"}, {At: 1600 * time.Millisecond, Key: "<"},
			{At: 5 * time.Second, Key: "q"}}}
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	want := session()
	for i := range want.Frames { // a screen has all its lines
		for len(want.Frames[i].Lines) < want.Height {
			want.Frames[i].Lines = append(want.Frames[i].Lines, "")
		}
	}
	got, err := cast.Read(session().Cast())
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v: %v, want %v", err, got, want)
	}
}

// Only lines that changed are written again.
func TestACastSaysWhatChanges(t *testing.T) {
	lines := strings.Split(string(session().Cast()), "\n")
	want := `[1.500,"o","\u001b[2;1H\u001b[2K█░ 50%\u001b[3;1H\u001b[2K"]`
	if lines[3] != want {
		t.Errorf("the second frame is\n%s, want\n%s", lines[3], want)
	}
	want = `{"version":2,"width":20,"height":3,"title":"a < b"}`
	if lines[0] != want {
		t.Errorf("the header is %s, want %s", lines[0], want)
	}
}

func TestWhatIsNoneOfOursIsRefused(t *testing.T) {
	const head = `{"version":2,"width":20,"height":3,"title":""}` + "\n"
	for _, text := range []string{"", "{}", `{"version":3,"width":20,"height":3}`, head + "[]",
		head + `[1,"o","plain"]`, head + `[1,"o","\u001b[9;1H\u001b[2Kx"]`, head + `[1,"m","x"]`,
		head + `[2,"i","a"]` + "\n" + `[1,"i","b"]`, head + `["1","i","b"]`, head + `[1,"i",2]`} {
		if r, err := cast.Read([]byte(text)); err == nil {
			t.Errorf("%q is read as %v", text, r)
		}
	}
}

// texts are what an XML reader makes of a drawing, one per element text; it must be well formed and name nothing elsewhere.
func texts(t *testing.T, svg []byte) (out []string) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(svg))
	in := ""
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, svg)
		}
		switch x := tok.(type) {
		case xml.StartElement:
			in = x.Name.Local
			for _, a := range x.Attr {
				if strings.Contains(a.Value, "url(") || a.Name.Local == "href" {
					t.Errorf("<%s %s=%q> may load something", in, a.Name.Local, a.Value)
				}
			}
		case xml.CharData:
			if in == "tspan" || in == "text" || in == "animate" {
				if s := strings.TrimSpace(string(x)); s != "" {
					out = append(out, s)
				}
			}
		}
	}
}

func TestTheDrawingShowsEachLineInItsTime(t *testing.T) {
	svg := session().SVG()
	got, want := fmt.Sprintf("%q", texts(t, svg)), `["nodes" "& \"pods\"" "█░ 50%" `+
		`"> n1" "漢" "! <one>" "key pressed: +" "key pressed: <" "key pressed: q"]`
	if got != want {
		t.Errorf("it says\n%s, want\n%s", got, want)
	}
	for _, want := range []string{ // 4 s and a rest of 3 s
		`values="visible;hidden" keyTimes="0;0.5714" calcMode="discrete" dur="7s"`,
		`values="hidden;visible;hidden" keyTimes="0;0.2143;0.5714" calcMode="discrete"`,
		`values="hidden;visible" keyTimes="0;0.5714"`,
		`<text y="26" xml:space="preserve"><animate`,                     // of the fullest frame
		`<text y="62" xml:space="preserve" visibility="hidden"><animate`, // of another
		`<tspan x="12" textLength="58.8" fill="#ffaf00">! &lt;one&gt;</tspan>`,
		`textLength="33.6" fill="#5fafff" font-weight="bold">&gt; n1</tspan>`,
		`textLength="42" font-weight="bold">nodes</tspan><tspan x="62.4" textLength`,
	} {
		if !bytes.Contains(svg, []byte(want)) {
			t.Errorf("nothing of %s in\n%s", want, svg)
		}
	}
}

// FuzzRead: whatever a file says, it is refused, or what is written of it is read as the same.
func FuzzRead(f *testing.F) {
	mutated.AddBytes(f, 2000, string(session().Cast()))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := cast.Read(text)
		if err != nil {
			return
		}
		again, err := cast.Read(got.Cast())
		if err != nil || !reflect.DeepEqual(again, got) {
			t.Fatalf("%q is read as %v, and that again as %v, %v", text, got, again, err)
		}
		texts(t, got.SVG())
	})
}
