package leash

import "syscall"

// attributes make the kernel kill the child when the thread that started it ends, which Start ties to our life.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
