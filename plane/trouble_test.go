package plane

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
)

func TestWhatPeopleCanMendIsASentence(t *testing.T) {
	ends := func(script string) error {
		t.Helper()
		err := exec.Command("/bin/sh", "-c", script).Run()
		if err == nil {
			t.Fatalf("%s ended well", script)
		}
		return err
	}
	const plenty = 1 << 30
	const full, none = "the disk that holds /lab is full", "there was no memory left"
	const killed = "it was killed, by somebody or by the kernel"
	for name, tc := range map[string]struct {
		end  End
		want string
	}{
		"etcd's log": {End{Err: ends("exit 1"), Free: plenty,
			Said: `{"msg":"failed to save","error":"write db: no space left on device"}`}, full},
		"an error": {End{Err: errors.New("write x: No space left on device"), Free: plenty},
			full},
		"nothing was said":  {End{Err: ends("exit 1"), Free: 4096}, full},
		"killed":            {End{Err: ends("kill -9 $$"), Free: plenty}, killed},
		"killed, disk full": {End{Err: ends("kill -9 $$"), Free: 0}, full},
		"Go's runtime": {End{Err: ends("exit 2"), Free: plenty,
			Said: "fatal error: out of memory"}, none},
		"it could not start": {End{Err: errors.New("fork/exec: cannot allocate memory"),
			Free: -1}, none},
		"asked to end": {End{Err: ends("kill -15 $$"), Free: plenty}, ""},
		"a defect":     {End{Err: ends("exit 1"), Free: -1, Said: "panic: oh"}, ""},
	} {
		tc.end.Dir = "/lab"
		got := tc.end.Sentence()
		if (got == "") != (tc.want == "") || !strings.HasPrefix(got, tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	if FreeBytes(t.TempDir()) <= 0 || FreeBytes("/nowhere/at/all") >= 0 {
		t.Error("free bytes are not read")
	}
}
