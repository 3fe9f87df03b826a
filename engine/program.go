package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// drainPatience is how long the output of a killed group may still be open before it is given up on: only a process that left the
// group can hold it.
const drainPatience = time.Second

// program is a command that runs in a process group of its own. A signal to the group reaches whatever the command started, unless
// it left the group.
//
// The group's number is safe to signal until its first process is reaped, however long ago that one ended. So one goroutine
// starts the process and, when told that all signals are sent, reaps it; another, in run, watches and signals.
type program struct {
	cmd   *exec.Cmd
	grace time.Duration
	// complaints are what went wrong besides the command's own end.
	complaints []error

	exited chan struct{} // the first process has ended, and is not reaped
	signed chan struct{} // no signal will be sent any more
	reaped chan struct{}
}

// run runs the command to its end and hands all it writes to two writers. When ctx ends the group is asked to end, and killed after
// the grace; stopped then says that the end was not the command's own. An error says that it did not begin.
func (p *program) run(ctx context.Context, stdout, stderr io.Writer) (stopped bool, err error) {
	if ctx.Err() != nil {
		return true, nil
	}
	streams, err := p.connect(stdout, stderr)
	if err != nil {
		return false, err
	}
	p.exited, p.signed, p.reaped = make(chan struct{}), make(chan struct{}), make(chan struct{})
	started := make(chan error, 1)
	go p.live(started)
	err = <-started
	drained := streams.drain()
	if err == nil {
		stopped = p.watch(ctx, drained)
	}
	streams.finish(drained)
	p.complaints = append(p.complaints, streams.failed...)
	return stopped, err
}

// live starts and reaps the command on a thread that lives as long: the kernel sends the death signal of a process when the thread
// that started it ends.
func (p *program) live(started chan<- error) {
	runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
	p.cmd.SysProcAttr = ownGroup()
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	reap := awaitExit(p.cmd)
	close(p.exited)
	<-p.signed
	var ended *exec.ExitError
	if err := reap(); err != nil && !errors.As(err, &ended) {
		p.complaints = append(p.complaints, fmt.Errorf("wait for the command: %w", err))
	}
	close(p.reaped)
}

// watch waits for the command's end, which it brings about when ctx ends, and leaves nothing of the group behind.
func (p *program) watch(ctx context.Context, drained <-chan struct{}) (stopped bool) {
	select {
	case <-p.exited:
	case <-ctx.Done():
		stopped = true
	}
	grace := p.grace
	if errors.Is(context.Cause(ctx), errLeaseOver) {
		grace = 0 // others are about to take over
	}
	patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if stopped {
		p.signal(syscall.SIGTERM)
		select {
		case <-p.exited:
		case <-patience.Done():
			p.signal(syscall.SIGKILL)
			<-p.exited
		}
	}
	select {
	case <-drained:
	case <-patience.Done():
	}
	p.signal(syscall.SIGKILL)
	close(p.signed)
	<-p.reaped
	return stopped
}

func (p *program) signal(sig syscall.Signal) {
	if err := syscall.Kill(-p.cmd.Process.Pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		p.complaints = append(p.complaints, fmt.Errorf("signal the command: %w", err))
	}
}

// streams are the pipes of a command's output. They are ours, not exec.Cmd's, because it would wait for their end as long as
// anything holds them.
type streams struct {
	ours, theirs []*os.File
	into         []io.Writer
	failed       []error
}

func (p *program) connect(stdout, stderr io.Writer) (*streams, error) {
	s := &streams{into: []io.Writer{stdout, stderr}}
	for _, end := range []*io.Writer{&p.cmd.Stdout, &p.cmd.Stderr} {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, errors.Join(fmt.Errorf("make a pipe: %w", err), closeAll(s.ours), closeAll(s.theirs))
		}
		s.ours, s.theirs, *end = append(s.ours, r), append(s.theirs, w), w
	}
	return s, nil
}

// drain begins to copy; the channel is closed when both pipes are at their end.
func (s *streams) drain() <-chan struct{} {
	if err := closeAll(s.theirs); err != nil {
		s.failed = append(s.failed, err)
	}
	results := make(chan error, len(s.ours))
	for i, r := range s.ours {
		go func() {
			_, err := io.Copy(s.into[i], r)
			results <- err
		}()
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		for range s.ours {
			switch err := <-results; {
			case errors.Is(err, os.ErrClosed):
				s.failed = append(s.failed, errors.New("a process that left the command's group still holds its output; what it writes is not kept"))
			case err != nil:
				s.failed = append(s.failed, fmt.Errorf("read the command's output: %w", err))
			}
		}
	}()
	return drained
}

// finish waits for the rest of the output, but not for processes that left the group.
func (s *streams) finish(drained <-chan struct{}) {
	timer := time.NewTimer(drainPatience)
	defer timer.Stop()
	select {
	case <-drained:
	case <-timer.C:
	}
	err := closeAll(s.ours)
	<-drained
	if err != nil {
		s.failed = append(s.failed, err)
	}
}

func closeAll(files []*os.File) error {
	var failed []error
	for _, f := range files {
		failed = append(failed, f.Close())
	}
	return errors.Join(failed...)
}

// signalOf tells by which signal a process was ended, if one did it.
func signalOf(state *os.ProcessState) (sig syscall.Signal, killed bool) {
	status, known := state.Sys().(syscall.WaitStatus)
	if !known || !status.Signaled() {
		return 0, false
	}
	return status.Signal(), true
}
