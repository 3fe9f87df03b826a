package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/internal/store"
)

// TriggerBody says what run to start. All of it may be left out.
type TriggerBody struct {
	Params      Object     `json:"params,omitempty" doc:"Values of the workflow's parameters; defaults fill the rest."`
	LogicalTime *time.Time `json:"logical_time,omitempty" doc:"The time the run is for; now when left out."`
	RunAt       *time.Time `json:"run_at,omitempty" doc:"Start at this instant instead of now, however late after an outage, and after a pause."`
	Version     *int       `json:"version,omitempty" doc:"Another version than the newest; not supported yet."`
	OnlyNodes   []string   `json:"only_nodes,omitempty" nullable:"false" doc:"A test run of some nodes; not supported yet."`
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
	if err := in.Body.unsupported(); err != nil {
		return nil, err
	}
	w, err := a.workflow(ctx, in.OfWorkflow)
	if err != nil {
		return nil, err
	}
	t, err := a.triggerOf(ctx, w, in.Body)
	if err != nil {
		return nil, err
	}
	if in.Body.RunAt != nil {
		return a.delay(ctx, in, w, t)
	}
	run, err := a.launch(ctx, w, t)
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
	return &triggerOutput{Status: status, Location: prefix + "/namespaces/" + in.Namespace + "/runs/" + d.ID, Body: d}
}

// unsupported refuses what the contract has and this version does not do.
func (b *TriggerBody) unsupported() error {
	var places []string
	if b.Version != nil {
		places = append(places, "body.version")
	}
	if b.OnlyNodes != nil {
		places = append(places, "body.only_nodes")
	}
	if places == nil {
		return nil
	}
	return notSupported(places...)
}

func (a *API) triggerOf(ctx context.Context, w store.WorkflowRow, b *TriggerBody) (store.Trigger, error) {
	version, err := a.Store.Version(ctx, w.ID, w.Version)
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
		Version: version.ID, Kind: "api", Actor: actor(ctx), ScheduledAt: at, LogicalDate: at.In(zone).Format(time.DateOnly), Params: b.Params,
	}, nil
}

// logicalTime is the time given, or the database's now (S37).
func (a *API) logicalTime(ctx context.Context, given *time.Time) (time.Time, error) {
	if given == nil {
		return a.Store.Now(ctx)
	}
	return *given, checkYear("body.logical_time", *given)
}

// checkYear refuses instants that the database does not have.
func checkYear(location string, at time.Time) error {
	if y := at.UTC().Year(); y < 1 || y > 9998 {
		return invalid(location, "the year must be between 1 and 9998")
	}
	return nil
}

// launch starts the run, or says why it may not.
func (a *API) launch(ctx context.Context, w store.WorkflowRow, t store.Trigger) (store.RunID, error) {
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
		return err
	})
	if err == nil && launched.Refused != "" {
		err = conflict("no run was started (%s): too many runs of %s wait already; try again when some have ended", launched.Refused, w.Code)
	}
	return launched.Run, err
}
