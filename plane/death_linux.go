package plane

import (
	"os/exec"
	"syscall"
)

// dieWithParent makes the kernel stop the child when we die, even by SIGKILL. It is also in a process group of its own, so
// that Ctrl-C reaches only us and we take things down in order.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
