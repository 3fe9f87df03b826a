// Package service gives everything that runs until it is stopped one shape, one loop and one order
// of stopping.
package service

import "context"

// Service runs from Start until Stop.
//
// Start returns when the service works. Its ctx bounds the starting and lends its values; a running
// service is ended by Stop alone, so that the order of stopping holds also when a signal ends the
// ctx of the whole program. Stop returns when nothing of the service runs any more, or with an error
// when its ctx ends first. Starting what runs and stopping what does not are no errors, and a stopped
// service may be started again.
type Service interface {
	Start(ctx context.Context) error
	Stop(ctx context.Context) error
}

// Funcs makes a Service of two functions, for what has another shape: a server of net/http, a client
// of River. A nil function does nothing.
type Funcs struct {
	OnStart func(ctx context.Context) error
	OnStop  func(ctx context.Context) error
}

// Start calls OnStart.
func (f Funcs) Start(ctx context.Context) error { return call(ctx, f.OnStart) }

// Stop calls OnStop.
func (f Funcs) Stop(ctx context.Context) error { return call(ctx, f.OnStop) }

func call(ctx context.Context, f func(context.Context) error) error {
	if f == nil {
		return nil
	}
	return f(ctx)
}
