//go:build !linux

package leash

import "syscall"

// attributes: elsewhere no kernel helps; a child that must not stay watches its standard input for the end.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
