package engine

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

// bench is a task at hand to an executor, and the log that comes of it.
type bench struct {
	*Task
	lines []store.LogLine
}

func newBench(node *dag.Node) *bench {
	b := &bench{}
	a := store.Attempt{Run: 7, Node: "clean", Shard: store.WholeNode, Generation: 1, Number: 2}
	b.Task = &Task{
		Attempt: a, Node: node, Inputs: json.RawMessage(`{"day":"2026-11-30"}`), Deadline: time.Now().Add(time.Minute),
		Facts: &store.RunFacts{ID: 7, Workflow: "report.daily_sales", Params: []byte(`{"big":12345678901234567890123,"f":0.10}`),
			ScheduledAt: time.Date(2026, 11, 29, 18, 30, 0, 0, time.UTC), LogicalDate: "2026-11-30"},
		// A timer that flushes nothing: all of the log comes with the last flush.
		Log: &LogWriter{attempt: a, flusher: time.NewTimer(time.Hour), over: true, write: func(_ context.Context, c store.LogChunk) error {
			b.lines = append(b.lines, c.Lines...)
			return nil
		}},
	}
	return b
}

// execute carries the task out, and gives its log as "stream: line".
func (b *bench) execute(t *testing.T, ctx context.Context, x Executor) (Outcome, string) {
	t.Helper()
	out := x.Execute(ctx, b.Task)
	require.NoError(t, b.Log.Close(context.Background()))
	var log strings.Builder
	for _, l := range b.lines {
		log.WriteString(l.Stream + ": " + l.Text + "\n")
	}
	return out.checked(), log.String()
}

// requireError checks an outcome's class and code, and returns its message.
func requireError(t *testing.T, out Outcome, class progress.Class, code string) string {
	t.Helper()
	require.NotNil(t, out.Err, "the attempt succeeded")
	require.Equal(t, string(class)+" "+code, string(out.Err.Class)+" "+out.Err.Code, out.Err.Message)
	return out.Err.Message
}
