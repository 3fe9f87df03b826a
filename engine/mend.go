package engine

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

// investigate reads what is odd about those runs of a movement that are to be mended and of which nothing else is moved.
func (m *movement) investigate(ctx context.Context, tx pgx.Tx) error {
	moved := make(map[store.RunID]bool)
	var runs []store.RunID
	for _, f := range m.batch {
		moved[f.claim.Attempt.Run] = moved[f.claim.Attempt.Run] || !f.mend
	}
	for run, other := range moved {
		if !other {
			runs = append(runs, run)
		}
	}
	if len(runs) == 0 {
		return nil
	}
	odd, err := m.engine.store.Oddities(ctx, tx, runs, forgottenAfter)
	if err != nil {
		return err
	}
	m.probes = probes(runs, odd)
	return nil
}

// mend sets right what has one right answer of a run, as it is found under the lock, and reports whether there was anything. A run
// of which somebody wants something goes on without.
func (m *movement) mend(r *moving) (mended bool, err error) {
	found, err := r.troubles()
	if err != nil {
		return false, err
	}
	for _, t := range found {
		if t.mend != nil {
			t.mend(m, r)
			mended = true
		}
	}
	for _, f := range m.batch {
		if !f.mend || f.claim.Attempt.Run != r.row.ID {
			continue
		}
		f.mended, f.left = nil, nil // of a try that was not committed
		for _, t := range found {
			if t.mend != nil {
				f.mended = append(f.mended, t.Finding)
			} else {
				f.left = append(f.left, t.Finding)
			}
		}
	}
	return mended, nil
}

// lose ends an attempt of which nothing is there, or which nobody would take any more, as lost: where it goes next is the rules' affair (S16, S18).
func (m *movement) lose(r *moving, a store.Attempt, row store.Taken) {
	at, ok := r.spot(a)
	if !ok {
		return
	}
	m.discards = append(m.discards, row) // with what the attempt has of slots
	n := r.facts(at)
	n.State, n.Attempt = progress.Running, a.Number
	o := lost()
	r.results[at] = accepted{f: &finished{outcome: o, actor: "engine"}, taken: row}
	r.events = append(r.events, progress.Event{Result: &progress.Result{Node: at.node, Shard: at.shard, Err: o.Err}})
}
