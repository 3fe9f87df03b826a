package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

// TestFloodOfOutputIsCutAndStoredInSmallRows lets one node write much more than a log may hold, beside runs that must not notice.
func TestFloodOfOutputIsCutAndStoredInSmallRows(t *testing.T) {
	t.Parallel()
	const lines = 3 * maxLogLines
	flooded := make(chan struct{})
	text := bytes.Repeat([]byte("0123456789\n"), 1000)
	b := newBed(t, map[string]Executor{"flood": ExecutorFunc(func(_ context.Context, task *Task) Outcome {
		out := task.Log.Stream("stdout")
		for i := range lines / 1000 {
			if _, err := out.Write(text); err != nil {
				return Outcome{Err: permanent("write", "%v", err)}
			}
			if i == 10 {
				close(flooded)
			}
		}
		return Outcome{}
	}), "say": ExecutorFunc(func(_ context.Context, task *Task) Outcome { task.Log.Print("log", "hello"); return Outcome{} })})
	flood := b.launch(b.register("workflow: flood\nnodes: {a: {handler: flood}}"), 1, "{}")[0]
	<-flooded
	for _, run := range b.launch(b.register("workflow: beside\nnodes: {a: {handler: say}, b: {handler: say, needs: [a]}}"), 10, "{}") {
		require.Equal(t, progress.Succeeded, b.wait(run))
		require.Equal(t, 2, b.count("SELECT count(*) FROM ax.logs WHERE run_id = $1", run))
	}
	require.Equal(t, progress.Succeeded, b.wait(flood))
	require.Equal(t, maxLogLines+2, b.count("SELECT sum(json_array_length(lines)) FROM ax.logs WHERE run_id = $1", flood))
	require.LessOrEqual(t, b.count("SELECT max(octet_length(lines::text)) FROM ax.logs WHERE run_id = $1", flood), 64<<10+2)
	require.LessOrEqual(t, b.count("SELECT max(json_array_length(lines)) FROM ax.logs WHERE run_id = $1", flood), 1000)

	of := store.Attempt{Run: flood, Node: "a", Shard: store.WholeNode, Generation: 1, Number: 1}
	var last []store.MarkedLine
	read, at := 0, store.LogMark{}
	for {
		page, err := b.store.Logs(t.Context(), of, at, 5000)
		require.NoError(t, err)
		if len(page) == 0 {
			break
		}
		read, last, at = read+len(page), page, page[len(page)-1].Mark
	}
	require.Equal(t, maxLogLines+2, read)
	require.Contains(t, last[len(last)-2].Text, "the log is cut here: an attempt may write 100000 lines and 16 MiB")
	require.Equal(t, fmt.Sprintf("(%d lines with %d bytes of this log were dropped)", lines-maxLogLines, 10*(lines-maxLogLines)), last[len(last)-1].Text)
}

// TestBodyWaitsWhereItsLogIsNotStored wants a body to wait while its log cannot be stored, not memory to be filled; and not to wait for ever.
func TestBodyWaitsWhereItsLogIsNotStored(t *testing.T) {
	t.Parallel()
	for name, away := range map[string]error{"stored": nil, "lost": errors.New("the database is away")} {
		synctest.Test(t, func(t *testing.T) {
			gate := make(chan struct{})
			var rows []store.LogChunk
			w := &LogWriter{write: func(_ context.Context, c store.LogChunk) error {
				<-gate
				rows = append(rows, c)
				return away
			}}
			line := strings.Repeat("<", 1000) // is stored with 6 bytes each
			var printed atomic.Int32
			go func() {
				for range 1000 {
					w.Print("stdout", line)
					printed.Add(1)
				}
			}()
			<-time.After(time.Minute) // of the bubble's clock
			require.Less(t, int(printed.Load()), 2*logFullBytes/6000)
			close(gate)
			synctest.Wait()
			require.EqualValues(t, 1000, printed.Load(), name)
			require.Equal(t, away != nil, w.Close(t.Context()) != nil)
			said, kept := "", 0
			for _, r := range rows {
				kept += len(r.Lines)
				said = r.Lines[len(r.Lines)-1].Text
			}
			if away == nil {
				require.Equal(t, 1000, kept)
			} else {
				require.Contains(t, said, "bytes of this log were dropped")
			}
			for _, r := range rows {
				require.LessOrEqual(t, store.LogSize(r.Lines), 64<<10)
			}
		})
	}
}
