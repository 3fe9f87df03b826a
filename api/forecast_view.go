package api

import (
	"math"
	"slices"
	"time"

	"github.com/ax-run/ax/internal/forecast"
)

// Forecast is what a simulation foretells.
type Forecast struct {
	From       time.Time           `json:"from"`
	To         time.Time           `json:"to"`
	RunsTotal  int                 `json:"runs_total" doc:"How many runs start in the time, or go on from before."`
	Runs       []ForecastRun       `json:"runs" nullable:"false" doc:"The first of them, in order of their fires."`
	Loads      []ForecastLoad      `json:"loads" nullable:"false" doc:"The pools and queues that something uses."`
	Collisions []ForecastCollision `json:"collisions" nullable:"false" doc:"The times at which work waits, at most 500."`
	Misses     []ForecastMiss      `json:"misses" nullable:"false" doc:"The runs that are too late, at most 500."`
	Ways       []ForecastWay       `json:"critical_paths" nullable:"false" doc:"The longest way through each workflow that misses something, or that was asked for."`
	Warnings   []string            `json:"warnings" nullable:"false" doc:"What the forecast takes for granted."`
}

// ForecastRun is a run that is foretold.
type ForecastRun struct {
	Workflow    string     `json:"workflow"`
	Schedule    string     `json:"schedule,omitempty"`
	ScheduledAt time.Time  `json:"scheduled_at"`
	FiresAt     time.Time  `json:"fires_at"`
	StartsAt    *time.Time `json:"starts_at,omitempty" doc:"Later than fires_at when runs of the workflow wait for each other."`
	EndsAt      *time.Time `json:"ends_at,omitempty" doc:"When it is expected to end, if nodes take as long as they did half of the time."`
	LatestAt    *time.Time `json:"latest_at,omitempty" doc:"When it ends if all nodes take as long as they did in one of twenty cases."`
	Outcome     string     `json:"outcome" enum:"ends,skipped,replaced,canceled,stuck" doc:"stuck asks for more than there is."`
	WaitedS     float64    `json:"waited_s" doc:"How long its nodes wait for pools and workers, all together."`
}

// ForecastLoad is how much of a pool or queue is in use over time.
type ForecastLoad struct {
	Kind     string          `json:"kind" enum:"pool,queue"`
	Name     string          `json:"name"`
	Capacity *int            `json:"capacity,omitempty" doc:"Absent for no limit."`
	Peak     int             `json:"peak" doc:"The most in use at once."`
	BusyS    float64         `json:"busy_s" doc:"Slots times seconds in use."`
	WaitedS  float64         `json:"waited_s" doc:"How long nodes wait for it, all together."`
	Points   []ForecastPoint `json:"points" nullable:"false"`
}

// ForecastPoint is one part of the time.
type ForecastPoint struct {
	At      time.Time `json:"at"`
	Mean    float64   `json:"mean"`
	Peak    int       `json:"peak"`
	Waiting int       `json:"waiting" doc:"The most nodes that wait at once."`
}

// ForecastCollision is a time during which work waits.
type ForecastCollision struct {
	Kind      string    `json:"kind" enum:"pool,queue,overlap" doc:"overlap is runs of one workflow that wait for each other."`
	Name      string    `json:"name" doc:"The pool's, the queue's or the workflow's."`
	From      time.Time `json:"from"`
	To        time.Time `json:"to"`
	Most      int       `json:"most_waiting"`
	Workflows []string  `json:"workflows" nullable:"false" doc:"Some of those that wait."`
}

// ForecastMiss is a run that is too late for something.
type ForecastMiss struct {
	Kind        string     `json:"kind" enum:"deadline,timeout,queue_timeout"`
	Workflow    string     `json:"workflow"`
	Schedule    string     `json:"schedule,omitempty"`
	ScheduledAt time.Time  `json:"scheduled_at"`
	Due         time.Time  `json:"due"`
	EndsAt      *time.Time `json:"ends_at,omitempty"`
	Possible    bool       `json:"possible" doc:"It is too late only if nodes are as slow as in one of twenty cases."`
}

// ForecastWay is the longest way through a workflow.
type ForecastWay struct {
	Workflow string   `json:"workflow"`
	TakesS   float64  `json:"takes_s" doc:"How long a run takes that waits for nothing."`
	Nodes    []string `json:"nodes" nullable:"false"`
}

// view shows a result to people.
func (f *foretold) view(r forecast.Result) (Forecast, error) {
	w := &f.builder.World
	only := -1
	if f.in.Workflow != "" {
		place, ok := f.builder.Code(f.in.Workflow)
		if !ok {
			return Forecast{}, notFound("there is no workflow %.128q in the namespace", f.in.Workflow)
		}
		only = place
	}
	wanted := func(place int) bool { return only < 0 || place == only }
	out := Forecast{From: utc(w.From), To: utc(w.Until), Runs: []ForecastRun{}, Loads: f.loads(r), Collisions: []ForecastCollision{},
		Misses: []ForecastMiss{}, Ways: []ForecastWay{}, Warnings: append([]string{}, f.warnings...)}
	for _, run := range r.Runs {
		if !wanted(run.Workflow) {
			continue
		}
		if out.RunsTotal++; len(out.Runs) < f.in.Limit {
			out.Runs = append(out.Runs, f.runView(run))
		}
	}
	for _, c := range r.Collisions {
		if len(out.Collisions) < maxForecastParts && (wanted(c.Workflow) || slices.Contains(c.Workflows, only)) {
			out.Collisions = append(out.Collisions, f.collisionView(c))
		}
	}
	late := make(map[int]bool)
	for _, m := range r.Misses {
		if run := r.Runs[m.Run]; wanted(run.Workflow) && len(out.Misses) < maxForecastParts {
			late[run.Workflow] = true
			out.Misses = append(out.Misses, f.missView(m, run))
		}
	}
	out.Ways = f.ways(late, only)
	f.tellAssumed(&out)
	return out, nil
}

func (f *foretold) loads(r forecast.Result) []ForecastLoad {
	loads := []ForecastLoad{}
	for i, l := range r.Loads {
		if l.Busy == 0 && l.Waited == 0 {
			continue
		}
		of := f.builder.Resources[i]
		v := ForecastLoad{Kind: string(of.Kind), Name: of.Name, Peak: l.Peak, BusyS: seconds(l.Busy), WaitedS: seconds(l.Waited), Points: make([]ForecastPoint, len(l.Points))}
		if of.Capacity < forecast.Unlimited {
			v.Capacity = &of.Capacity
		}
		for j, p := range l.Points {
			v.Points[j] = ForecastPoint{At: utc(p.At), Mean: math.Round(p.Mean*1000) / 1000, Peak: p.Peak, Waiting: p.Waiting}
		}
		loads = append(loads, v)
	}
	return loads
}

// seconds are a duration's, to the millisecond.
func seconds(d time.Duration) float64 { return math.Round(d.Seconds()*1000) / 1000 }
