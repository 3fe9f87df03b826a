// Package batch gathers what many callers hand in at once, so that one commit serves them all.
package batch

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
)

// ErrStopped answers calls made to a batcher that is stopping or has stopped; nothing was done.
var ErrStopped = errors.New("the batcher has stopped")

// ErrUnknown answers a call whose context ended while its item was being flushed: whether the flush
// succeeds is not known to this caller.
var ErrUnknown = errors.New("gave up while the outcome was being decided")

// Config says how a Batcher flushes.
type Config[In, Out any] struct {
	// Flush does the work for all items and returns one result for each, in their order; its error
	// is every caller's. It runs in one goroutine, never twice at once. Its ctx ends only when Stop
	// loses patience: it does not depend on any caller. Required.
	Flush func(ctx context.Context, items []In) ([]Out, error)
	// Max bounds the items of one flush. Zero: 1000.
	Max int
}

// Batcher is group commit by availability: while one flush runs, whatever is handed in gathers and
// makes the next one. There is no timer: a lone item is flushed at once, and the busier the system,
// the larger the batches. Its Start and Stop have the shape of a service.
type Batcher[In, Out any] struct {
	config Config[In, Out]
	wake   chan struct{} // holds a token while there is something for the loop to see

	mu       sync.Mutex
	queue    []*call[In, Out]
	stopping bool
	done     chan struct{}      // of the running loop; nil before the first Start
	abort    context.CancelFunc // ends the running flush's ctx
}

type call[In, Out any] struct {
	item   In
	result chan result[Out] // buffered: the loop never waits for a caller
}

type result[Out any] struct {
	out Out
	err error
}

// New makes a batcher; what is handed in before Start waits for it.
func New[In, Out any](config Config[In, Out]) *Batcher[In, Out] {
	if config.Max <= 0 {
		config.Max = 1000
	}
	return &Batcher[In, Out]{config: config, wake: make(chan struct{}, 1)}
}

// Do hands in one item and waits for its result. When ctx ends first, an item that still waits is
// withdrawn (the error is ctx's), and one that is being flushed is not (the error is ErrUnknown too).
func (b *Batcher[In, Out]) Do(ctx context.Context, item In) (Out, error) {
	c := &call[In, Out]{item: item, result: make(chan result[Out], 1)}
	if err := b.enqueue(c); err != nil {
		var none Out
		return none, err
	}
	select {
	case r := <-c.result:
		return r.out, r.err
	case <-ctx.Done():
		return b.giveUp(ctx, c)
	}
}

func (b *Batcher[In, Out]) enqueue(c *call[In, Out]) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stopping {
		return ErrStopped
	}
	b.queue = append(b.queue, c)
	b.signal()
	return nil
}

func (b *Batcher[In, Out]) giveUp(ctx context.Context, c *call[In, Out]) (none Out, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, waiting := range b.queue {
		if waiting == c {
			b.queue = append(b.queue[:i], b.queue[i+1:]...)
			return none, ctx.Err()
		}
	}
	select {
	case r := <-c.result: // it was just decided
		return r.out, r.err
	default:
		return none, fmt.Errorf("%w: %w", ErrUnknown, ctx.Err())
	}
}

func (b *Batcher[In, Out]) signal() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// Start starts the loop. Starting again changes nothing; starting while a Stop still waits is an
// error.
func (b *Batcher[In, Out]) Start(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.done != nil && !b.stopping {
		return nil
	}
	if b.stopping && !closed(b.done) {
		return errors.New("start batcher: it is still stopping")
	}
	ctx, b.abort = context.WithCancel(context.WithoutCancel(ctx))
	b.stopping, b.done = false, make(chan struct{})
	go b.run(ctx, b.done)
	b.signal()
	return nil
}

// Stop refuses new items, flushes those handed in and returns when all are answered. When ctx ends
// first, the running flush's ctx is ended and whoever still waits is answered with ErrStopped.
func (b *Batcher[In, Out]) Stop(ctx context.Context) error {
	b.mu.Lock()
	b.stopping = true
	done, abort := b.done, b.abort
	if done == nil { // it never ran: nobody will flush what waits
		b.done = closedChannel()
		b.answer(b.takeLocked(len(b.queue)), nil, ErrStopped)
	}
	b.signal()
	b.mu.Unlock()
	if done == nil {
		return nil
	}
	select {
	case <-done:
		abort()
		return nil
	case <-ctx.Done():
		abort()
		<-done
		return fmt.Errorf("stop batcher: what was handed in was not all flushed: %w", ctx.Err())
	}
}

func closed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

func closedChannel() chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}

func (b *Batcher[In, Out]) run(ctx context.Context, done chan<- struct{}) {
	defer close(done)
	for range b.wake {
		for {
			calls, stopping := b.take()
			if len(calls) == 0 && stopping {
				return
			}
			if len(calls) == 0 {
				break
			}
			b.serve(ctx, calls)
		}
	}
}

func (b *Batcher[In, Out]) take() (calls []*call[In, Out], stopping bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.takeLocked(b.config.Max), b.stopping
}

func (b *Batcher[In, Out]) takeLocked(most int) []*call[In, Out] {
	n := min(most, len(b.queue))
	calls := b.queue[:n:n]
	b.queue = b.queue[n:]
	return calls
}

func (b *Batcher[In, Out]) serve(ctx context.Context, calls []*call[In, Out]) {
	if ctx.Err() != nil {
		b.answer(calls, nil, ErrStopped)
		return
	}
	items := make([]In, len(calls))
	for i, c := range calls {
		items[i] = c.item
	}
	outs, err := b.flush(ctx, items)
	if err == nil && len(outs) != len(items) {
		err = fmt.Errorf("flush returned %d results for %d items", len(outs), len(items))
	}
	b.answer(calls, outs, err)
}

// flush turns a panic into the error of this batch: the loop serves others too.
func (b *Batcher[In, Out]) flush(ctx context.Context, items []In) (outs []Out, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("flush panicked: %v\n%s", fault, debug.Stack())
		}
	}()
	return b.config.Flush(ctx, items)
}

func (b *Batcher[In, Out]) answer(calls []*call[In, Out], outs []Out, err error) {
	for i, c := range calls {
		r := result[Out]{err: err}
		if err == nil {
			r.out = outs[i]
		}
		c.result <- r
	}
}
