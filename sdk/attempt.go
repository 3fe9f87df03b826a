package sdk

import (
	"context"
	"log/slog"
	"time"
)

// Attempt tells a function what it carries out.
type Attempt struct {
	// ExecutionID names the node run: the same for all its attempts, and new after a rerun. Handed to other systems it
	// keeps what is tried twice from happening twice (S18).
	ExecutionID string
	// Number counts attempts, 1 first.
	Number                         int
	Run, Namespace, Workflow, Node string
	// ScheduledAt is the run's logical time, LogicalDate its date in the schedule's zone as 2006-01-02 (S11).
	ScheduledAt time.Time
	LogicalDate string
	// PreviousScheduledAt is nil for a schedule's first run and for runs no schedule started.
	PreviousScheduledAt *time.Time
	// Deadline is when the attempt's time is over, by this machine's clock; its context ends then.
	Deadline time.Time
}

type callKey struct{}

func withCall(ctx context.Context, c *Call) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}

func callOf(ctx context.Context) *Call {
	if c, ok := ctx.Value(callKey{}).(*Call); ok {
		return c
	}
	return &Call{}
}

// AttemptFrom returns the attempt that ctx belongs to; outside of one, the zero Attempt.
func AttemptFrom(ctx context.Context) Attempt { return callOf(ctx).Attempt }

// LogicalDate returns the run's business date as 2006-01-02; outside of an attempt, "".
func LogicalDate(ctx context.Context) string { return callOf(ctx).Attempt.LogicalDate }

// Params reads the run's parameters into a struct, which WithParams or Node should have declared; outside of an
// attempt it is the zero value. The error is permanent: the parameters do not fit P.
func Params[P any](ctx context.Context) (P, error) {
	p, err := decodeParams[P](*callOf(ctx))
	if err != nil {
		return p, PermanentCode(CodeInvalidInput, err)
	}
	return p, nil
}

// Logger writes into the attempt's log, which people read beside the run; outside of an attempt it is slog.Default.
func Logger(ctx context.Context) *slog.Logger {
	if l := callOf(ctx).Logger; l != nil {
		return l
	}
	return slog.Default()
}
