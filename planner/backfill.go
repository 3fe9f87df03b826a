package planner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/internal/store"
)

// Backfilling asks for a backfill (S32): runs for a stretch of instants that schedules of a workflow had.
type Backfilling struct {
	Namespace, Workflow int64
	// Version is the one its runs have; 0 is the newest when each is made.
	Version int64
	// Schedules are names; none are all that the workflow has now. One that was removed can be named.
	Schedules []string
	// From and To are dates, local times or instants, both included, in each schedule's zone. To "" is now.
	From, To string
	// Reprocess is one of store's; "" is store.ReprocessMissing.
	Reprocess   string
	NewestFirst bool
	// MaxRuns is how many of its runs may be active at once; 0 is 1.
	MaxRuns int
	// Params are values that its runs have instead of the schedules', a JSON object; nil for none.
	Params []byte
	// Cascade lets its runs count for the workflows that wait for them (S12).
	Cascade     bool
	Actor, Note string
}

// maxBackfill bounds the instants of one backfill.
const maxBackfill = 200_000

// BackfillError says what is wrong with a Backfilling.
type BackfillError struct {
	// Field is the part that is wrong, as the API names it.
	Field, Message string
}

// Error says it.
func (e *BackfillError) Error() string { return e.Message }

// ErrBackfillChanged says that a backfill would not be any more what its preview showed.
var ErrBackfillChanged = errors.New("the backfill would make other runs than its preview showed")

// StartBackfill starts a backfill. Expect is the fingerprint of a preview, which it must still fit, else ErrBackfillChanged; "" takes things as
// they are. What is wrong with the request is *BackfillError or *dag.ParamError.
func StartBackfill(ctx context.Context, s *store.Store, r Backfilling, expect string) (store.RunID, error) {
	var id store.RunID
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		p, err := planBackfill(ctx, s, tx, r, expect)
		if err != nil {
			return err
		}
		if expect != "" {
			seen, err := p.preview(ctx)
			if err != nil {
				return err
			}
			if seen.Fingerprint != expect {
				return ErrBackfillChanged
			}
			for i := range p.b.Lines {
				p.b.Lines[i].At = nil
			}
		}
		err = s.AddBackfill(ctx, tx, &p.b)
		id = p.b.ID
		return err
	})
	return id, err
}

// backfillPlan is a request thought through.
type backfillPlan struct {
	Backfilling
	store *store.Store
	tx    pgx.Tx
	now   time.Time
	b     store.Backfill
	walk  *walk
}

// planBackfill reads a request. A fingerprint that is expected says until when its preview saw.
func planBackfill(ctx context.Context, s *store.Store, tx pgx.Tx, r Backfilling, expect string) (*backfillPlan, error) {
	p := &backfillPlan{Backfilling: r, store: s, tx: tx, b: store.Backfill{
		Namespace: r.Namespace, Workflow: r.Workflow, Version: r.Version, From: r.From, To: r.To, Reprocess: r.Reprocess, NewestFirst: r.NewestFirst,
		MaxRuns: max(r.MaxRuns, 1), Params: r.Params, Cascade: r.Cascade, Actor: r.Actor, Note: r.Note,
	}}
	if p.b.Reprocess == "" {
		p.b.Reprocess = store.ReprocessMissing
	}
	if len(p.b.Params) == 0 {
		p.b.Params = []byte("{}")
	}
	var err error
	if p.now, err = s.NowIn(ctx, tx); err != nil {
		return nil, err
	}
	if then, ok := seenAt(expect); ok && then.Before(p.now) {
		p.now = then
	}
	if err := p.readLines(ctx); err != nil {
		return nil, err
	}
	if p.walk, err = newWalk(ctx, s, tx, &p.b); err != nil {
		return nil, err
	}
	switch p.b.Counts.Total = p.walk.total(); {
	case p.b.Counts.Total == 0:
		return nil, &BackfillError{"from", fmt.Sprintf("there is no instant from %s to %s that has come", p.b.From, p.b.To)}
	case p.b.Counts.Total > maxBackfill:
		return nil, &BackfillError{"to", fmt.Sprintf("these are %d instants, and a backfill has %d at most: make several", p.b.Counts.Total, maxBackfill)}
	}
	return p, p.checkParams(ctx)
}

