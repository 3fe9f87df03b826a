package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ax-run/ax/internal/store"
)

const (
	// lateFire is from when a schedule that is due and was not fired has no planner, lateNode the same of a held node and its engine, and
	// lateLook of the reconciler.
	lateFire, lateNode, lateLook = time.Minute, time.Minute, 10 * time.Minute
	// oldJob is from when a queued node waits long for a worker.
	oldJob = 10 * time.Minute
	// toldFindings is how many findings are told one by one.
	toldFindings = 20
)

// movers checks that somebody fires schedules, moves nodes and runs them.
func (d *doctor) movers(ctx context.Context) ([]checkView, error) {
	h, err := d.rows.MoverHealth(ctx)
	if err != nil {
		return nil, err
	}
	return []checkView{workersCheck(h), schedulesCheck(h), engineCheck(h)}, nil
}

func workersCheck(h store.MoverHealth) checkView {
	var counts []string
	for _, state := range []string{"online", "suspect", "draining", "lost"} {
		if n := h.Workers[state]; n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, state))
		}
	}
	c := checkView{"workers", healthOK, strings.Join(counts, ", "), ""}
	switch {
	case h.Workers["online"] == 0:
		c.State, c.Found = healthWarn, strings.TrimSuffix("no worker is online, "+c.Found, ", ")
		c.Advice = "start one with `ax worker`, or a program that embeds ax: nothing runs meanwhile"
	case h.Workers["suspect"]+h.Workers["lost"] > 0:
		c.State, c.Advice = healthWarn, "see whether those processes live and reach the database"
	}
	return c
}

func schedulesCheck(h store.MoverHealth) checkView {
	if h.Late > 0 && h.Lateness > lateFire {
		return checkView{"schedules", healthFail, fmt.Sprintf("%s due and not fired, the oldest for %s", areCounted(h.Late, "schedule"), durationText(h.Lateness)),
			"start a server (`ax server`), which fires them by their catch-up policy, or look into its log"}
	}
	return checkView{"schedules", healthOK, "none is due and not fired", ""}
}

func engineCheck(h store.MoverHealth) checkView {
	c := checkView{"engine", healthOK, "what is due is moved, and the reconciler looks", ""}
	switch {
	case h.DueNodes > 0 && h.DueFor > lateNode:
		c.State, c.Found = healthFail, fmt.Sprintf("%s due and not moved, the oldest for %s", areCounted(h.DueNodes, "node run"), durationText(h.DueFor))
		c.Advice = "start a server or worker, or look into its log"
	case h.NeverReconciled || h.Reconciled > lateLook:
		c.State, c.Found, c.Advice = healthWarn, "the reconciler does not look", "start a server or worker, or look into its log"
	}
	return c
}

// queues checks what waits at each queue.
func (d *doctor) queues(ctx context.Context) ([]checkView, error) {
	all, err := d.rows.QueueHealth(ctx)
	if err != nil {
		return nil, err
	}
	var checks []checkView
	for _, q := range all {
		name := q.Queue
		if q.Namespace != "default" {
			name = q.Namespace + "/" + q.Queue
		}
		switch {
		case q.Paused:
			checks = append(checks, checkView{"queue " + name, healthWarn, fmt.Sprintf("it is paused, and %s", waitText(q.Available+q.Unserved)), "`ax queues resume " + q.Queue + "` lets them go on"})
		case q.Unserved > 0:
			checks = append(checks, checkView{"queue " + name, healthWarn, fmt.Sprintf("%s for a worker that takes %s", waitText(q.Unserved), kindsText(q.Kinds)),
				"start a worker with these that serves the queue"})
		case q.Available > 0 && q.Oldest > oldJob:
			checks = append(checks, checkView{"queue " + name, healthWarn, fmt.Sprintf("%s for a free place, the oldest for %s", waitText(q.Available), durationText(q.Oldest)),
				"start more workers, or give them more capacity"})
		}
	}
	if len(checks) == 0 {
		checks = append(checks, checkView{"queues", healthOK, "nothing waits long for a worker", ""})
	}
	return checks, nil
}

func waitText(n int64) string {
	if n == 1 {
		return "1 node run waits"
	}
	return fmt.Sprintf("%d node runs wait", n)
}

func areCounted(n int64, one string) string {
	if n == 1 {
		return "1 " + one + " is"
	}
	return fmt.Sprintf("%d %ss are", n, one)
}

// kindsText names what workers must take, as people know it.
func kindsText(kinds []string) string {
	const told = 5
	var names []string
	for i, k := range kinds {
		if i == told {
			names = append(names, fmt.Sprintf("%d more", len(kinds)-told))
			break
		}
		if handler, ok := strings.CutPrefix(k, "go:"); ok {
			k = "handler " + handler
		} else {
			k += " nodes"
		}
		names = append(names, k)
	}
	return strings.Join(names, ", ")
}

// findings tells what the reconciler has found.
func (d *doctor) findings(ctx context.Context) ([]checkView, error) {
	all, err := d.rows.Findings(ctx, toldFindings+1)
	if err != nil {
		return nil, err
	}
	var checks []checkView
	var repaired []string
	for i, f := range all {
		switch {
		case f.State == store.FindingRepaired:
			repaired = append(repaired, f.Kind+" of "+f.Subject)
		case i == toldFindings:
			checks = append(checks, checkView{"finding", healthFail, "there are more findings", "see to those above first"})
		default:
			checks = append(checks, checkView{"finding", healthFail, fmt.Sprintf("%s of %s since %s: %s", f.Kind, f.Subject, f.FoundAt.UTC().Format(time.RFC3339), f.Detail), findingAdvice(f)})
		}
	}
	switch {
	case len(repaired) > 0:
		checks = append(checks, checkView{"findings", healthWarn, repairedText(repaired), "see who changes these tables or restores old copies of them"})
	case len(checks) == 0:
		checks = append(checks, checkView{"findings", healthOK, "there is nothing that must not be", ""})
	}
	return checks, nil
}

// repairedText names the first of what was set right; the newest come first.
func repairedText(names []string) string {
	const told = 3
	text := "set right in the last week: " + strings.Join(names[:min(len(names), told)], ", ")
	switch {
	case len(names) > toldFindings-told:
		text += " and many more"
	case len(names) > told:
		text += fmt.Sprintf(" and %d more", len(names)-told)
	}
	return text
}

func findingAdvice(f store.Finding) string {
	if f.Run != 0 {
		return fmt.Sprintf("look at it with `ax run %s`; cancel or replay the run if it does not go on", f.Run)
	}
	return "remove it from the table if nobody knows it"
}
