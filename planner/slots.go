package planner

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

// Verdict is what a backfill makes of an instant.
type Verdict string

// The verdicts.
const (
	// VerdictRun makes the run that the instant does not have, VerdictReplay one that runs again what of it did not end well, VerdictRepeat
	// one that runs all of it again.
	VerdictRun    Verdict = "run"
	VerdictReplay Verdict = "replay"
	VerdictRepeat Verdict = "repeat"
	VerdictNone   Verdict = "none"
)

// Why nothing is made of an instant.
const (
	// NoneHasRun has a run that is not to be repeated, NoneActive one that goes on.
	NoneHasRun = "has_run"
	NoneActive = "active"
	// NoneCalendar is a date that the schedule's calendars exclude.
	NoneCalendar = "calendar"
	// NoneExpired had a run that is not kept any more, or may have had one before the ledger begins.
	NoneExpired = "expired"
)

// weighed is an instant, what is known of it and what becomes of it.
type weighed struct {
	slot
	fact    store.SlotFact
	verdict Verdict
	why     string
}

// weigh decides what a backfill makes of an instant (S32). A run that ended in any way but success has failed.
func weigh(reprocess string, s slot, f store.SlotFact) weighed {
	w := weighed{slot: s, fact: f, verdict: VerdictNone}
	switch {
	case s.era == nil || s.era.line.excludes(s.at):
		w.why = NoneCalendar
	case s.forgotten && f.Result == "" && reprocess != store.ReprocessAll:
		w.why = NoneExpired
	case f.Filled == 0:
		w.verdict = VerdictRun
	case f.Run == 0:
		w.why = NoneExpired
	case !f.State.Terminal():
		w.why = NoneActive
	case reprocess == store.ReprocessAll:
		w.verdict = VerdictRepeat
	case reprocess == store.ReprocessFailed && f.State != progress.Succeeded:
		w.verdict = VerdictReplay
	default:
		w.why = NoneHasRun
	}
	return w
}

// weighAll decides some instants, in their order.
func weighAll(ctx context.Context, s *store.Store, tx pgx.Tx, reprocess string, slots []slot) ([]weighed, error) {
	instants := make(map[int64][]time.Time)
	for _, one := range slots {
		instants[one.schedule] = append(instants[one.schedule], one.at)
	}
	type key struct {
		schedule int64
		at       int64
	}
	facts := make(map[key]store.SlotFact, len(slots))
	for sched, list := range instants {
		got, err := s.SlotFacts(ctx, tx, sched, list)
		if err != nil {
			return nil, err
		}
		for _, f := range got {
			facts[key{sched, f.At.UnixMicro()}] = f
		}
	}
	out := make([]weighed, len(slots))
	for i, one := range slots {
		f := facts[key{one.schedule, one.at.UnixMicro()}]
		one.previous = f.Previous
		out[i] = weigh(reprocess, one, f)
	}
	return out, nil
}