// checkParams tries the parameters that the first run would have.
func (p *backfillPlan) checkParams(ctx context.Context) error {
	text, err := p.store.Definition(ctx, p.tx, p.Workflow, p.Version)
	if err != nil {
		return err
	}
	def, err := dag.DecodeDefinition(text)
	if err != nil {
		return err
	}
	for _, s := range p.walk.next(1) {
		params, err := paramsOf(s.era.spec.Params, p.b.Params)
		if err != nil {
			return err
		}
		if _, err := def.ResolveParams(params); err != nil {
			return err
		}
	}
	return nil
}

// paramsOf are a schedule's values with others instead of some of them.
func paramsOf(own map[string]any, given []byte) ([]byte, error) {
	var values map[string]json.RawMessage
	if err := json.Unmarshal(given, &values); err != nil {
		return nil, fmt.Errorf("read parameters: %w", err)
	}
	merged := maps.Clone(own)
	if merged == nil {
		merged = make(map[string]any, len(values))
	}
	for name, value := range values {
		merged[name] = value
	}
	return encodeParams(merged)
}

// readLines finds the schedules, and what part of each is meant.
func (p *backfillPlan) readLines(ctx context.Context) error {
	rows, err := p.store.AllSchedules(ctx, p.tx, p.Workflow)
	if err != nil {
		return err
	}
	for _, name := range p.Schedules {
		if !slices.ContainsFunc(rows, func(s store.Schedule) bool { return s.Name == name }) {
			return &BackfillError{"schedules", fmt.Sprintf("the workflow has no schedule %q", name)}
		}
	}
	delays := 0
	for _, row := range rows {
		named := slices.Contains(p.Schedules, row.Name)
		if !named && (len(p.Schedules) > 0 || row.RemovedAt != nil) {
			continue
		}
		spec, err := decodeSpec(row.Spec)
		if err != nil {
			return err
		}
		if spec.Delay > 0 {
			delays++
			if !named {
				continue
			}
		}
		line, err := p.line(row, spec)
		if err != nil {
			return err
		}
		p.b.Lines = append(p.b.Lines, line)
	}
	switch {
	case len(p.b.Lines) > 0:
		return nil
	case delays > 0:
		return &BackfillError{"schedules", "a fixed delay counts from the end of its last run: it has no instants in the past to be filled"}
	}
	return &BackfillError{"schedules", "the workflow has no schedule; name the one that it had, or trigger runs with a logical time"}
}

// line is what is meant of one schedule. What the schedule has not decided yet is left to it.
func (p *backfillPlan) line(row store.Schedule, spec dag.Schedule) (store.BackfillLine, error) {
	l := store.BackfillLine{Schedule: row.ID, Name: row.Name}
	now, err := Timetable{Spec: spec, Anchor: row.Anchor, Workflow: p.Workflow}.plain()
	if err != nil {
		return l, err
	}
	if l.From, err = boundOf("from", p.From, now.zone, false); err != nil {
		return l, err
	}
	l.Until = p.now
	if p.To != "" {
		until, err := boundOf("to", p.To, now.zone, true)
		if err != nil {
			return l, err
		}
		l.Until = earliest(l.Until, until)
		if until.Before(l.From) {
			return l, &BackfillError{"to", fmt.Sprintf("%s is before %s", p.To, p.From)}
		}
	}
	if row.NextFireAt != nil && row.RemovedAt == nil {
		now.pin(*row.NextFireAt)
		l.Until = earliest(l.Until, now.instant(*row.NextFireAt).Add(-tick))
	}
	l.From, l.Until = l.From.UTC(), l.Until.UTC()
	return l, nil
}

// plain is the schedule's line without its calendars.
func (t Timetable) plain() (*times, error) {
	t.Spec.Calendars = nil
	return t.line()
}

// boundOf reads an end of a backfill: a date, of which the end is meant where it is the last one; a local time; or an instant.
func boundOf(field, text string, zone *time.Location, last bool) (time.Time, error) {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05"} {
			if at, err = time.ParseInLocation(layout, text, zone); err == nil {
				break
			}
		}
	}
	if err != nil {
		var date time.Time
		if date, err = time.Parse(time.DateOnly, text); err == nil {
			if at = dayOf(date).begin(zone); last {
				at = dayOf(date).add(1).begin(zone).Add(-tick)
			}
		}
	}
	if err != nil {
		return at, &BackfillError{field, fmt.Sprintf("%.40q is no time: write a date such as 2026-11-30, a time in the schedule's zone such as 2026-11-30T02:30, or an instant with its offset", text)}
	}
	if y := at.UTC().Year(); y < 1970 || y > 2199 {
		return at, &BackfillError{field, "the year must be between 1970 and 2199"}
	}
	return at, nil
}
