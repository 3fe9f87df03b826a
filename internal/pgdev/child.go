package pgdev

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// child is the server's process. status may be read once exited is closed.
type child struct {
	cmd    *exec.Cmd
	exited chan struct{}
	status error
}

// startChild starts postgres in a goroutine that lives as long as the server: the kernel sends the
// death signal of a child when the *thread* that started it ends, so that thread must be its own.
func startChild(c cluster, log *os.File) (*child, error) {
	cmd := exec.Command(c.programs.postgres(), c.arguments()...)
	cmd.Dir = c.dir
	cmd.Env = environment(c.dir, c.programs.dir)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = serverAttributes(c.owner)
	started := &child{cmd: cmd, exited: make(chan struct{})}
	result := make(chan error, 1)
	go started.live(result)
	if err := <-result; err != nil {
		return nil, fmt.Errorf("start %s: %w", c.programs.postgres(), err)
	}
	return started, nil
}

func (c *child) live(result chan<- error) {
	runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
	if err := c.cmd.Start(); err != nil {
		result <- err
		return
	}
	result <- nil
	c.status = c.cmd.Wait()
	close(c.exited)
}

func (c *child) pid() int { return c.cmd.Process.Pid }

// signal sends sig to the server; one that is gone already is no error.
func (c *child) signal(sig syscall.Signal) error {
	if err := c.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal PostgreSQL: %w", err)
	}
	return nil
}
