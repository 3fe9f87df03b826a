package api

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/ax-run/ax/engine"
	"github.com/ax-run/ax/internal/store"
	"github.com/ax-run/ax/planner"
)

// BackfillBody says what a backfill is to make.
type BackfillBody struct {
	Workflow  string   `json:"workflow" pattern:"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$"`
	Schedules []string `json:"schedules,omitempty" nullable:"false" minItems:"1" maxItems:"100" doc:"Names; all that the workflow has now when left out. One that was removed can be named."`
	From      string   `json:"from" minLength:"1" maxLength:"64" doc:"The first date, or time in the schedule's zone, or instant with an offset." example:"2026-11-01"`
	To        string   `json:"to,omitempty" maxLength:"64" doc:"The last one, itself within; now when left out." example:"2026-11-30"`
	Reprocess string   `json:"reprocess,omitempty" enum:"missing,failed,all" doc:"missing (when left out): instants without a run. failed: these, and those whose newest run ended without success. all: every instant."`
	Order     string   `json:"order,omitempty" enum:"oldest,newest" doc:"Which come first; the oldest when left out."`
	MaxRuns   int      `json:"max_runs,omitempty" minimum:"1" maximum:"1000" doc:"How many of its runs may be active at once; 1 when left out."`
	Version   *int     `json:"version,omitempty" minimum:"1" maximum:"2147483647" doc:"Another version than the newest."`
	Params    Object   `json:"params,omitempty" doc:"Values that its runs have instead of the schedule's."`
	Cascade   bool     `json:"cascade,omitempty" doc:"Let its runs count for the workflows that wait for them."`
	Reason    string   `json:"reason,omitempty" maxLength:"1000" doc:"Why, for the record."`
	PlanToken
}

type createBackfillInput struct {
	InNamespace
	DryRun
	Body BackfillBody
}

type createBackfillOutput struct {
	Status   int
	Location string `header:"Location"`
	Body     Answer[Backfill]
}

func (a *API) createBackfill(ctx context.Context, in *createBackfillInput) (*createBackfillOutput, error) {
	ask, err := a.backfilling(ctx, in)
	if err != nil {
		return nil, err
	}
	act := in.Body
	act.Reason, act.Plan = "", ""
	got, err := perform(ctx, a, planned[Backfill]{
		order: order{in.InNamespace, in.DryRun, in.Body.PlanToken}, act: []any{"backfill", act},
		plan: func(ctx context.Context) (Plan, string, error) {
			seen, err := planner.PreviewBackfill(ctx, a.Store, ask)
			if err != nil {
				return Plan{}, "", err
			}
			return backfillPlan(&in.Body, seen), seen.Fingerprint, nil
		},
		do: func(ctx context.Context, expect string) (Backfill, error) {
			id, err := planner.StartBackfill(ctx, a.Store, ask, expect)
			if errors.Is(err, planner.ErrBackfillChanged) {
				err = engine.ErrChanged
			}
			if err != nil {
				return Backfill{}, err
			}
			b, err := a.Store.Backfill(ctx, ask.Namespace, id)
			return backfillView(b), err
		},
	})
	if err != nil {
		return nil, err
	}
	out := &createBackfillOutput{Status: http.StatusOK, Body: got.Body}
	if got.Body.Done != nil {
		out.Status, out.Location = http.StatusCreated, prefix+"/namespaces/"+in.Namespace+"/backfills/"+got.Body.Done.ID
	}
	return out, nil
}

// backfilling makes a request the planner's.
func (a *API) backfilling(ctx context.Context, in *createBackfillInput) (planner.Backfilling, error) {
	b := &in.Body
	w, err := a.workflow(ctx, OfWorkflow{in.InNamespace, b.Workflow})
	if err != nil {
		return planner.Backfilling{}, err
	}
	r := planner.Backfilling{
		Namespace: w.Namespace, Workflow: w.ID, Schedules: b.Schedules, From: b.From, To: b.To, Reprocess: b.Reprocess, NewestFirst: b.Order == orderNewest,
		MaxRuns: b.MaxRuns, Params: b.Params, Cascade: b.Cascade, Actor: actor(ctx), Note: b.Reason,
	}
	if b.Version == nil {
		return r, nil
	}
	version, err := a.Store.Version(ctx, w.ID, *b.Version)
	if errors.Is(err, store.ErrNotFound) {
		return r, invalid("body.version", "%s has no version %d", w.Code, *b.Version)
	}
	r.Version = version.ID
	return r, err
}

// noneWords say why nothing is made of an instant.
var noneWords = map[string]string{
	planner.NoneHasRun: "have a run", planner.NoneActive: "have a run that goes on", planner.NoneCalendar: "are excluded by a calendar",
	planner.NoneExpired: "had a run that is not kept any more, or are from before the ledger begins",
}

// backfillPlan puts a preview into words.
func backfillPlan(b *BackfillBody, seen planner.BackfillPreview) Plan {
	none := seen.Counts[planner.VerdictNone]
	p := Plan{Title: fmt.Sprintf("backfill %s from %s", b.Workflow, b.From), Counts: make(map[string]int)}
	if b.To != "" {
		p.Title += " to " + b.To
	}
	p.Title += fmt.Sprintf(": %d runs for %d instants", seen.Total-none, seen.Total)
	for verdict, n := range seen.Counts {
		p.Counts[string(verdict)] = n
	}
	for _, s := range seen.Slots {
		i := PlanItem{Schedule: s.Schedule, ScheduledAt: s.At.Format(time.RFC3339), State: s.State, Action: string(s.Verdict), Reason: s.Why}
		if s.Run != 0 {
			i.Run = s.Run.String()
		}
		p.Items = append(p.Items, i)
	}
	if more := seen.Total - len(seen.Slots); more > 0 {
		p.Warnings = append(p.Warnings, fmt.Sprintf("only the first %d instants are listed, and %d follow; the counts and the token are about all of them", len(seen.Slots), more))
	}
	for _, why := range slices.Sorted(maps.Keys(seen.Reasons)) {
		p.Warnings = append(p.Warnings, fmt.Sprintf("nothing is made of %d: they %s", seen.Reasons[why], noneWords[why]))
	}
	if none < seen.Total {
		p.Warnings = append(p.Warnings, "its runs give way: one starts only where no other run of the workflow waits, with less priority")
	}
	if !b.Cascade {
		p.Warnings = append(p.Warnings, "workflows that wait for this one are not started by its runs; cascade would do that")
	}
	return p
}
