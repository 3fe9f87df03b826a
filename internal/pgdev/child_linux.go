package pgdev

import "syscall"

// serverAttributes give the server a process group of its own (Ctrl-C in a terminal must not reach
// it before us) and make the kernel shut it down in order when this process dies, however it dies.
func serverAttributes(owner account) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: owner.credential, Setpgid: true, Pdeathsig: syscall.SIGINT}
}
