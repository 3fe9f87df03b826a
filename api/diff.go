package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/internal/store"
)

// Diff is what is different between two versions of a workflow.
type Diff struct {
	Workflow string       `json:"workflow"`
	From     int          `json:"from"`
	To       int          `json:"to"`
	Changes  []DiffChange `json:"changes" nullable:"false"`
}

// DiffChange is one difference, at the narrowest place that has it.
type DiffChange struct {
	Path string          `json:"path" doc:"The place in the definition, such as nodes.clean.timeout."`
	Kind string          `json:"kind" enum:"added,removed,changed"`
	Old  json.RawMessage `json:"old,omitempty"`
	New  json.RawMessage `json:"new,omitempty"`
}

type diffInput struct {
	OfWorkflow
	From int `query:"from" required:"true" minimum:"1" maximum:"2147483647"`
	To   int `query:"to" minimum:"1" maximum:"2147483647" doc:"The newest when left out."`
}

func (a *API) diffRoute() {
	handle(a, op(http.MethodGet, ns+"/workflows/{workflow}/diff", "diff-versions", "workflows"), "Tell two versions of a workflow apart", a.diff)
}

func (a *API) diff(ctx context.Context, in *diffInput) (*body[Diff], error) {
	w, err := a.workflow(ctx, in.OfWorkflow)
	if err != nil {
		return nil, err
	}
	if in.To == 0 {
		in.To = w.Version
	}
	before, err := a.definition(ctx, w, in.From)
	if err != nil {
		return nil, err
	}
	after, err := a.definition(ctx, w, in.To)
	if err != nil {
		return nil, err
	}
	changes, err := dag.Diff(before, after)
	return answerOf(Diff{Workflow: w.Code, From: in.From, To: in.To, Changes: DiffChanges(changes)}, err)
}

func (a *API) definition(ctx context.Context, w store.WorkflowRow, number int) (*dag.Definition, error) {
	v, err := a.Store.Version(ctx, w.ID, number)
	if err != nil {
		return nil, fmt.Errorf("workflow %q: %w", w.Code, err)
	}
	return dag.DecodeDefinition(v.Definition)
}

// DiffChanges writes differences as the API has them.
func DiffChanges(changes []dag.Change) []DiffChange {
	out := make([]DiffChange, len(changes))
	for i, c := range changes {
		out[i] = DiffChange{Path: c.Path, Kind: string(c.Kind), Old: c.Old, New: c.New}
	}
	return out
}
