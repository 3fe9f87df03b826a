package api

import (
	"cmp"
	"context"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/ax-run/ax/internal/store"
)

// Fire is an expected fire of a schedule and what became of it, or a stretch of them with one result (S9).
type Fire struct {
	Schedule    string     `json:"schedule"`
	ScheduledAt time.Time  `json:"scheduled_at"`
	Timezone    string     `json:"timezone,omitempty" doc:"The schedule's zone; absent for one that is no more."`
	Until       *time.Time `json:"until,omitempty" doc:"The last instant of a stretch."`
	Count       int        `json:"count" doc:"How many instants the row is for."`
	Kind        string     `json:"kind,omitempty" doc:"fire, or fill for an instant that was made up later."`
	Result      string     `json:"result" enum:"fired,coalesced,skipped,failed,expected"`
	Reason      string     `json:"reason,omitempty"`
	Run         string     `json:"run,omitempty"`
	RecordedAt  *time.Time `json:"recorded_at,omitempty"`

	scheduleID int64
}

// FirePage is a page of the ledger.
type FirePage struct {
	Page[Fire]
	PrunedUntil *time.Time `json:"pruned_until,omitempty" doc:"What is asked for reaches back behind this instant, up to which the ledger is not kept any more."`
}

type listFiresInput struct {
	OfWorkflow
	PageInput
	From time.Time `query:"from" doc:"Scheduled at this instant or later."`
	To   time.Time `query:"to" doc:"Scheduled before this instant; now when left out. Beyond now lie at most 500 expected fires."`
}

const (
	resultExpected = "expected"
	maxExpected    = 500
)

func (a *API) fireRoutes() {
	handle(a, op(http.MethodGet, ns+"/workflows/{workflow}/fires", "list-fires", "workflows"),
		"List the fires of a workflow's schedules, newest first, with those to come", a.listFires)
}

func (a *API) listFires(ctx context.Context, in *listFiresInput) (*body[FirePage], error) {
	w, err := a.workflow(ctx, in.OfWorkflow)
	if err != nil {
		return nil, err
	}
	if in.To.IsZero() {
		if in.To, err = a.Store.Now(ctx); err != nil {
			return nil, err
		}
	}
	mark, err := readCursor(in.Cursor, store.FireMark{At: in.To, Schedule: math.MinInt64})
	if err != nil {
		return nil, err
	}
	rows, err := a.Store.Fires(ctx, w.ID, in.From, mark, in.Limit+1)
	if err != nil {
		return nil, err
	}
	schedules, err := a.Store.Schedules(ctx, w.ID)
	if err != nil {
		return nil, err
	}
	fires, err := a.expected(ctx, w, schedules, expectedSpan{in.From, mark})
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		fires = append(fires, fireView(r))
	}
	slices.SortStableFunc(fires, newestFire)
	if err := setZones(fires, schedules); err != nil {
		return nil, err
	}
	page, err := paged(fires, in.Limit, func(f Fire) Fire { return f }, func(f Fire) store.FireMark {
		return store.FireMark{At: f.ScheduledAt, Schedule: f.scheduleID, Kind: f.Kind}
	})
	if err != nil {
		return nil, err
	}
	out := FirePage{Page: page}
	pruned, err := a.Store.LedgerPruned(ctx, w.ID)
	if pruned != nil && page.NextCursor == "" && in.From.Before(*pruned) {
		out.PrunedUntil = utcOr(pruned)
	}
	return answerOf(out, err)
}

// setZones tells the zone of each fire's schedule.
func setZones(fires []Fire, schedules []store.ScheduleRow) error {
	zones := make(map[int64]string, len(schedules))
	for _, row := range schedules {
		spec, err := specOf(row)
		if err != nil {
			return err
		}
		zones[row.ID] = spec.Timezone
	}
	for i := range fires {
		fires[i].Timezone = zones[fires[i].scheduleID]
	}
	return nil
}

func newestFire(a, b Fire) int {
	return cmp.Or(b.ScheduledAt.Compare(a.ScheduledAt), cmp.Compare(b.scheduleID, a.scheduleID), cmp.Compare(b.Kind, a.Kind))
}

// expectedSpan is from an instant on to a place in the order of fires.
type expectedSpan struct {
	from   time.Time
	before store.FireMark
}

// expected computes the instants that are not in the ledger yet and lie before a mark: the nearest ones.
func (a *API) expected(ctx context.Context, w store.WorkflowRow, schedules []store.ScheduleRow, span expectedSpan) ([]Fire, error) {
	tables, err := a.timetables(ctx, w, schedules)
	if err != nil {
		return nil, err
	}
	var fires []Fire
	for i, row := range schedules {
		instants, err := tables[i].Undecided(row.NextFireAt, span.from, maxExpected)
		if err != nil {
			return nil, err
		}
		for _, at := range instants {
			f := Fire{Schedule: row.Name, ScheduledAt: at.UTC(), Count: 1, Result: resultExpected, scheduleID: row.ID}
			if w.PausedAt != nil {
				f.Reason = store.SkipPaused
			}
			fires = append(fires, f)
		}
	}
	slices.SortStableFunc(fires, func(a, b Fire) int { return newestFire(b, a) })
	fires = fires[:min(len(fires), maxExpected)]
	place := Fire{ScheduledAt: span.before.At, scheduleID: span.before.Schedule, Kind: span.before.Kind}
	return slices.DeleteFunc(fires, func(f Fire) bool { return newestFire(f, place) <= 0 }), nil
}

func fireView(r store.FireRow) Fire {
	recorded := utc(r.CreatedAt)
	f := Fire{Schedule: r.Schedule, ScheduledAt: utc(r.ScheduledAt), Until: utcOr(r.UntilAt), Count: r.Count, Kind: r.Kind, Result: r.Result,
		Reason: r.Reason, RecordedAt: &recorded, scheduleID: r.ScheduleID}
	if r.Run != 0 {
		f.Run = r.Run.String()
	}
	return f
}
