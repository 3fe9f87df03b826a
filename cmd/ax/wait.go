package main

import (
	"context"
	"fmt"
	"time"

	"github.com/ax-run/ax/api"
)

const (
	// waitFirst and waitMost bound the pause between two looks at a run.
	waitFirst = 50 * time.Millisecond
	waitMost  = 500 * time.Millisecond
	// waitAway is how long a server may be away during a wait.
	waitAway = time.Minute
	// waitTold is how often a wait says that it goes on where no line can be rewritten.
	waitTold = 10 * time.Second
)

// ended tells whether a run's state is one that does not change by itself.
func ended(state string) bool {
	switch state {
	case "succeeded", "failed", "canceled", "skipped":
		return true
	}
	return false
}

// waiting is a wait for one run.
type waiting struct {
	call   *call
	client *client
	id     string
	began  time.Time
	told   time.Time
	// away is since when the server has not answered; zero when it does.
	away time.Time
	seen bool // the server has answered
	line bool // a line of progress is on the screen
}

// wait returns the state in which a run ends. When timeout (0: none) passes first, the error's exit code says so.
func (c *call) wait(ctx context.Context, client *client, id string, timeout time.Duration) (string, error) {
	w := &waiting{call: c, client: client, id: id, began: c.now(), told: c.now()}
	defer w.clear()
	inTime := ctx
	if timeout > 0 {
		var cancel context.CancelFunc
		inTime, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	for next := waitFirst; ; next = min(2*next, waitMost) {
		run, err := client.run(inTime, id)
		if err == nil && ended(run.State) {
			return run.State, nil
		}
		if err == nil || inTime.Err() == nil {
			err = w.goOn(inTime, run, err)
		}
		if err == nil {
			err = pause(inTime, next)
		}
		if inTime.Err() != nil && ctx.Err() == nil {
			return "", failure(exitStillRuns, "run %s has not ended after %s: wait on with `ax run %s --wait`", id, durationText(timeout), id)
		}
		if err != nil {
			return "", err
		}
	}
}

// goOn decides whether to go on waiting after a look at the run, and tells of it.
func (w *waiting) goOn(ctx context.Context, run api.RunDetail, err error) error {
	now := w.call.now()
	switch {
	case err == nil:
		w.away, w.seen = time.Time{}, true
		return w.tell(ctx, run)
	case !comesBack(err), !w.seen:
		return err
	case w.away.IsZero():
		w.away = now
		w.clear()
		w.call.sayf("%s; trying again", explain(err))
	case now.Sub(w.away) > waitAway:
		return err
	}
	return nil
}

// tell says how far the run is: on a terminal in a line that is written anew, else now and then.
func (w *waiting) tell(ctx context.Context, run api.RunDetail) error {
	now := w.call.now()
	every := waitTold
	if w.call.person {
		every = time.Second
	}
	if now.Sub(w.told) < every {
		return nil
	}
	w.told = now
	nodes, err := w.client.nodes(ctx, w.id)
	if err != nil {
		return w.goOnWithout(err)
	}
	line := progressText(run, nodes, now.Sub(w.began))
	if !w.call.person {
		w.call.sayf("%s", line)
		return nil
	}
	fmt.Fprint(w.call.err, "\r\x1b[K"+line)
	w.line = true
	return nil
}

// goOnWithout forgives that the nodes could not be read, if the run may be readable next time.
func (w *waiting) goOnWithout(err error) error {
	if comesBack(err) {
		return nil
	}
	return err
}

// clear takes the line of progress off the screen.
func (w *waiting) clear() {
	if w.line {
		fmt.Fprint(w.call.err, "\r\x1b[K")
		w.line = false
	}
}

func progressText(run api.RunDetail, nodes []api.NodeRun, waited time.Duration) string {
	done, now := 0, ""
	for _, n := range nodes {
		switch n.State {
		case "running", "retrying":
			now = ", " + n.State + " " + printable(n.Node)
		case "pending", "waiting", "queued":
		default:
			done++
		}
	}
	return fmt.Sprintf("run %s is %s for %s: %d of %s done%s", run.ID, run.State, waited.Round(time.Second), done, counted(len(nodes), "node"), now)
}
