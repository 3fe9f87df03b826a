package engine

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/dag/progress"
)

// damages break an invariant each, in a database with one run that has ended (a failed and tolerated, b succeeded), one that runs (its a
// waits for a worker), one queued behind that, and one that runs and is split (both shards of s wait for a worker).
var damages = map[string]string{
	"I1 a node goes on after its end": `INSERT INTO ax.node_runs (run_id, node, shard, generation, attempt, state, outcome, actor)
		SELECT run_id, node, -1, 1, 2, state, outcome, actor FROM ax.node_runs WHERE node = 'b'`,
	"I1 a node that has ended is live": "UPDATE ax.held SET run_id = (SELECT id FROM ax.runs WHERE state = 'succeeded')",
	"I1 a generation begins before the one before it has ended": `UPDATE ax.node_runs SET generation = 2 WHERE node = 'b'; INSERT INTO ax.node_runs (run_id, node, shard, generation, attempt, state, outcome, actor)
		SELECT run_id, node, -1, 1, 1, 'retrying', outcome, actor FROM ax.node_runs WHERE node = 'b'`,
	"I1 a generation is missing":             "UPDATE ax.node_runs SET generation = 2 WHERE node = 'b'",
	"I2 an old generation is live":           "INSERT INTO ax.node_runs (run_id, node, shard, generation, attempt, state, outcome, actor) SELECT run_id, 'a', -1, 2, 1, 'pending', 'reset', '' FROM ax.held WHERE node = 'a'",
	"I4 a shard that its node does not have": "UPDATE ax.node_runs SET shard = 5 WHERE node = 'b'",
	"I5 nothing ends a shard":                "DELETE FROM ax.held WHERE shard = 1",
	"I7 a run has ended before a shard":      "UPDATE ax.node_runs SET state = 'retrying', shard = 0 WHERE node = 'b'",
	"I7 all shards have ended, but not their node": `WITH h AS (DELETE FROM ax.held WHERE node = 's' RETURNING *) INSERT INTO ax.node_runs (run_id, node, shard, generation, attempt, state, outcome, actor)
		SELECT run_id, node, shard, 1, 1, 'skipped', '', '' FROM h`,
	"S21 a node failed by its shards, none of which failed": "UPDATE ax.node_runs SET reason = 'shards' WHERE node = 'a'",
	"I1 a run that has ended is live":                       "UPDATE ax.runs SET state = 'canceled' WHERE state = 'running'",
	"I1 a run's end has no time or reason":                  "UPDATE ax.runs SET finished_at = NULL",
	"I1 a run goes on after its end":                        "UPDATE ax.runs SET state = 'running' WHERE state = 'succeeded'",
	"I2 a node is live twice": `INSERT INTO ax_river.river_job (args, kind, max_attempts, queue)
		SELECT ax.job_args(run_id, node, shard, generation, attempt), 'go:rare', 1, queue FROM ax.held`,
	"I2 a job's result was accepted twice": "UPDATE ax.node_runs SET job_id = 7, node = 'a', attempt = attempt + (node = 'b')::int",
	"I2 a job lives on after its result": `WITH j AS (INSERT INTO ax_river.river_job (args, kind, max_attempts, queue)
		SELECT ax.job_args(run_id, node, shard, generation, 2), 'go:ok', 1, 'q1' FROM ax.node_runs WHERE node = 'b' RETURNING id)
		UPDATE ax.node_runs SET job_id = j.id FROM j WHERE node = 'b'`,
	"I3 a logical time has several scheduled runs": "UPDATE ax.runs SET trigger = 'schedule', schedule_id = 1, scheduled_at = now()",
	"I3 a fire without its run":                    "INSERT INTO ax.fires (schedule_id, scheduled_at, result) VALUES (1, now(), 'fired')",
	"I4 attempts are missing or doubled":           "UPDATE ax.node_runs SET attempt = 2 WHERE node = 'b'",
	"I4 a success without a start":                 "UPDATE ax.node_runs SET started_at = NULL WHERE node = 'b'",
	"I4 a node began though its rule did not hold": "UPDATE ax.held SET node = 'b'",
	"I5 nothing ends a running run":                "DELETE FROM ax.held",
	"I5 a running run has no deadline":             "UPDATE ax.runs SET deadline_at = NULL",
	"I5 a queued run waits for nothing":            "UPDATE ax.workflows SET max_runs = 2 WHERE code = 'held'",
	"I5 nothing ends a hold":                       "UPDATE ax.held SET kind = 'due'",
	"I5 a node to be repeated is not live":         "UPDATE ax.node_runs SET state = 'retrying' WHERE node = 'b'",
	"I6 more runs than the limit":                  "UPDATE ax.workflows SET max_runs = 0 WHERE code = 'held'",
	"I6 a pool holds more than it has": `WITH p AS (INSERT INTO ax.pools (namespace_id, name, slots) VALUES (1, 'p', 1))
		INSERT INTO ax.slots (namespace_id, pool, run_id, node, shard, generation, attempt, weight) VALUES (1, 'p', 1, 'a', -1, 1, 1, 2)`,
	"I6 a slot is held by nobody": `INSERT INTO ax.slots (namespace_id, pool, run_id, node, shard, generation, attempt, weight)
		SELECT 1, 'p', run_id, node, shard, generation, attempt, 1 FROM ax.held`,
	"I6 a job needs slots and has none":              `INSERT INTO ax_river.river_job (args, kind, max_attempts, queue, metadata) VALUES ('"1:a:-1:1:1"', 'go:ok', 1, 'q1', '{"demand": "1:p=1"}')`,
	"I7 a run has ended before its node":             "DELETE FROM ax.node_runs WHERE node = 'b'",
	"I7 all nodes have ended, but not the run":       "UPDATE ax.runs SET state = 'running' WHERE state = 'succeeded'",
	"I8 a run has another workflow's version":        "UPDATE ax.runs SET version_id = 3 - version_id",
	"I8 a node is not of its run's version":          "UPDATE ax.node_runs SET node = 'c' WHERE node = 'b'",
	"S2 a run has another outcome than its nodes":    "UPDATE ax.runs SET warnings = 0",
	"S3 a row without an actor or a reason":          "UPDATE ax.node_runs SET reason = NULL",
	"S14 a node ended against its rule":              "UPDATE ax.node_runs SET state = 'skipped', reason = 'upstream', queued_at = NULL WHERE node = 'b'",
	"S31 an open dead letter of what was begun anew": "UPDATE ax.node_runs SET node = 'a', generation = 2 WHERE node = 'b'",
	"S16 a failed node is no dead letter":            "DELETE FROM ax.dead_letters",
	"S16 a dead letter without a failed node":        "UPDATE ax.dead_letters SET node = 'b'",
}

