package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ax-run/ax/api"
)

// forecastText tells first what is wrong, then where it comes from, then what there is.
func (c *call) forecastText(f api.Forecast) string {
	var b strings.Builder
	fmt.Fprintf(&b, "From %s to %s: %s, %d too late; %s.\n", c.timeText(&f.From), c.timeText(&f.To), counted(f.RunsTotal, "run"),
		len(f.Misses), counted(len(f.Collisions), "collision"))
	for _, w := range f.Warnings {
		fmt.Fprintf(&b, "Note: %s.\n", printable(w))
	}
	for _, part := range []struct {
		title string
		table table
	}{
		{"Too late", c.missTable(f.Misses)}, {"Longest ways", wayTable(f.Ways)}, {"Waiting", c.collisionTable(f.Collisions)},
		{"Load", loadTable(f.Loads)}, {"Runs", c.foretoldTable(f.Runs)},
	} {
		if len(part.table.rows) > 0 {
			b.WriteString("\n" + part.title + "\n" + part.table.render(c.colour))
		}
	}
	if f.RunsTotal > len(f.Runs) {
		b.WriteString("… there are more runs: ask for them with --limit\n")
	}
	return b.String()
}

func (c *call) missTable(misses []api.ForecastMiss) table {
	t := table{header: []string{"WORKFLOW", "SCHEDULED", "MISSES", "DUE", "EXPECTED END"}}
	for _, m := range misses {
		what := cell{m.Kind, red}
		if m.Possible {
			what = cell{m.Kind + " (possibly)", yellow}
		}
		t.add(plain(m.Workflow), plain(c.timeText(&m.ScheduledAt)), what, plain(c.timeText(&m.Due)), plain(orNever(c.timeText(m.EndsAt))))
	}
	return t
}

func orNever(text string) string {
	if text == "" {
		return "never"
	}
	return text
}

func wayTable(ways []api.ForecastWay) table {
	t := table{header: []string{"WORKFLOW", "TAKES", "NODES"}}
	for _, w := range ways {
		t.add(plain(w.Workflow), plain(secondsText(w.TakesS)), plain(shorten(strings.Join(w.Nodes, " → "))))
	}
	return t
}

func (c *call) collisionTable(collisions []api.ForecastCollision) table {
	t := table{header: []string{"WHERE", "FROM", "TO", "MOST WAITING", "WORKFLOWS"}}
	for _, k := range collisions {
		t.add(plain(k.Kind+" "+k.Name), plain(c.timeText(&k.From)), plain(c.timeText(&k.To)), plain(strconv.Itoa(k.Most)),
			plain(shorten(strings.Join(k.Workflows, ", "))))
	}
	return t
}

func loadTable(loads []api.ForecastLoad) table {
	t := table{header: []string{"WHERE", "CAPACITY", "PEAK", "WAITED", "OVER TIME"}}
	for _, l := range loads {
		capacity, full := "no limit", l.Peak
		if l.Capacity != nil {
			capacity, full = strconv.Itoa(*l.Capacity), *l.Capacity
		}
		t.add(plain(l.Kind+" "+l.Name), plain(capacity), plain(strconv.Itoa(l.Peak)), plain(secondsText(l.WaitedS)), plain(bars(l.Points, full)))
	}
	return t
}

// bars draw how much is in use over time, a column for each point: from empty to full.
func bars(points []api.ForecastPoint, full int) string {
	levels := []rune("·▁▂▃▄▅▆▇█")
	var b strings.Builder
	for _, p := range points {
		level := 0
		if full > 0 && p.Mean > 0 {
			level = min(max(1, int(p.Mean/float64(full)*float64(len(levels)-1)+0.5)), len(levels)-1)
		}
		b.WriteRune(levels[level])
	}
	return b.String()
}

func (c *call) foretoldTable(runs []api.ForecastRun) table {
	t := table{header: []string{"FIRES", "WORKFLOW", "SCHEDULE", "STARTS", "EXPECTED END", "LATEST END", "NODES WAIT", "OUTCOME"}}
	for _, r := range runs {
		outcome := cell{text: r.Outcome}
		if r.Outcome != "ends" {
			outcome.colour = yellow
		}
		t.add(plain(c.timeText(&r.FiresAt)), plain(r.Workflow), plain(r.Schedule), plain(c.timeText(r.StartsAt)), plain(c.timeText(r.EndsAt)),
			plain(c.timeText(r.LatestAt)), plain(secondsText(r.WaitedS)), outcome)
	}
	return t
}

func secondsText(s float64) string {
	if s == 0 {
		return ""
	}
	return (time.Duration(s*1000) * time.Millisecond).String()
}
