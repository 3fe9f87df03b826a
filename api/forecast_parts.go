package api

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ax-run/ax/internal/forecast"
)

// maxForecastWays bounds the critical paths of an answer.
const maxForecastWays = 50

func (f *foretold) name(place int) string { return f.builder.Workflows[place].Name }

func (f *foretold) runView(r forecast.Run) ForecastRun {
	return ForecastRun{Workflow: f.name(r.Workflow), Schedule: r.Schedule, ScheduledAt: utc(r.Scheduled), FiresAt: utc(r.Fired), StartsAt: unlessNever(r.Started),
		EndsAt: unlessNever(r.Finished), LatestAt: unlessNever(r.Late), Outcome: string(r.Outcome), WaitedS: seconds(r.Waited)}
}

func unlessNever(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return new(utc(t))
}

func (f *foretold) collisionView(c forecast.Collision) ForecastCollision {
	v := ForecastCollision{Kind: "overlap", From: utc(c.From), To: utc(c.To), Most: c.Most, Workflows: []string{}}
	if c.Resource >= 0 {
		r := f.builder.Resources[c.Resource]
		v.Kind, v.Name = string(r.Kind), r.Name
	} else {
		v.Name = f.name(c.Workflow)
	}
	for _, place := range c.Workflows {
		v.Workflows = append(v.Workflows, f.name(place))
	}
	return v
}

func (f *foretold) missView(m forecast.Miss, r forecast.Run) ForecastMiss {
	v := ForecastMiss{Kind: string(m.Kind), Workflow: f.name(r.Workflow), Schedule: r.Schedule, ScheduledAt: utc(r.Scheduled), Due: utc(m.Due),
		EndsAt: unlessNever(r.Finished), Possible: m.Possible}
	if m.Possible {
		v.EndsAt = unlessNever(r.Late)
	}
	return v
}

// ways are the critical paths of workflows that are late, and of the one that was asked for.
func (f *foretold) ways(late map[int]bool, only int) []ForecastWay {
	if only >= 0 {
		late[only] = true
	}
	ways := []ForecastWay{}
	for _, place := range slices.Sorted(maps.Keys(late)) {
		if len(ways) == maxForecastWays {
			break
		}
		nodes := f.builder.Workflows[place].Nodes
		way, takes := forecast.Critical(nodes)
		v := ForecastWay{Workflow: f.name(place), TakesS: seconds(takes), Nodes: []string{}}
		for _, i := range way {
			v.Nodes = append(v.Nodes, nodes[i].Name)
		}
		ways = append(ways, v)
	}
	return ways
}

// tellAssumed says which nodes have no past.
func (f *foretold) tellAssumed(out *Forecast) {
	places := slices.Sorted(maps.Keys(f.builder.Assumed))
	if len(places) == 0 {
		return
	}
	nodes := 0
	for _, place := range places {
		nodes += len(f.builder.Assumed[place])
	}
	out.Warnings = append(out.Warnings, fmt.Sprintf("of %d nodes in %d workflows, such as of %s, no success is known: they are taken to take as long as others do",
		nodes, len(places), f.name(places[0])))
}
