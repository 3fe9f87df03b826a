package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/internal/store"
	"github.com/ax-run/ax/planner"
)

const yamlType = "application/yaml"

// Registered is what a registration came to, or would come to.
type Registered struct {
	Workflow string          `json:"workflow"`
	Version  int             `json:"version,omitempty" doc:"The version that new runs use; absent on a dry run that would make a new one."`
	Digest   string          `json:"digest" doc:"SHA-256 of the content, in hexadecimal."`
	Created  bool            `json:"created" doc:"Whether the content makes a new version."`
	Restored bool            `json:"restored,omitempty" doc:"Whether the content is that of an older version, which becomes current again."`
	DryRun   bool            `json:"dry_run,omitempty" doc:"Nothing was stored."`
	Paused   *Pause          `json:"paused,omitempty" doc:"Present while the workflow is paused, so that its schedules start nothing."`
	Warnings []ProblemDetail `json:"warnings" nullable:"false"`
	Upcoming []Upcoming      `json:"upcoming" nullable:"false"`
}

type registerInput struct {
	OfWorkflow
	DryRun  bool   `query:"dry_run" doc:"Only check the definition, and say what it would come to."`
	Paused  bool   `query:"paused" doc:"Register a new workflow paused."`
	RawBody []byte `contentType:"application/yaml"`
}

type registerOutput struct {
	Status int
	Body   Registered
}

func registerOperation() huma.Operation {
	o := op(http.MethodPut, ns+"/workflows/{workflow}", "register-workflow", "workflows")
	definition := &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true,
		Description: "A definition, as /api/v1/schemas/workflow.json describes it."}}
	o.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{yamlType: definition, "application/json": definition}}
	o.SkipValidateBody = true // dag says what is wrong, with lines
	return o
}

func (a *API) register(ctx context.Context, in *registerInput) (*registerOutput, error) {
	graph, problems := dag.Load(in.RawBody, dag.BuildOptions{DefaultTimezone: a.DefaultTimezone})
	if graph == nil {
		return nil, definitionProblem(problems)
	}
	if code := graph.Definition().Workflow; code != in.Workflow {
		p := invalid("body.workflow", "the definition is of %s, and the path says %s", code, in.Workflow)
		p.Errors[0].Code = dag.CodeConflict
		return nil, p
	}
	out := Registered{Workflow: in.Workflow, Digest: graph.Digest().String(), DryRun: in.DryRun, Warnings: definitionDetails(problems)}
	if in.DryRun {
		return registerAnswer(out, a.rehearse(ctx, in, graph, &out))
	}
	before, err := a.workflow(ctx, in.OfWorkflow)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	got, err := planner.Register(ctx, a.Store, planner.Registration{
		Namespace: in.Namespace, Graph: graph, Actor: actor(ctx), Paused: in.Paused})
	if err != nil {
		return nil, err
	}
	out.Warnings = append(out.Warnings, definitionDetails(got.Warnings)...)
	out.Version, out.Created, out.Upcoming = got.Version, got.Created, make([]Upcoming, len(got.Next))
	out.Restored = !got.Created && got.Version != before.Version
	for i, n := range got.Next {
		zone := graph.Definition().Schedules[i].Timezone
		if len(n.Fires) > 0 {
			zone = n.Fires[0].Location().String()
		}
		out.Upcoming[i] = upcomingView(n.Schedule, zone, n.Fires)
	}
	w, err := a.workflow(ctx, in.OfWorkflow)
	out.Paused = pauseView(w)
	return registerAnswer(out, err)
}

// rehearse says what a registration would come to.
func (a *API) rehearse(ctx context.Context, in *registerInput, g *dag.Graph, out *Registered) error {
	now, err := a.Store.Now(ctx)
	if err != nil {
		return err
	}
	namespace, err := a.namespace(ctx, in.Namespace)
	if err != nil {
		return err
	}
	schedules := g.Definition().Schedules
	calendars, err := a.Store.CalendarsNamed(ctx, namespace, planner.CalendarsOf(schedules))
	if err != nil {
		return err
	}
	problems, err := a.poolProblems(ctx, namespace, g.Definition())
	if err != nil {
		return err
	}
	if err := append(problems, planner.UnknownCalendars(schedules, calendars)...).Err(); err != nil {
		return err
	}
	warnings, err := a.unknownChildren(ctx, in.Namespace, g.Definition())
	if err != nil {
		return err
	}
	out.Warnings = append(out.Warnings, definitionDetails(warnings)...)
	if out.Upcoming, err = foretell(schedules, calendars, now); err != nil {
		return err
	}
	out.Created = true
	w, err := a.Store.Workflow(ctx, namespace, in.Workflow)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	out.Paused = pauseView(w)
	digest := g.Digest()
	known, err := a.Store.VersionByDigest(ctx, w.ID, digest[:])
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	out.Created, out.Version, out.Restored = false, known, known != w.Version
	return err
}

// unknownChildren warns of workflows that a definition runs as nodes and that are not there.
func (a *API) unknownChildren(ctx context.Context, namespace string, def *dag.Definition) (warnings dag.Problems, err error) {
	err = a.Store.InTx(ctx, func(tx pgx.Tx) error {
		warnings, err = planner.UnknownChildren(ctx, a.Store, tx, namespace, def)
		return err
	})
	return warnings, err
}

func registerAnswer(r Registered, err error) (*registerOutput, error) {
	if err != nil {
		return nil, err
	}
	out := &registerOutput{Status: http.StatusOK, Body: r}
	if r.Created && !r.DryRun {
		out.Status = http.StatusCreated
	}
	return out, nil
}
