package api

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/ax-run/ax/engine"
	"github.com/ax-run/ax/internal/store"
)

// Plan is what a call would do, as its dry run says. The same call with the plan's token does exactly that, or answers 409.
type Plan struct {
	Token     string         `json:"token" doc:"What to send as plan, to have exactly this done."`
	Title     string         `json:"title" doc:"What would be done, in a sentence."`
	Items     []PlanItem     `json:"items" nullable:"false"`
	Warnings  []string       `json:"warnings" nullable:"false"`
	Counts    map[string]int `json:"counts" doc:"How many items there are of each action."`
	ExpiresAt time.Time      `json:"expires_at"`
}

// PlanItem is one thing that a plan is about.
type PlanItem struct {
	Run         string `json:"run,omitempty"`
	Node        string `json:"node,omitempty"`
	ID          string `json:"id,omitempty" doc:"The node run's id, where one of several of a node is meant."`
	Schedule    string `json:"schedule,omitempty" doc:"The schedule whose instant is meant."`
	ScheduledAt string `json:"scheduled_at,omitempty" format:"date-time" doc:"The instant, in the schedule's zone."`
	State       string `json:"state" doc:"What it is now; of an instant without a run, what the ledger says, or nothing."`
	Action      string `json:"action" doc:"What would become of it: rerun, stop_and_rerun, decide_again, run, replay, repeat, none, copy, mark, cancel …"`
	Reason      string `json:"reason,omitempty" doc:"Why nothing would be done, or what it failed with."`
}

// planTime is how long a plan can be confirmed.
const planTime = 15 * time.Minute

// DryRun asks for a plan.
type DryRun struct {
	DryRun bool `query:"dry_run" doc:"Do nothing, and answer with a plan of what would be done."`
}

// PlanToken confirms a plan.
type PlanToken struct {
	Plan string `json:"plan,omitempty" maxLength:"100" doc:"The token of a plan: do exactly that, or answer 409 with what is different by now."`
}

// Answer is what was done, or on a dry run the plan of it.
type Answer[T any] struct {
	Plan *Plan
	Done *T
}

// MarshalJSON implements json.Marshaler.
func (a Answer[T]) MarshalJSON() ([]byte, error) {
	if a.Plan != nil {
		return json.Marshal(a.Plan)
	}
	return json.Marshal(a.Done)
}

// Schema implements huma.SchemaProvider.
func (Answer[T]) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{AnyOf: []*huma.Schema{r.Schema(reflect.TypeFor[T](), true, ""), r.Schema(reflect.TypeFor[Plan](), true, "")}}
}

// order is where something is to be done, whether only planned, and by which plan.
type order struct {
	InNamespace
	DryRun
	PlanToken
}

// planned is something a person wants done, which can be planned first.
type planned[T any] struct {
	order
	// act names what is done, with everything it is done to: a plan is of one act.
	act any
	// plan says what would be done, and the fingerprint of what that goes by. It leaves Token and ExpiresAt open.
	plan func(context.Context) (Plan, string, error)
	// do does it, unless expect is a fingerprint that does not hold any more: then it is engine.ErrChanged.
	do func(ctx context.Context, expect string) (T, error)
}

// perform plans something or does it.
func perform[T any](ctx context.Context, a *API, p planned[T]) (*body[Answer[T]], error) {
	namespace, err := a.namespace(ctx, p.Namespace)
	if err != nil {
		return nil, err
	}
	act, err := json.Marshal(p.act)
	if err != nil {
		return nil, fmt.Errorf("name what is planned: %w", err)
	}
	if p.DryRun.DryRun {
		plan, err := a.makePlan(ctx, namespace, string(act), p.plan)
		return answerOf(Answer[T]{Plan: plan}, err)
	}
	var saved store.SavedPlan
	if p.Plan != "" {
		if saved, err = a.savedPlan(ctx, namespace, p.Plan, string(act)); err != nil {
			return nil, err
		}
	}
	done, err := p.do(ctx, saved.Fingerprint)
	if errors.Is(err, engine.ErrChanged) {
		return nil, changed(ctx, saved, p.plan)
	}
	return answerOf(Answer[T]{Done: &done}, err)
}