// TestDamageIsFound breaks every invariant in turn and wants it to be found.
func TestDamageIsFound(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]Executor{"ok": succeed, "bad": failing(progress.Permanent)})
	b.wait(b.launch(b.register("workflow: bad\nnodes: {a: {handler: bad, on_failure: skip}, b: {handler: ok, needs: [a]}}"), 1, "{}")[0])
	b.launch(b.register("workflow: held\nconcurrency: {max_runs: 1}\nnodes: {a: {handler: rare}, b: {handler: ok, needs: [a]}}"), 2, "{}")
	split := b.launch(b.register("workflow: split\nnodes: {s: {handler: rare, shards: 2}}"), 1, "{}")[0]
	b.until("it is split", func() bool { return b.count("SELECT count(*) FROM ax.held WHERE run_id = $1", split) == 2 })
	rules := []string{unruly, against}
	for _, inv := range invariants {
		rules = append(rules, inv.rule)
	}
	for _, rule := range rules {
		require.Contains(t, damages, rule)
	}
	for rule, damage := range damages {
		require.True(t, slices.Contains(rules, rule), rule)
		t.Run(rule, func(t *testing.T) {
			tx, err := b.pool.Begin(t.Context())
			require.NoError(t, err)
			defer func() { require.NoError(t, tx.Rollback(t.Context())) }()
			_, err = tx.Exec(t.Context(), damage)
			require.NoError(t, err)
			found, err := violations(t.Context(), tx)
			require.NoError(t, err)
			require.Contains(t, strings.Join(found, "\n"), rule)
		})
	}
}
