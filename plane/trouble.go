package plane

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
)

// leastFree is how little room on a disk counts as none: a program whose last words found no room
// for themselves left a little, or somebody made some since.
const leastFree = 16 << 20

const more = "end other programs, or give the machine more"

// End is how a program of the lab ended.
type End struct {
	Err  error  // as os/exec has it; nil = not known
	Said string // its last words, or the error's
	Dir  string // where it writes
	Free int64  // bytes that are free there; negative = not known
}

// Sentence says what ended a program, and what to do, where that is one of the things that people can
// mend: a full disk, or no memory; "" otherwise.
func (e End) Sentence() string {
	said := strings.ToLower(e.Said)
	if e.Err != nil {
		said += "\n" + strings.ToLower(e.Err.Error())
	}
	switch {
	case strings.Contains(said, "no space left on device"),
		strings.Contains(said, "disk quota exceeded"), e.Free >= 0 && e.Free < leastFree:
		return fmt.Sprintf("the disk that holds %s is full: make room there, or name another "+
			"place with --dir", e.Dir)
	case strings.Contains(said, "cannot allocate memory"),
		strings.Contains(said, "fatal error: out of memory"):
		return "there was no memory left: " + more
	case killed(e.Err):
		return "it was killed, by somebody or by the kernel, which does that when no memory is " +
			"left: " + more
	}
	return ""
}

// killed reports whether a program was killed by a signal that nobody here sent.
func killed(err error) bool {
	var x *exec.ExitError
	if !errors.As(err, &x) {
		return false
	}
	s, ok := x.Sys().(syscall.WaitStatus)
	return ok && s.Signaled() && s.Signal() == syscall.SIGKILL
}

// FreeBytes is how much room programs have on the disk that holds dir; negative when nobody can say.
func FreeBytes(dir string) int64 {
	var s syscall.Statfs_t
	if syscall.Statfs(dir, &s) != nil {
		return -1
	}
	return int64(s.Bavail) * int64(s.Bsize)
}

// Ended says how the plane's process ended; it is asked once Done is closed, and not after Stop or Kill.
func (p *Plane) Ended() End {
	return End{Err: p.child.Err(), Said: tail(p.cfg.Log), Dir: p.cfg.Dir,
		Free: FreeBytes(p.cfg.Dir)}
}
