package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

// Decision is what a person says to an approval.
type Decision struct {
	Actor, Note string
	Approved    bool
}

// ErrNotAsking says that a node does not wait for a person, or does not any more, because somebody else was faster.
var ErrNotAsking = errors.New("it does not wait for a person (any more)")

// Decide ends an approval: approved, the node succeeds with who and why as its output; refused, it fails for good. The
// attempt's generation and number need not be known. ErrNotAsking says that nothing waits for a decision there.
func (e *Engine) Decide(ctx context.Context, a store.Attempt, d Decision) error {
	claim, err := e.store.Approval(ctx, a)
	if errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("approval of %s: %w", a.ExecutionID(), ErrNotAsking)
	}
	if err != nil {
		return err
	}
	output, err := json.Marshal(map[string]string{"by": d.Actor, "note": d.Note})
	if err != nil {
		return fmt.Errorf("write the decision: %w", err)
	}
	outcome := Outcome{Output: output, Reason: d.Note}
	if !d.Approved {
		outcome = Outcome{Err: &progress.Error{Class: progress.Permanent, Code: "refused", Message: fmt.Sprintf("%s refused: %s", d.Actor, d.Note)}}
	}
	r := e.completer.finish(ctx, &finished{claim: claim, outcome: outcome.checked(), actor: d.Actor})
	if errors.Is(r.err, ErrStale) {
		return fmt.Errorf("approval of %s: %w", a.ExecutionID(), ErrNotAsking)
	}
	return r.err
}
