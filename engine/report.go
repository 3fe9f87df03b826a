package engine

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/ax-run/ax/dag/progress"
)

// Report is how a worker of the worker protocol tells an attempt's end, in an answer or at result_url (contract §3). Unknown fields are ignored.
type Report struct {
	// Status is succeeded, failed or skipped.
	Status string          `json:"status"`
	Output json.RawMessage `json:"output,omitempty"`
	Error  ReportedError   `json:"error,omitzero"`
	// Log is text that is added to the attempt's log.
	Log string `json:"log,omitempty"`
}

// ReportedError is a worker's own error: only what it calls permanent is final, everything else may be tried again.
type ReportedError struct {
	Class   progress.Class `json:"class,omitempty"`
	Code    string         `json:"code,omitempty"`
	Message string         `json:"message,omitempty"`
	// RetryAfter asks for this many seconds before the next attempt, at the least.
	RetryAfter float64 `json:"retry_after,omitempty"`
}

// outcome is what a report means; clean takes out of its texts what must not be repeated.
func (r *Report) outcome(clean func(string) string) Outcome {
	message := clean(r.Error.Message)
	switch r.Status {
	case "succeeded":
		return Outcome{Output: r.Output}
	case "skipped":
		return Outcome{Skipped: true, Reason: message}
	case "failed":
		return Outcome{Err: r.failure(clean, message)}
	}
	return Outcome{Err: invalidOutput(fmt.Sprintf("the status in its body is %q, not succeeded, failed or skipped", cut(clean(r.Status))))}
}

func (r *Report) failure(clean func(string) string, message string) *progress.Error {
	err := &progress.Error{Class: progress.System, Code: clean(r.Error.Code), Message: message}
	if err.Code == "" {
		err.Code = "failed"
	}
	if message == "" {
		err.Message = "the worker says that it failed, and not why"
	}
	if r.Error.Class == progress.Permanent {
		err.Class = progress.Permanent
		return err
	}
	if seconds := r.Error.RetryAfter; seconds > 0 {
		err.RetryAfter = time.Duration(min(seconds, maxRetryAfter.Seconds()) * float64(time.Second))
	}
	return err
}
