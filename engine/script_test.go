package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

// words says how the attempts of a node end: a list of words for each generation and shard, a word for each attempt, the last one for all
// further ones.
type words [][]string

// scripts draws some of a vocabulary, of which none goes on for ever at the end.
func scripts(vocabulary ...string) *rapid.Generator[map[string]any] {
	return rapid.Custom(func(t *rapid.T) map[string]any {
		ends := rapid.SliceOfN(rapid.SliceOfN(rapid.SampledFrom(vocabulary), 1, 3), 1, 3).Draw(t, "ends")
		for i, list := range ends {
			if list[len(list)-1] == "handed_back" {
				ends[i] = append(list, "ok")
			}
		}
		return map[string]any{"ends": ends}
	})
}

func (s words) word(shard, generation, attempt int) string {
	list := s[(generation-1+max(shard, 0))%len(s)]
	return list[min(attempt, len(list))-1]
}

// scripted is a body that ends as its inputs say.
func scripted(ctx context.Context, t *Task) Outcome {
	var in struct{ Ends words }
	if err := json.Unmarshal(t.Inputs, &in); err != nil {
		return Outcome{Err: &progress.Error{Class: progress.Permanent, Message: err.Error()}}
	}
	word := in.Ends.word(t.Attempt.Shard, t.Attempt.Generation, t.Attempt.Number)
	switch word {
	case "nap":
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
		}
	case "deaf":
		<-time.After(20 * time.Millisecond) // whatever becomes of the attempt meanwhile
	}
	out := endedBy(word)
	if out.Err == nil && !out.Skipped {
		out.Output = json.RawMessage(fmt.Sprintf(`{"attempt": %d}`, t.Attempt.Number))
	}
	return out
}

// endedBy is what a word means.
func endedBy(word string) Outcome {
	switch word {
	case "ok", "nap", "deaf":
		return Outcome{}
	case "skip":
		return Outcome{Skipped: true, Reason: "nothing to do"}
	case "busy", "full":
		return Outcome{Err: &progress.Error{Class: progress.System, Code: word, Message: "it ended so"}}
	}
	return Outcome{Err: &progress.Error{Class: progress.Class(word), Code: "odd", Message: "it ended so"}}
}

// wholly are the newest rows of a run's history by node and shard, as far as a model knows them.
func (b *bed) wholly(run store.RunID) (map[string]string, error) {
	rows, err := b.pool.Query(context.Background(), `SELECT DISTINCT ON (node, shard) node, shard, generation, state, attempt, tolerated FROM ax.node_runs
		WHERE run_id = $1 ORDER BY node, shard, generation DESC, attempt DESC`, run)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := make(map[string]string)
	for rows.Next() {
		var node string
		var shard int
		var n progress.Node
		if err := rows.Scan(&node, &shard, &n.Generation, &n.State, &n.Attempt, &n.Tolerated); err != nil {
			return nil, err
		}
		out[fmt.Sprintf("%s/%d", node, shard)] = told(&n)
	}
	return out, rows.Err()
}

func told(n *progress.Node) string {
	tolerated := ""
	if n.Tolerated {
		tolerated = ", tolerated"
	}
	return fmt.Sprintf("generation %d: %s after attempt %d%s", n.Generation, n.State, n.Attempt, tolerated)
}

// quiet waits until a run has ended and nothing live is left of it.
func (b *bed) quiet(run store.RunID) error {
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); <-time.After(3 * time.Millisecond) {
		var state progress.State
		var live int
		err := b.pool.QueryRow(context.Background(), `SELECT state, (SELECT count(*) FROM ax_river.river_job
			WHERE unique_key >= int8send($1) AND unique_key < int8send($1 + 1)) + (SELECT count(*) FROM ax.held WHERE run_id = $1) FROM ax.runs WHERE id = $1`, run).
			Scan(&state, &live)
		if err != nil || state.Terminal() && live == 0 {
			return err
		}
	}
	rows, err := b.wholly(run)
	return fmt.Errorf("run %s does not end (%v): %v", run, err, rows)
}

// found are the violations of invariants that there are now.
func (b *bed) found() (found []string) {
	b.Helper()
	require.NoError(b, pgx.BeginTxFunc(b.Context(), b.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, func(tx pgx.Tx) (err error) {
		found, err = violations(b.Context(), tx)
		return err
	}))
	return found
}

// clear checks everything once all runs have ended, and forgets them, so that looking at everything stays quick.
func (b *bed) clear(t require.TestingT) {
	b.Helper()
	b.until("nothing goes on", func() bool {
		return b.count(`SELECT (SELECT count(*) FROM ax.runs WHERE state IN ('queued', 'running')) + (SELECT count(*) FROM ax.run_intents)
			+ (SELECT count(*) FROM ax.signals) + (SELECT count(*) FROM ax.slots) + (SELECT count(*) FROM ax.node_joins)`) == 0
	})
	found := b.found()
	_, err := b.pool.Exec(b.Context(), "DELETE FROM ax.runs; DELETE FROM ax.node_runs; DELETE FROM ax.dead_letters; DELETE FROM ax.expansions; DELETE FROM ax.logs")
	require.NoError(b, err)
	require.Empty(t, found)
}