func (a *API) makePlan(ctx context.Context, namespace int64, act string, think func(context.Context) (Plan, string, error)) (*Plan, error) {
	plan, fingerprint, err := think(ctx)
	if err != nil {
		return nil, err
	}
	plan.finish()
	body, err := json.Marshal(plan)
	if err != nil {
		return nil, fmt.Errorf("write plan: %w", err)
	}
	saved := store.SavedPlan{Token: rand.Text(), Namespace: namespace, Act: act, Fingerprint: fingerprint, Body: body}
	if err := a.Store.SavePlan(ctx, &saved, planTime); err != nil {
		return nil, err
	}
	plan.Token, plan.ExpiresAt = saved.Token, utc(saved.ExpiresAt)
	return &plan, nil
}

// finish counts the items, unless not all are listed, and leaves nothing null.
func (p *Plan) finish() {
	if p.Counts == nil {
		p.Counts = make(map[string]int)
		for _, i := range p.Items {
			p.Counts[i.Action]++
		}
	}
	if p.Items == nil {
		p.Items = []PlanItem{}
	}
	if p.Warnings == nil {
		p.Warnings = []string{}
	}
}

// savedPlan finds the plan that is to be carried out.
func (a *API) savedPlan(ctx context.Context, namespace int64, token, act string) (store.SavedPlan, error) {
	saved, err := a.Store.Plan(ctx, namespace, token)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return saved, planProblem("the plan has expired, or there was none such; ask for a new one with dry_run=true")
	case err == nil && saved.Act != act:
		return saved, planProblem("the plan is of another call than this one; ask for a new one with dry_run=true")
	}
	return saved, err
}

// changed answers a plan that does not hold any more, with what is different by now.
func changed(ctx context.Context, saved store.SavedPlan, think func(context.Context) (Plan, string, error)) error {
	p := planProblem("nothing was done: things are not any more as the plan says; ask for a new one with dry_run=true")
	now, _, err := think(ctx)
	switch {
	case err != nil && store.Transient(err):
		return err
	case err != nil:
		return p.with(ProblemDetail{Location: "body.plan", Message: "by now it cannot be done: " + err.Error(), Code: codePlanChanged})
	}
	var was Plan
	if err := json.Unmarshal(saved.Body, &was); err != nil {
		return fmt.Errorf("read plan: %w", err)
	}
	found := differences(was.Items, now.Items)
	if len(found) == 0 { // it is among what is not listed
		found = []ProblemDetail{{Location: "body.plan", Message: "it would do something else by now", Code: codePlanChanged}}
	}
	return p.with(found...)
}

// name tells items apart.
func (i PlanItem) name() string {
	switch {
	case i.ID != "":
		return i.ID
	case i.Node != "":
		return i.Run + ":" + i.Node
	case i.ScheduledAt != "":
		return i.Schedule + " " + i.ScheduledAt
	}
	return i.Run
}

// maxDifferences is how many differences are told.
const maxDifferences = 100

func differences(was, now []PlanItem) (out []ProblemDetail) {
	tell := func(i PlanItem, format string, args ...any) {
		if len(out) < maxDifferences {
			what := i.name()
			out = append(out, ProblemDetail{Location: "body.plan", Message: what + " " + fmt.Sprintf(format, args...), Value: what, Code: codePlanChanged})
		}
	}
	before := make(map[string]PlanItem, len(was))
	for _, i := range was {
		before[i.name()] = i
	}
	for _, i := range now {
		old, known := before[i.name()]
		delete(before, i.name())
		switch {
		case !known:
			tell(i, "would be part of it too: %s (it is %s)", i.Action, i.State)
		case old != i:
			tell(i, "was %s and is %s by now", old.State, i.State)
		}
	}
	for _, i := range was {
		if _, gone := before[i.name()]; gone {
			tell(i, "is not part of it any more")
		}
	}
	return out
}
