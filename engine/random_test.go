package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/internal/reference"
	"github.com/ax-run/ax/internal/store"
)

// TestInvariantsHoldWhateverHappens lets random runs be canceled, held, released, rerun and marked at any moment, abort and time out, in
// two processes of which one comes, goes and is declared lost, and wants every run to end and every invariant to hold.
func TestInvariantsHoldWhateverHappens(t *testing.T) {
	t.Parallel()
	b := newModelBed(t)
	policies := reference.Policies([]dag.OnFailure{dag.AbortChain, dag.AbortChain, dag.SkipNode, dag.AbortRun}, []time.Duration{0, 0, 5 * time.Millisecond})
	options := reference.Options{MaxNodes: 9, Rules: reference.AllRules, Policies: policies, Rich: true, Answers: 1, FailFast: true, Works: works,
		Pools: []string{"narrow", "wide"}, Inputs: scripts("ok", "ok", "ok", "nap", "nap", "deaf", "skip", "permanent", "busy", "timeout", "lost", "handed_back")}
	suspected := b.suspect()
	rapid.Check(t, func(t *rapid.T) {
		var runs []*disturbed
		for range together / 4 {
			runs = append(runs, b.disturb(t, options)...)
		}
		loss := rapid.SampledFrom([]string{"none", "none", "stop", "lose"}).Draw(t, "guest")
		var all sync.WaitGroup
		for _, r := range runs {
			all.Go(func() { r.err = r.live(context.Background()) })
		}
		b.lodge(loss)
		all.Wait()
		for _, r := range runs {
			require.NoError(t, r.err, "%s\n%s", r.text, r.told)
		}
		b.clear(t)
	})
	require.Empty(t, suspected())
}

// lodge lets one more process come and go: in order, or declared lost while it is at work.
func (b *modelBed) lodge(loss string) {
	b.Helper()
	if loss == "none" {
		return
	}
	e := b.start("guest", map[string]Executor{"act": ExecutorFunc(scripted)})
	b.until("the guest has come", func() bool { return b.count("SELECT count(*) FROM ax.workers WHERE name = 'guest'") > 0 })
	if loss == "lose" {
		_, err := b.pool.Exec(b.Context(), "UPDATE ax.workers SET beat_at = now() - interval '1 hour' WHERE name = 'guest'")
		require.NoError(b, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	require.NoError(b, e.Stop(ctx))
}

// disturbed is a random run and what happens to it.
type disturbed struct {
	*modelBed
	run    store.RunID
	events []disturbance
	text   string
	told   string
	err    error
}

// disturbance is an act after so many rows of history, or at once.
type disturbance struct {
	after int
	Act
}

func (d disturbance) String() string {
	switch {
	case d.Rerun != nil:
		return fmt.Sprintf("after %d: rerun %s of %v", d.after, d.Rerun.Scope, d.Rerun.Nodes)
	case d.Mark != nil:
		return fmt.Sprintf("after %d: mark %s %s", d.after, d.Mark.Node, d.Mark.State)
	}
	return fmt.Sprintf("after %d: hold %t, release %t, cancel %t", d.after, d.Hold, d.Release, d.Cancel)
}

// disturb draws a workflow, four runs of it, and what happens to each.
func (b *modelBed) disturb(t *rapid.T, options reference.Options) (runs []*disturbed) {
	b.workflows++
	options.Definition = dag.Definition{Meta: dag.Meta{Workflow: fmt.Sprintf("case%d", b.workflows)}}
	if limit := rapid.IntRange(0, 4).Draw(t, "max_runs"); limit > 0 {
		options.Definition.Concurrency = &dag.Concurrency{MaxRuns: limit}
	}
	shape := reference.Draw(t, options)
	text := string(shape.Graph.Canonical())
	if rapid.IntRange(0, 5).Draw(t, "times out") == 0 {
		text = strings.Replace(text, `"timeout":"24h","workflow"`, `"timeout":"40ms","workflow"`, 1)
	}
	for _, run := range b.launch(b.register(text), 4, "{}") {
		d := &disturbed{modelBed: b, run: run, text: text}
		for range rapid.IntRange(0, 4).Draw(t, "disturbances") {
			d.events = append(d.events, drawDisturbance(t, shape))
		}
		d.told = fmt.Sprint(d.events)
		runs = append(runs, d)
	}
	return runs
}

func drawDisturbance(t *rapid.T, s reference.Shape) disturbance {
	d := disturbance{after: rapid.IntRange(0, 12).Draw(t, "after"), Act: Act{Actor: "user:test"}}
	switch rapid.IntRange(0, 5).Draw(t, "disturbance") {
	case 0:
		d.Cancel = true
	case 1:
		d.Hold = true
	case 2:
		d.Release = true
	default:
		d.Act = drawAct(t, s)
	}
	return d
}

// live lets a run be disturbed until it has ended for good.
func (d *disturbed) live(ctx context.Context) error {
	for _, e := range d.events {
		if err := d.reach(ctx, e.after); err != nil {
			return err
		}
		err := d.engine.Do(ctx, d.run, e.Act)
		if err != nil && !errors.Is(err, ErrPointless) && !errors.Is(err, ErrStopping) {
			return err
		}
	}
	if err := d.engine.Do(ctx, d.run, Act{Actor: "user:test", Release: true}); err != nil && !errors.Is(err, ErrPointless) {
		return err
	}
	return d.agree(ctx, func() error { return d.quiet(d.run) })
}

// reach waits until the run has so many rows of history, or gets no further.
func (d *disturbed) reach(ctx context.Context, rows int) error {
	return d.agree(ctx, func() error {
		for range 50 {
			var far bool
			err := d.pool.QueryRow(ctx, `SELECT state IN ('succeeded', 'failed', 'canceled') OR held_at IS NOT NULL OR state = 'queued'
				OR (SELECT count(*) FROM ax.node_runs WHERE run_id = $1) >= $2 FROM ax.runs WHERE id = $1`, d.run, rows).Scan(&far)
			if far || err != nil {
				return err
			}
			<-time.After(2 * time.Millisecond)
		}
		return nil
	})
}

// agree says yes to whatever the run asks a person meanwhile.
func (d *disturbed) agree(ctx context.Context, while func() error) error {
	done := make(chan error, 1)
	go func() { done <- while() }()
	for {
		select {
		case err := <-done:
			return err
		case <-time.After(10 * time.Millisecond):
		}
		rows, err := d.wants(ctx)
		if err != nil {
			return err
		}
		for _, node := range rows {
			err := d.engine.Decide(ctx, store.Attempt{Run: d.run, Node: node, Shard: store.WholeNode}, Decision{Actor: "user:test", Approved: true})
			if err != nil && !errors.Is(err, ErrNotAsking) {
				return err
			}
		}
	}
}

// wants are the nodes of the run that ask a person.
func (d *disturbed) wants(ctx context.Context) (nodes []string, err error) {
	err = d.pool.QueryRow(ctx, "SELECT COALESCE(array_agg(node), '{}') FROM ax.held WHERE run_id = $1 AND kind = 'approval'", d.run).Scan(&nodes)
	return nodes, err
}
