package service

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"
)

const (
	// UntilWoken, returned by a round, makes the loop sleep until Wake.
	UntilWoken time.Duration = 1<<63 - 1
	// afterPanic is the pause after a round that panicked, so that a lasting fault does not spin.
	afterPanic = time.Second
)

// LoopConfig says what a Loop repeats.
type LoopConfig struct {
	// Name names the loop in its log lines and errors. Required.
	Name string
	// Round does the work once and returns how long to sleep before the next time: 0 means at once.
	// Rounds never overlap. Its ctx ends when the loop is to stop: a round that must finish what it
	// began takes context.WithoutCancel of it. A panic in it is logged and ends the round only.
	Round func(ctx context.Context) (next time.Duration)
	// Logger is told of panics. Nil: slog.Default.
	Logger *slog.Logger
}

// Loop is a Service that repeats a round in one goroutine, first at Start, then whenever its sleep
// is over or Wake is called.
type Loop struct {
	config LoopConfig
	wake   chan struct{}

	mu   sync.Mutex         // guards what follows; held over no waiting
	stop context.CancelFunc // nil unless the loop runs and nobody has called Stop
	done chan struct{}      // closed when the newest goroutine has ended; nil before the first Start
}

// NewLoop makes a loop that does not run yet.
func NewLoop(config LoopConfig) *Loop {
	if config.Logger == nil {
		config.Logger = slog.Default()
	}
	return &Loop{config: config, wake: make(chan struct{}, 1)}
}

// Start starts the goroutine. It never fails.
func (l *Loop) Start(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stop != nil {
		return nil
	}
	ctx, l.stop = context.WithCancel(context.WithoutCancel(ctx))
	before := l.done
	l.done = make(chan struct{})
	go l.run(ctx, before, l.done)
	return nil
}

// Wake ends the sleep before the next round. Wakes during a round, however many, cause one round
// more; a wake before Start is kept. It never blocks.
func (l *Loop) Wake() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Stop ends the ctx of the running round and waits for it.
func (l *Loop) Stop(ctx context.Context) error {
	l.mu.Lock()
	if l.stop != nil {
		l.stop()
		l.stop = nil
	}
	done := l.done
	l.mu.Unlock()
	if done == nil {
		return nil
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("stop %s: a round has not ended: %w", l.config.Name, ctx.Err())
	}
}

// run waits for the goroutine before it, which a Stop that lost patience may have left behind.
func (l *Loop) run(ctx context.Context, before <-chan struct{}, done chan<- struct{}) {
	defer close(done)
	if before != nil {
		<-before
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.wake:
		case <-timer.C:
		}
		if ctx.Err() != nil {
			return
		}
		timer.Reset(l.round(ctx))
	}
}

func (l *Loop) round(ctx context.Context) (next time.Duration) {
	defer func() {
		if fault := recover(); fault != nil {
			l.config.Logger.Error("loop panicked", "loop", l.config.Name, "panic", fault, "stack", string(debug.Stack()))
			next = afterPanic
		}
	}()
	return l.config.Round(ctx)
}
