//go:build !linux

package plane

import (
	"os/exec"
	"syscall"
)

// dieWithParent puts the child in a process group of its own. That we died it learns from the end of its standard input.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}
