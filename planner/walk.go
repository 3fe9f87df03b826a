package planner

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/internal/store"
)

// walk goes through the instants of a backfill's lines in its order, a few at a time, however many there are.
type walk struct {
	newest bool
	lines  []*walkLine
}

// walkLine is one schedule's part; its row says how far the walk is.
type walkLine struct {
	*store.BackfillLine
	eras   eras
	ledger store.LedgerSpan
}

// newWalk reads what the schedules of some lines were and are. Calendars are those of today.
func newWalk(ctx context.Context, s *store.Store, tx pgx.Tx, b *store.Backfill) (*walk, error) {
	calendars, err := s.AllCalendars(ctx, tx, b.Namespace)
	if err != nil {
		return nil, err
	}
	w := &walk{newest: b.NewestFirst}
	for i := range b.Lines {
		history, err := s.SpecHistory(ctx, tx, b.Lines[i].Schedule)
		if err != nil {
			return nil, err
		}
		ledger, err := s.LedgerSpan(ctx, tx, b.Lines[i].Schedule)
		if err != nil {
			return nil, err
		}
		line := &walkLine{ledger: ledger, BackfillLine: &b.Lines[i], eras: newEras(history, b.Workflow, calendars)}
		line.eras.reach(line.From)
		w.lines = append(w.lines, line)
	}
	return w, nil
}

// next are the next n instants; fewer at the end. The walk stays where it is.
func (w *walk) next(n int) (slots []slot) {
	for _, l := range w.lines {
		for _, s := range l.next(n, w.newest) {
			s.schedule, s.name, s.forgotten = l.Schedule, l.Name, l.ledger.Forgotten(s.at)
			slots = append(slots, s)
		}
	}
	slices.SortFunc(slots, func(a, b slot) int {
		order := cmp.Or(a.at.Compare(b.at), cmp.Compare(a.schedule, b.schedule))
		if w.newest {
			return -order
		}
		return order
	})
	return slots[:min(n, len(slots))]
}

func (l *walkLine) next(n int, newest bool) []slot {
	left := l.all()
	switch {
	case l.At == nil:
	case newest:
		left.until = earliest(left.until, l.At.Add(-tick))
	default:
		left.after = latest(left.after, *l.At)
	}
	if newest {
		return l.eras.last(left, n)
	}
	return l.eras.first(left, n)
}

func (l *walkLine) all() stretch { return stretch{after: l.From.Add(-tick), until: l.Until} }

// pass moves the walk on: some instants that next gave are decided.
func (w *walk) pass(slots []slot) {
	for _, s := range slots {
		for _, l := range w.lines {
			if l.Schedule == s.schedule {
				at := s.at.UTC()
				l.At = &at
			}
		}
	}
}

// total is how many instants there are in all.
func (w *walk) total() (n int) {
	for _, l := range w.lines {
		n += l.eras.count(l.all())
	}
	return n
}

// at finds an instant of a schedule; nil era where there is none any more.
func (w *walk) at(sched int64, at time.Time) slot {
	s := slot{schedule: sched, at: at}
	for _, l := range w.lines {
		if l.Schedule == sched {
			s.name, s.era, s.forgotten = l.Name, l.eras.at(at), l.ledger.Forgotten(at)
		}
	}
	if s.era != nil {
		s.at = at.In(s.era.line.zone)
	}
	return s
}
