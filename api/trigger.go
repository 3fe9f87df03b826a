package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/internal/store"
)

// TriggerBody says what run to start. All of it may be left out.
type TriggerBody struct {
	Params      Object     `json:"params,omitempty" doc:"Values of the workflow's parameters; defaults fill the rest."`
	LogicalTime *time.Time `json:"logical_time,omitempty" doc:"The time the run is for; now when left out."`
	RunAt       *time.Time `json:"run_at,omitempty" doc:"Start at this instant instead of now, however late after an outage, and after a pause."`
	Version     *int       `json:"version,omitempty" minimum:"1" maximum:"2147483647" doc:"Another version than the newest."`
	OnlyNodes   []string   `json:"only_nodes,omitempty" nullable:"false" minItems:"1" maxItems:"10000" doc:"A test run: only these nodes run, the others count as succeeded."`
	Inputs      Outputs    `json:"inputs,omitempty" doc:"In a test run, the outputs of nodes that do not run, by name; else they have those of the newest run that succeeded."`
}

// Outputs are values by the node that gave them.
type Outputs map[string]json.RawMessage

// Schema implements huma.SchemaProvider.
func (Outputs) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true}
}

type triggerInput struct {
	OfWorkflow
	Body *TriggerBody
}

type triggerOutput struct {
	Status   int
	Location string `header:"Location"`
	Body     RunDetail
}

func triggerOperation() huma.Operation {
	o := op(http.MethodPost, ns+"/workflows/{workflow}/runs", "trigger-run", "runs")
	o.DefaultStatus = http.StatusCreated
	return o
}

func (a *API) trigger(ctx context.Context, in *triggerInput) (*triggerOutput, error) {
	if in.Body == nil {
		in.Body = &TriggerBody{}
	}
	if err := in.Body.check(); err != nil {
		return nil, err
	}
	w, err := a.workflow(ctx, in.OfWorkflow)
	if err != nil {
		return nil, err
	}
	t, err := a.triggerOf(ctx, w, in.Body)
	if err == nil && t.Named {
		err = a.fitting(ctx, in.InNamespace, t.Version, "body.version")
	}
	if err != nil {
		return nil, err
	}
	if in.Body.RunAt != nil {
		return a.delay(ctx, in, w, t)
	}
	run, err := a.launch(ctx, in.OfWorkflow, w, t)
	if err != nil {
		return nil, err
	}
	row, err := a.run(ctx, OfRun{in.InNamespace, run.String()})
	if err != nil {
		return nil, err
	}
	detail, err := a.runDetail(ctx, row)
	if err != nil {
		return nil, err
	}
	return triggered(in, http.StatusCreated, detail), nil
}

func triggered(in *triggerInput, status int, d RunDetail) *triggerOutput {
	return &triggerOutput{Status: status, Location: runPath(in.Namespace, d.ID), Body: d}
}

func runPath(namespace, run string) string {
	return prefix + "/namespaces/" + namespace + "/runs/" + run
}

// check refuses what cannot go together.
func (b *TriggerBody) check() error {
	switch {
	case b.OnlyNodes != nil && b.RunAt != nil:
		return invalid("body.run_at", "a test run starts at once; leave out run_at or only_nodes")
	case b.OnlyNodes == nil && b.Inputs != nil:
		return invalid("body.inputs", "only a test run is given the outputs of nodes; say which nodes run in only_nodes")
	}
	if err := checkInstant("body.logical_time", b.LogicalTime); err != nil {
		return err
	}
	return checkInstant("body.run_at", b.RunAt)
}

// checkInstant refuses an instant that no run can be about.
func checkInstant(location string, at *time.Time) error {
	if at == nil {
		return nil
	}
	if err := dag.CheckInstant(*at); err != nil {
		return invalid(location, "%v", err)
	}
	return nil
}

// test is what a test run is about; nil for a run of all nodes.
func (b *TriggerBody) test() *store.Test {
	if b.OnlyNodes == nil {
		return nil
	}
	t := &store.Test{Nodes: b.OnlyNodes, Outputs: make(map[string][]byte, len(b.Inputs))}
	for name, value := range b.Inputs {
		t.Outputs[name] = value
	}
	return t
}

func (a *API) triggerOf(ctx context.Context, w store.WorkflowRow, b *TriggerBody) (store.Trigger, error) {
	number := w.Version
	if b.Version != nil {
		number = *b.Version
	}
	version, err := a.Store.Version(ctx, w.ID, number)
	if errors.Is(err, store.ErrNotFound) && b.Version != nil {
		return store.Trigger{}, invalid("body.version", "%s has no version %d", w.Code, number)
	}
	if err != nil {
		return store.Trigger{}, err
	}
	schedules, err := a.Store.Schedules(ctx, w.ID)
	if err != nil {
		return store.Trigger{}, err
	}
	zone, err := zoneOf(schedules, a.DefaultTimezone)
	if err != nil {
		return store.Trigger{}, err
	}
	given := b.LogicalTime
	if given == nil {
		given = b.RunAt
	}
	at, err := a.logicalTime(ctx, given)
	if err != nil {
		return store.Trigger{}, err
	}
	return store.Trigger{
		Version: version.ID, Named: b.Version != nil, Kind: "api", Actor: actor(ctx), ScheduledAt: at, LogicalDate: at.In(zone).Format(time.DateOnly),
		Params: b.Params, Test: b.test(),
	}, nil
}

// logicalTime is the time given, or the database's now (S37).
func (a *API) logicalTime(ctx context.Context, given *time.Time) (time.Time, error) {
	if given == nil {
		return a.Store.Now(ctx)
	}
	return *given, nil
}

// launch starts the run, or says why it may not.
func (a *API) launch(ctx context.Context, in OfWorkflow, w store.WorkflowRow, t store.Trigger) (store.RunID, error) {
	var launched store.Launched
	err := a.Store.InTx(ctx, func(tx pgx.Tx) error {
		got, err := a.Launcher.Launch(ctx, tx, []store.Trigger{t})
		if err == nil && len(got) != 1 {
			err = errors.New("launch answered for another number of runs")
		}
		if err == nil {
			launched = got[0]
			err = launched.Err
		}
		if err == nil && launched.Refused == "" {
			err = a.noteKey(ctx, tx, http.StatusCreated, runPath(in.Namespace, launched.Run.String()))
		}
		return err
	})
	if err == nil && launched.Refused != "" {
		err = a.refusal(ctx, w.ID, w.Code, launched)
	}
	return launched.Run, err
}

// refusal says why a run was not started, and names the runs that hold the places (S22).
func (a *API) refusal(ctx context.Context, workflow int64, code string, l store.Launched) error {
	holders, err := a.Store.Holders(ctx, workflow, l.Key, maxHolders)
	if err != nil {
		return err
	}
	p := conflict("no run was started (%s): %s has as many runs as it may; try again when some have ended", l.Refused, code)
	for i, id := range holders {
		if i == 0 {
			p.Detail += fmt.Sprintf("; run %s is running", id)
		}
		p.with(ProblemDetail{Location: "run", Message: "this run holds a place", Value: id.String(), Code: string(QueuedMaxActive)})
	}
	return p
}
