package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/internal/forecast"
)

// Bounds of a forecast: how far it reaches, how many fires and nodes it simulates, and how much of it one answer has.
const (
	maxForecast      = 31 * 24 * time.Hour
	maxForecastFires = 200_000
	maxForecastSteps = 2_000_000
	maxForecastParts = 500
	// forecastLead is how long before its beginning a forecast is simulated, so that it does not begin with an empty house.
	forecastLead = 24 * time.Hour
)

// ForecastInput says what to foretell.
type ForecastInput struct {
	InNamespace
	From     time.Time `query:"from" doc:"When the forecast begins; now when left out, or when it is past."`
	To       time.Time `query:"to" doc:"When it ends; a day after its beginning when left out. It reaches at most 31 days from now."`
	Workflow string    `query:"workflow" maxLength:"128" doc:"Tell only of this workflow's runs; all of them are simulated."`
	Limit    int       `query:"limit" minimum:"0" maximum:"10000" default:"500" doc:"How many runs are told of at most, the first ones."`
	Points   int       `query:"points" minimum:"1" maximum:"288" default:"24" doc:"Into how many equal parts the time is divided to tell of load."`
}

type whatIfInput struct {
	ForecastInput
	RawBody []byte `contentType:"application/yaml"`
}

func (a *API) forecastRoutes() {
	handle(a, op(http.MethodGet, ns+"/forecast", "get-forecast", "forecast"),
		"Foretell runs, load on pools and queues, collisions and missed deadlines, by simulation with the durations of the past", a.getForecast)
	o := asking(op(http.MethodPost, ns+"/forecast", "what-if", "forecast"))
	definition := &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true,
		Description: "A definition, as /api/v1/schemas/workflow.json describes it."}}
	o.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{yamlType: definition, "application/json": definition}}
	o.SkipValidateBody = true // dag says what is wrong, with lines
	handle(a, o, "Foretell what would be if a definition were registered, in place of the one of its workflow; nothing is stored", a.whatIf)
}

func (a *API) getForecast(ctx context.Context, in *ForecastInput) (*body[Forecast], error) {
	return answerOf(a.forecast(ctx, in, nil))
}

func (a *API) whatIf(ctx context.Context, in *whatIfInput) (*body[Forecast], error) {
	graph, problems := dag.Load(in.RawBody, dag.BuildOptions{DefaultTimezone: a.DefaultTimezone})
	if graph == nil {
		return nil, definitionProblem(problems)
	}
	return answerOf(a.forecast(ctx, &in.ForecastInput, graph))
}

// forecast simulates, one request at a time: a server has other things to do.
func (a *API) forecast(ctx context.Context, in *ForecastInput, instead *dag.Graph) (Forecast, error) {
	select {
	case a.foretelling <- struct{}{}:
		defer func() { <-a.foretelling }()
	case <-ctx.Done():
		return Forecast{}, ctx.Err()
	}
	namespace, err := a.namespace(ctx, in.Namespace)
	if err != nil {
		return Forecast{}, err
	}
	f := &foretold{API: a, ctx: ctx, namespace: namespace, in: in, instead: instead, places: make(map[int64]int),
		past: make(map[int64]map[string]forecast.Past)}
	if err := f.span(); err != nil {
		return Forecast{}, err
	}
	if err := f.gather(); err != nil {
		return Forecast{}, err
	}
	result := forecast.Simulate(f.builder.Done())
	if result.Full {
		return Forecast{}, tooMuch("simulates more than %d node runs", maxForecastSteps)
	}
	return f.view(result)
}

// span reads from when to when, by the database's clock.
func (f *foretold) span() error {
	now, err := f.Store.Now(f.ctx)
	if err != nil {
		return err
	}
	f.now = now
	if f.in.From.Before(now) {
		f.in.From = now
	}
	if f.in.To.IsZero() {
		f.in.To = f.in.From.Add(24 * time.Hour)
	}
	switch {
	case !f.in.To.After(f.in.From.Add(time.Second)):
		return invalid("query.to", "a forecast ends a second after it begins at the earliest, and after now: give a later to")
	case f.in.To.After(now.Add(maxForecast)):
		return invalid("query.to", "a forecast reaches 31 days from now at most: give an earlier to")
	}
	return nil
}

func tooMuch(what string, most int) *Problem {
	return invalid("query.to", "the forecast "+what+": ask for a shorter time, which ends earlier", most)
}
