//go:build !linux

package engine

import (
	"os/exec"
	"syscall"
)

// ownGroup gives a command a process group of its own. Here no kernel ends it when this process is killed.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// awaitExit returns when the command has ended. It is reaped by then; its number stays the group's while anything is left in it.
func awaitExit(cmd *exec.Cmd) (reap func() error) {
	err := cmd.Wait()
	return func() error { return err }
}
