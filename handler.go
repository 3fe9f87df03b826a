package ax

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/engine"
	"github.com/ax-run/ax/sdk"
)

// codeHandler is the code of a function's error that has none.
const codeHandler = "handler_error"

// executor lets the engine run a handler.
func executor(h sdk.Handler) engine.Executor {
	return engine.ExecutorFunc(func(ctx context.Context, t *engine.Task) engine.Outcome {
		return outcome(h(ctx, call(t)))
	})
}

func call(t *engine.Task) sdk.Call {
	return sdk.Call{
		Attempt: sdk.Attempt{
			ExecutionID: t.Attempt.ExecutionID(), Number: t.Attempt.Number, Run: t.Attempt.Run.String(),
			Namespace: t.Facts.Namespace, Workflow: t.Facts.Workflow, Node: t.Attempt.Node,
			ScheduledAt: t.Facts.ScheduledAt, LogicalDate: t.Facts.LogicalDate, PreviousScheduledAt: t.Facts.PreviousScheduledAt,
			Deadline: t.Deadline,
		},
		Params: t.Facts.Params, Inputs: t.Inputs,
		Logger: slog.New(slog.NewTextHandler(t.Log.Stream("log"), &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: withoutTime})),
	}
}

// withoutTime leaves out the time of a log line: the log keeps one by itself.
func withoutTime(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}

// outcome says what a handler's end means to the engine (S16).
func outcome(output json.RawMessage, err error) engine.Outcome {
	if err == nil {
		return engine.Outcome{Output: output}
	}
	var skipped *sdk.SkipError
	if errors.As(err, &skipped) {
		return engine.Outcome{Skipped: true, Reason: skipped.Reason}
	}
	failed := &progress.Error{Class: progress.System, Code: codeHandler, Message: err.Error()}
	var told *sdk.Error
	if errors.As(err, &told) {
		failed.RetryAfter = told.RetryAfter
		if told.Permanent {
			failed.Class = progress.Permanent
		}
		if told.Code != "" {
			failed.Code = told.Code
		}
	}
	return engine.Outcome{Err: failed}
}
