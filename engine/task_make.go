package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/expr"
	"github.com/ax-run/ax/internal/store"
)

// madeTask is a task with what else is known of its run. The plan is nil where not even that could be read.
type madeTask struct {
	task  *Task
	facts *store.RunFacts
	plan  *plan
	node  int
}

// newLog makes the log of an attempt.
func (e *Engine) newLog(a store.Attempt) *LogWriter {
	return &LogWriter{attempt: a, write: func(ctx context.Context, chunk store.LogChunk) error {
		_, err := e.logs.Do(ctx, chunk)
		return err
	}}
}

// task reads what an attempt needs. A fault of ours may be retried, a wrong expression is final (S15).
func (e *Engine) task(ctx context.Context, a store.Attempt, log *LogWriter) (madeTask, *progress.Error) {
	var m madeTask
	facts, p, err := e.load(ctx, a.Run)
	if err != nil {
		return m, system(codeInternal, "%v", err)
	}
	at, ok := p.graph.Index(a.Node)
	if !ok {
		return m, system(codeInternal, "version %d has no node %q", facts.VersionID, a.Node)
	}
	m.facts, m.plan, m.node = facts, p, at
	v := p.graph.At(at)
	m.task = &Task{Attempt: a, Facts: facts, Node: v.Node, Inputs: json.RawMessage("{}"), Deadline: time.Now().Add(time.Duration(v.Node.Timeout)), Log: log}
	if err := e.shard(ctx, m.task); err != nil {
		return m, system(codeInternal, "%v", err)
	}
	if err := e.evaluate(ctx, m.task, v.Reads, v.Inputs, v.Work); err != nil {
		return m, permanent(codeExpression, "%v", err)
	}
	return m, nil
}

// load returns a run's facts and plan, asking again while the database is away.
func (e *Engine) load(ctx context.Context, run store.RunID) (*store.RunFacts, *plan, error) {
	for attempt := 0; ; attempt++ {
		facts, err := e.facts.get(ctx, run)
		if err == nil {
			var p *plan
			if p, err = e.plans.get(ctx, facts.VersionID); err == nil {
				return facts, p, nil
			}
		}
		if ctx.Err() != nil || !store.Transient(err) {
			return nil, nil, err
		}
		e.backoff(ctx, attempt)
	}
}

// shard fills in what a shard is one of.
func (e *Engine) shard(ctx context.Context, t *Task) error {
	if t.Attempt.Shard == store.WholeNode {
		return nil
	}
	split, err := e.splits.get(ctx, t.Attempt)
	if err != nil {
		return err
	}
	t.Shards = split.total
	if t.Attempt.Shard < len(split.items) {
		t.Item = split.items[t.Attempt.Shard]
	}
	return nil
}

// evaluate fills in what the node's expressions give.
func (e *Engine) evaluate(ctx context.Context, t *Task, reads []string, inputs, work *expr.Value) error {
	if inputs == nil && work == nil {
		return nil
	}
	vars, err := e.taskVars(ctx, t, reads)
	if err != nil {
		return err
	}
	if inputs != nil {
		if t.Inputs, err = inputs.Eval(ctx, vars); err != nil {
			return err
		}
	}
	if work != nil {
		t.Work, err = work.Eval(ctx, vars)
	}
	return err
}

// taskVars are what the expressions of a task may name, the outputs of some nodes among them.
func (e *Engine) taskVars(ctx context.Context, t *Task, reads []string) (expr.Vars, error) {
	vars := runVars(t.Facts)
	if t.Attempt.Shard != store.WholeNode {
		vars.Extra = map[string]json.RawMessage{"shard": fmt.Appendf(nil, `{"index": %d, "total": %d}`, t.Attempt.Shard, t.Shards), "item": t.Item}
	}
	if len(reads) == 0 {
		return vars, nil
	}
	outputs, err := e.outputs(ctx, outputWish{run: t.Attempt.Run, nodes: reads})
	if err != nil {
		return vars, err
	}
	vars.Nodes = make(map[string]json.RawMessage, len(outputs))
	for name, out := range outputs {
		vars.Nodes[name] = out
	}
	return vars, nil
}

// outputs reads what the expressions use, asking again while the database is away.
func (e *Engine) outputs(ctx context.Context, w outputWish) (map[string][]byte, error) {
	for attempt := 0; ; attempt++ {
		got, err := e.facts.outputs.Do(ctx, w)
		if err == nil || ctx.Err() != nil || !store.Transient(err) {
			return got, err
		}
		e.backoff(ctx, attempt)
	}
}
