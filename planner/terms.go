package planner

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/internal/store"
)

// What a term may say, where it is not what it says by default.
const (
	onDone                 = "done"
	matchTime, matchLatest = "scheduled_at", "latest"
	takeFirst, takeEach    = "first", "each"
)

// sight is what a term sees of its workflow for one key.
type sight struct {
	// run is the run that the term takes; nil when there is none.
	run *store.TermRun
	// open says that other runs of the key go on, or that fires of it are still expected.
	open bool
	// unfired says that an expected fire of the key came and made no run.
	unfired bool
}

// verdict says whether a term is satisfied (S12), and by which run; nil is by none, which only done knows.
func verdict(t store.Term, s sight) (run *store.TermRun, ok bool) {
	if s.open {
		return nil, false
	}
	if s.run == nil {
		return nil, t.Outcome == onDone && s.unfired
	}
	if slices.Contains(t.States(), s.run.State) {
		return s.run, true
	}
	return nil, false
}

// look reads what a term sees. Each is the run that the key is about, for a term that takes each; 0 for others.
func (u *upstream) look(ctx context.Context, tx pgx.Tx, t store.Term, key store.TermKey, each store.RunID) (sight, error) {
	one := func(runs []store.TermRun, err error) (sight, error) {
		if err != nil || len(runs) == 0 {
			return sight{}, err
		}
		return sight{run: &runs[0]}, nil
	}
	switch {
	case t.Match == matchLatest:
		return one(u.store.LatestEnded(ctx, tx, t))
	case t.Take == takeEach && each != 0:
		return one(u.store.RunOfTerm(ctx, tx, t, each))
	case t.Take == takeEach, t.Take == takeFirst:
		s, err := one(u.store.RunsOfKey(ctx, tx, t, key, 1))
		if err != nil || s.run != nil || t.Outcome != onDone {
			return s, err
		}
		return u.lookForSlots(ctx, tx, t, key, s)
	}
	s, err := one(u.store.NewestOfKey(ctx, tx, t, key))
	if err != nil {
		return s, err
	}
	var newest store.RunID
	if s.run != nil {
		newest = s.run.Run
	}
	if s.open, err = u.store.GoingOn(ctx, tx, t.Upstream, key, newest); err != nil || s.open {
		return s, err
	}
	return u.lookForSlots(ctx, tx, t, key, s)
}

// lookForSlots sees whether fires of a key are still expected, and whether some came and made no run.
func (u *upstream) lookForSlots(ctx context.Context, tx pgx.Tx, t store.Term, key store.TermKey, s sight) (sight, error) {
	rows, err := u.store.SchedulesIn(ctx, tx, t.Upstream)
	if err != nil {
		return s, err
	}
	for _, row := range rows {
		line, err := lineOf(row, t.Upstream)
		if err != nil {
			continue // what cannot be read fires nothing
		}
		from, until, err := line.span(key)
		if err != nil {
			return s, err
		}
		if row.NextFireAt != nil && !line.instant(*row.NextFireAt).After(until) {
			s.open = true
			return s, nil
		}
		if s.run != nil || s.unfired || t.Outcome != onDone {
			continue
		}
		if s.unfired, err = u.store.Unfired(ctx, tx, row.ID, from, until); err != nil {
			return s, err
		}
	}
	return s, nil
}

// lineOf is a stored schedule's line without its calendars: when it is looked at next does not depend on them.
func lineOf(row store.ScheduleRow, workflow int64) (*times, error) {
	spec, err := decodeSpec(row.Spec)
	if err != nil {
		return nil, err
	}
	spec.Calendars = nil
	return Timetable{Spec: spec, Anchor: row.Anchor, Workflow: workflow}.line()
}

// span is the stretch of a key in a schedule's zone, both ends included.
func (t *times) span(key store.TermKey) (from, until time.Time, err error) {
	if !key.At.IsZero() {
		return key.At, key.At, nil
	}
	date, err := time.Parse(time.DateOnly, key.Date)
	if err != nil {
		return from, until, err
	}
	on := dayOf(date)
	return on.begin(t.zone), on.add(1).begin(t.zone).Add(-tick), nil
}
