package planner

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/internal/store"
)

// triggerCatchup is the trigger of runs that resuming makes up.
const triggerCatchup = "catchup"

// maxPausedRows bounds how many rows of the ledger are read to find what a pause skipped.
const maxPausedRows = 20_000

// slot is an instant of a schedule for which a run is to be made up.
type slot struct {
	schedule int64
	name     string
	at       time.Time
	era      *era
	previous *time.Time
	// forgotten says that the ledger is not kept so far back: what is not in it may have been.
	forgotten bool
}

// trigger asks for the slot's run, with the schedule's params then.
func (s *slot) trigger(version int64, kind, actor string) (store.Trigger, error) {
	params, err := encodeParams(s.era.spec.Params)
	if err != nil {
		return store.Trigger{}, fmt.Errorf("encode params of schedule %d: %w", s.schedule, err)
	}
	return store.Trigger{
		Version: version, Kind: kind, Actor: actor, Schedule: s.schedule, ScheduledAt: s.at, PreviousScheduledAt: s.previous,
		LogicalDate: s.at.In(s.era.line.zone).Format(time.DateOnly), Params: params,
	}, nil
}

func encodeParams(params map[string]any) ([]byte, error) {
	if len(params) == 0 {
		return []byte("{}"), nil
	}
	return json.Marshal(params)
}

// know fills in the instant before each slot that has a run, of the ledger or among the slots, and leaves out slots that have one.
func know(slots []slot, facts []store.SlotRun) []slot {
	kept := slots[:0]
	for i, s := range slots {
		if facts[i].Run != 0 {
			continue
		}
		s.previous = facts[i].Previous
		if n := len(kept); n > 0 && (s.previous == nil || kept[n-1].at.After(*s.previous)) {
			s.previous = &kept[n-1].at
		}
		kept = append(kept, s)
	}
	return kept
}

// pausedSlots are the newest instants that a schedule skipped since it was paused, oldest first: one, or as many as its limit says.
func pausedSlots(e eras, rows []store.Fire, catchup dag.Catchup) (slots []slot) {
	for _, row := range rows {
		in := e.at(row.At)
		if in == nil {
			continue
		}
		want := 1
		if catchup == dag.CatchupAll {
			want = max(in.spec.CatchupLimit, 1)
		}
		if want -= len(slots); want <= 0 {
			break
		}
		for _, at := range in.newest(row, want) {
			slots = append(slots, slot{schedule: row.Schedule, at: at, era: in})
		}
	}
	slices.SortFunc(slots, func(a, b slot) int { return a.at.Compare(b.at) })
	return slots
}

// newest are the last n instants of a row of the ledger.
func (e *era) newest(row store.Fire, n int) []time.Time {
	if row.Until == nil {
		return []time.Time{row.At.In(e.line.zone)}
	}
	var instants []time.Time
	after := e.line.tail(row.At.Add(-tick), *row.Until, n)
	for at, ok := e.line.next(after); ok && !at.After(*row.Until); at, ok = e.line.next(at) {
		instants = append(instants, at)
	}
	return instants
}

// fill makes up what a schedule skipped while its workflow was paused, and returns the ledger's rows. What may not run stays skipped.
func (r *resuming) fill(ctx context.Context, tx pgx.Tx, sched store.Schedule, was store.Resumed) ([]store.Fire, error) {
	rows, err := r.store.PausedFires(ctx, tx, sched.ID, was.PausedAt, maxPausedRows)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	history, err := r.store.SpecHistory(ctx, tx, sched.ID)
	if err != nil {
		return nil, err
	}
	slots := pausedSlots(newEras(history, r.Workflow, r.calendars), rows, r.Catchup)
	instants := make([]time.Time, len(slots))
	for i := range slots {
		instants[i] = slots[i].at
	}
	facts, err := r.store.SlotRuns(ctx, tx, sched.ID, instants)
	if err != nil {
		return nil, err
	}
	var triggers []store.Trigger
	for _, s := range know(slots, facts) {
		t, err := s.trigger(was.Version, triggerCatchup, r.Actor)
		if err != nil {
			return nil, err
		}
		triggers = append(triggers, t)
	}
	if len(triggers) == 0 {
		return nil, nil
	}
	launched, err := r.Launcher.Launch(ctx, tx, triggers)
	if err != nil {
		return nil, err
	}
	return fills(triggers, launched)
}

// fills are the ledger's rows of made-up runs: for what was not launched there is none, since the first row says already why there is no run.
func fills(triggers []store.Trigger, launched []store.Launched) (rows []store.Fire, err error) {
	for i, l := range launched {
		switch {
		case l.Err != nil && store.Transient(l.Err):
			return nil, l.Err
		case l.Run != 0:
			t := &triggers[i]
			rows = append(rows, store.Fire{
				Schedule: t.Schedule, At: t.ScheduledAt, Count: 1, Kind: store.FillKind, Result: store.Fired, Run: l.Run, Reason: t.Kind,
			})
		}
	}
	return rows, nil
}
