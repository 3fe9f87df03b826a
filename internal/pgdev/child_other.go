//go:build !linux

package pgdev

import "syscall"

// serverAttributes give the server a process group of its own: Ctrl-C in a terminal must not reach
// it before us. Here no kernel ends it when this process is killed; the next start names it.
func serverAttributes(owner account) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: owner.credential, Setpgid: true}
}
