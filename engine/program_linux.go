package engine

import (
	"fmt"
	"os/exec"
	"syscall"
)

// ownGroup gives a command a process group of its own, and makes the kernel kill it when this process dies, however it dies: its
// attempt is about to be given to another worker.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// Of waitid(2), which package syscall does not name.
const (
	idOfProcess = 1         // P_PID
	untilExit   = 4         // WEXITED
	leaveZombie = 0x1000000 // WNOWAIT
)

// awaitExit returns when the command has ended. It is a zombie until reap, and its number nobody else's.
func awaitExit(cmd *exec.Cmd) (reap func() error) {
	for {
		_, _, err := syscall.Syscall6(syscall.SYS_WAITID, idOfProcess, uintptr(cmd.Process.Pid), 0, untilExit|leaveZombie, 0, 0)
		switch err {
		case 0:
			return cmd.Wait
		case syscall.EINTR:
		default:
			waited := cmd.Wait()
			return func() error {
				if waited != nil {
					return waited
				}
				return fmt.Errorf("waitid: %w", err)
			}
		}
	}
}
