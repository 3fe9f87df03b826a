package engine

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/dag/progress"
)

// checkInvariants checks the invariants (semantics §10) that rows can tell of, on a database as it stands: whatever has
// happened to it, between two commits they hold.
func checkInvariants(t testing.TB, pool *pgxpool.Pool) {
	t.Helper()
	var found []string
	ctx := context.Background()
	require.NoError(t, pgx.BeginTxFunc(ctx, pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, func(tx pgx.Tx) (err error) {
		found, err = violations(ctx, tx)
		return err
	}))
	require.Empty(t, found, "invariants are violated")
}

// violations lists what is wrong, each with its invariant.
func violations(ctx context.Context, tx pgx.Tx) ([]string, error) {
	if _, err := tx.Exec(ctx, "SET LOCAL jit = off"); err != nil { // it takes longer than all the rest
		return nil, fmt.Errorf("look for violations: %w", err)
	}
	var queries []string
	for _, inv := range invariants {
		queries = append(queries, fmt.Sprintf("SELECT concat_ws(' ', '%s:', %s) %s", strings.ReplaceAll(inv.rule, "'", "''"), inv.what, inv.of))
	}
	rows, err := tx.Query(ctx, withViews+strings.Join(queries, "\nUNION ALL "))
	if err != nil {
		return nil, fmt.Errorf("look for violations: %w", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("look for violations: %w", err)
	}
	more, err := unrulyNodes(ctx, tx)
	return append(found, more...), err
}

// withViews are the rows of the database as the invariants speak of them: what is live, the last row of every generation, the newest of
// every node or shard, that of whole nodes, and every node of every run.
const withViews = `WITH live AS (
	SELECT split_part(args #>> '{}', ':', 1)::bigint AS run_id, split_part(args #>> '{}', ':', 2) AS node, split_part(args #>> '{}', ':', 3)::int AS shard,
		split_part(args #>> '{}', ':', 4)::int AS generation, split_part(args #>> '{}', ':', 5)::int AS attempt, id AS job_id FROM ax_river.river_job
	UNION ALL SELECT run_id, node, shard, generation, attempt, NULL FROM ax.held
), history AS (
	SELECT *, state IN ('succeeded', 'failed', 'skipped', 'upstream_failed', 'canceled') AS terminal FROM ax.node_runs
), last AS (
	SELECT DISTINCT ON (run_id, node, shard, generation) * FROM history ORDER BY run_id, node, shard, generation DESC, attempt DESC
), newest AS (
	SELECT DISTINCT ON (run_id, node, shard) * FROM last ORDER BY run_id, node, shard, generation DESC
), whole AS (
	SELECT * FROM newest WHERE shard = -1
), split AS (
	SELECT DISTINCT ON (run_id, node) * FROM ax.expansions ORDER BY run_id, node, generation DESC
), shard AS (
	SELECT s.run_id, s.node, s.generation, i.shard, n.terminal, n.state FROM split s CROSS JOIN generate_series(0, s.total - 1) i (shard)
	LEFT JOIN newest n ON n.run_id = s.run_id AND n.node = s.node AND n.shard = i.shard AND n.generation >= s.base
), run AS (
	SELECT *, state IN ('succeeded', 'failed', 'skipped', 'canceled') AS terminal FROM ax.runs
), member AS (
	SELECT run.id AS run_id, d.key AS node, d.value AS definition FROM run JOIN ax.versions v ON v.id = run.version_id,
		json_each(v.definition -> 'nodes') d
) `

// invariants are queries for what must not be.
var invariants = []struct{ rule, what, of string }{
	{"I1 a node goes on after its end", "a.run_id, a.node, a.state, b.state",
		"FROM history a JOIN history b USING (run_id, node, shard, generation) WHERE a.terminal AND b.attempt > a.attempt"},
	{"I1 a node that has ended is live", "n.run_id, n.node, n.state",
		"FROM newest n JOIN live USING (run_id, node, shard, generation) WHERE n.terminal"},
	{"I1 a generation begins before the one before it has ended", "n.run_id, n.node, n.generation",
		"FROM newest n JOIN last l USING (run_id, node, shard) WHERE l.generation < n.generation AND NOT l.terminal"},
	{"I1 a generation is missing", "run_id, node, max(generation)",
		"FROM last WHERE shard = -1 GROUP BY run_id, node HAVING count(*) <> max(generation)"},
	{"I1 a run that has ended is live", "run.id, run.state, live.node", "FROM run JOIN live ON live.run_id = run.id WHERE run.terminal"},
	{"I1 a run's end has no time or reason", "id, state", "FROM run WHERE terminal AND (finished_at IS NULL OR reason IS NULL)"},
	{"I1 a run goes on after its end", "id, state", "FROM run WHERE NOT terminal AND finished_at IS NOT NULL"},
	{"I2 a node is live twice", "run_id, node", "FROM live GROUP BY run_id, node, shard HAVING count(*) > 1"},
	{"I2 an old generation is live", "n.run_id, n.node", "FROM newest n JOIN live USING (run_id, node, shard) WHERE live.generation < n.generation"},
	{"I2 a job's result was accepted twice", "run_id, node, job_id", "FROM history WHERE job_id IS NOT NULL GROUP BY run_id, node, job_id HAVING count(*) > 1"},
	{"I2 a job lives on after its result", "h.run_id, h.node, h.attempt", "FROM history h JOIN live USING (job_id)"},
	{"I3 a logical time has several scheduled runs", "schedule_id, scheduled_at",
		"FROM run WHERE trigger = 'schedule' GROUP BY schedule_id, scheduled_at HAVING count(*) > 1"},
	{"I3 a fire without its run", "f.schedule_id, f.scheduled_at",
		"FROM ax.fires f WHERE f.result = 'fired' AND NOT EXISTS (SELECT FROM run WHERE run.id = f.run_id)"},
	{"I4 attempts are missing or doubled", "run_id, node, array_agg(attempt)",
		`FROM (SELECT run_id, node, shard, generation, attempt FROM history UNION ALL SELECT run_id, node, shard, generation, attempt FROM live) a
		GROUP BY run_id, node, shard, generation HAVING min(attempt) > 1 OR min(attempt) = 1 AND shard = -1 AND generation > 1
		OR max(attempt) - min(attempt) + 1 <> count(*)`},
	{"I4 a success without a start", "run_id, node, state",
		"FROM history WHERE started_at IS NULL AND state = 'succeeded' AND outcome <> 'copied' AND reason NOT IN ('branch', 'shards', 'marked')"},
	{"I4 a shard that its node does not have", "n.run_id, n.node, n.shard",
		`FROM newest n LEFT JOIN split s USING (run_id, node) WHERE n.shard >= 0 AND (s.total IS NULL OR n.generation >= s.base AND n.shard >= s.total)`},
	{"I5 nothing ends a running run", "id",
		`FROM run WHERE state = 'running' AND NOT EXISTS (SELECT FROM live WHERE live.run_id = run.id)
		AND NOT EXISTS (SELECT FROM ax.run_intents i WHERE i.run_id = run.id)`},
	{"I5 a running run has no deadline", "id", "FROM run WHERE state = 'running' AND deadline_at IS NULL AND NOT timed_out"},
	{"I5 a queued run waits for nothing", "run.id",
		`FROM run LEFT JOIN ax.workflows w ON w.id = run.workflow_id WHERE run.state = 'queued' AND run.held_at IS NULL
		AND NOT EXISTS (SELECT FROM ax.run_intents i WHERE i.run_id = run.id)
		AND (SELECT count(*) FROM run a WHERE a.workflow_id = run.workflow_id AND a.key = run.key AND a.limited AND a.state = 'running') < w.max_runs`},
	{"I5 a node to be repeated is not live", "n.run_id, n.node, n.state",
		`FROM newest n WHERE NOT n.terminal AND n.state <> 'pending'
		AND NOT EXISTS (SELECT FROM live l WHERE l.run_id = n.run_id AND l.node = n.node AND l.shard = n.shard)`},
	{"I5 nothing ends a shard", "s.run_id, s.node, s.shard",
		`FROM shard s JOIN run ON run.id = s.run_id LEFT JOIN whole w ON w.run_id = s.run_id AND w.node = s.node AND w.generation >= s.generation
		WHERE run.state = 'running' AND w.terminal IS NOT TRUE AND (w.generation IS NULL OR w.generation = s.generation) AND s.terminal IS NOT TRUE
		AND NOT EXISTS (SELECT FROM live l WHERE l.run_id = s.run_id AND l.node = s.node AND l.shard = s.shard)`},
	{"I5 nothing ends a hold", "run_id, node, kind",
		"FROM ax.held WHERE kind IN ('due', 'wait') AND due_at IS NULL OR kind IN ('remote', 'approval', 'child') AND deadline_at IS NULL"},
	{"I6 more runs than the limit", "run.workflow_id, run.key, count(*)",
		`FROM run JOIN ax.workflows w ON w.id = run.workflow_id WHERE run.limited AND run.state = 'running'
		GROUP BY run.workflow_id, run.key, w.max_runs HAVING count(*) > w.max_runs`},
	{"I6 a pool holds more than it has", "p.name, p.slots, sum(s.weight)",
		"FROM ax.pools p JOIN ax.slots s ON s.namespace_id = p.namespace_id AND s.pool = p.name GROUP BY p.namespace_id, p.name HAVING sum(s.weight) > p.slots"},
	{"I6 a slot is held by nobody", "s.run_id, s.node, s.shard, s.attempt",
		`FROM ax.slots s LEFT JOIN live l USING (run_id, node, shard, generation, attempt)
		LEFT JOIN ax.held h ON h.run_id = l.run_id AND h.node = l.node AND h.shard = l.shard AND h.kind <> 'remote'
		WHERE s.stopping_until IS NULL AND (l.run_id IS NULL OR h.run_id IS NOT NULL)`},
	{"I6 a job needs slots and has none", "j.args", `FROM ax_river.river_job j WHERE j.metadata ? 'demand'
		AND NOT EXISTS (SELECT FROM ax.slots s WHERE j.args = ax.job_args(s.run_id, s.node, s.shard, s.generation, s.attempt))`},
	{"I7 a run has ended before its node", "m.run_id, m.node",
		`FROM member m JOIN run ON run.id = m.run_id LEFT JOIN whole n ON n.run_id = m.run_id AND n.node = m.node
		WHERE run.terminal AND run.state <> 'skipped' AND n.terminal IS NOT TRUE`},
	{"I7 all nodes have ended, but not the run", "m.run_id",
		`FROM member m JOIN run ON run.id = m.run_id LEFT JOIN whole n ON n.run_id = m.run_id AND n.node = m.node
		WHERE NOT run.terminal AND NOT EXISTS (SELECT FROM ax.run_intents i WHERE i.run_id = run.id)
		GROUP BY m.run_id HAVING bool_and(n.terminal IS TRUE)`},
	{"I7 a run has ended before a shard", "n.run_id, n.node, n.shard", "FROM newest n JOIN run ON run.id = n.run_id WHERE run.terminal AND n.shard >= 0 AND NOT n.terminal"},
	{"I7 all shards have ended, but not their node", "s.run_id, s.node",
		`FROM shard s JOIN run ON run.id = s.run_id LEFT JOIN whole w ON w.run_id = s.run_id AND w.node = s.node AND w.generation >= s.generation
		WHERE run.state = 'running' AND (w.generation IS NULL OR w.generation = s.generation AND NOT w.terminal)
		GROUP BY s.run_id, s.node HAVING bool_and(s.terminal IS TRUE)`},
	{"I8 a run has another workflow's version", "run.id", "FROM run LEFT JOIN ax.versions v ON v.id = run.version_id WHERE v.workflow_id IS DISTINCT FROM run.workflow_id"},
	{"I8 a node is not of its run's version", "h.run_id, h.node",
		"FROM (SELECT run_id, node FROM history UNION SELECT run_id, node FROM live) h LEFT JOIN member m USING (run_id, node) WHERE m.node IS NULL"},
	{"S2 a run has another outcome than its nodes", "run.id, run.state, run.warnings",
		`FROM run LEFT JOIN LATERAL (
			SELECT count(*) FILTER (WHERE n.state = 'failed' AND n.tolerated) AS tolerated,
				count(*) FILTER (WHERE n.state = 'failed' AND NOT n.tolerated OR n.state = 'upstream_failed') AS bad FROM whole n WHERE n.run_id = run.id
		) n ON true WHERE run.terminal AND (run.warnings <> n.tolerated OR run.state <>
			CASE WHEN run.reason = 'overlap' THEN 'skipped' WHEN run.canceling THEN 'canceled' WHEN n.bad > 0 OR run.timed_out THEN 'failed' ELSE 'succeeded' END)`},
	{"S3 a row without an actor or a reason", "run_id, node", "FROM history WHERE actor = '' OR reason IS NULL OR reason = ''"},
	{"S16 a failed node is no dead letter", "h.run_id, h.node",
		"FROM history h LEFT JOIN ax.dead_letters d USING (run_id, node, shard, generation) WHERE h.state = 'failed' AND h.reason <> 'shards' AND d.run_id IS NULL"},
	{"S16 a dead letter without a failed node", "d.run_id, d.node",
		"FROM ax.dead_letters d LEFT JOIN history h ON (h.run_id, h.node, h.shard, h.generation, h.state) = (d.run_id, d.node, d.shard, d.generation, 'failed') WHERE h.run_id IS NULL"},
	{"S31 an open dead letter of what was begun anew", "d.run_id, d.node, d.shard, d.generation",
		`FROM ax.dead_letters d JOIN newest n ON n.run_id = d.run_id AND n.node = d.node AND n.shard IN (d.shard, -1) AND n.generation > d.generation
		LEFT JOIN ax.expansions e ON e.run_id = d.run_id AND e.node = d.node AND e.generation = n.generation AND e.base <= d.generation
		WHERE d.resolved_at IS NULL AND (n.shard = d.shard OR e.base IS NULL)`},
	{"S21 a node failed by its shards, none of which failed", "w.run_id, w.node",
		`FROM whole w WHERE w.state = 'failed' AND w.reason = 'shards'
		AND NOT EXISTS (SELECT FROM shard s WHERE s.run_id = w.run_id AND s.node = w.node AND s.generation = w.generation AND s.state = 'failed')`},
}

const (
	unruly  = "I4 a node began though its rule did not hold"
	against = "S14 a node ended against its rule"
)

// unrulyNodes checks I4 and S14: what was made due had a rule that held, and what ended without a start one that did not. The parents
// that decided it are terminal, so that the rule can still be read off them; where a parent was begun anew later than the node was decided, it
// cannot. A rerun of failed shards keeps the split, and decides nothing anew.
func unrulyNodes(ctx context.Context, tx pgx.Tx) ([]string, error) {
	rows, err := tx.Query(ctx, withViews+`, reset AS (
			SELECT run_id, node, max(finished_at) AS at FROM history WHERE attempt = 0 AND shard = -1 GROUP BY run_id, node
		), decided AS (
			SELECT h.run_id, h.node, max(h.finished_at) AS at FROM history h LEFT JOIN ax.expansions e USING (run_id, node, generation)
			WHERE h.attempt = 0 AND h.shard = -1 AND (e.base < h.generation) IS NOT TRUE GROUP BY h.run_id, h.node
		), alive AS (
			SELECT run_id, node FROM live UNION SELECT e.run_id, e.node FROM split e LEFT JOIN whole w USING (run_id, node) WHERE w.generation IS NULL OR w.generation <= e.generation
		), class AS (
			SELECT m.run_id, m.node, need.name, p.generation, r.at, CASE
				WHEN p.state = 'succeeded' AND p.reason = 'branch' AND NOT COALESCE((p.output -> 'taken')::jsonb ? m.node, false) THEN 'K'
				WHEN p.state = 'succeeded' OR p.state = 'failed' AND p.tolerated THEN 'S'
				WHEN p.state = 'failed' THEN 'F' WHEN p.state = 'upstream_failed' THEN 'U' WHEN p.state = 'canceled' THEN 'C' WHEN p.state = 'skipped' THEN 'K' END AS class
			FROM member m CROSS JOIN LATERAL json_array_elements_text(m.definition -> 'needs') need (name)
			JOIN member pm ON pm.run_id = m.run_id AND pm.node = need.name
			LEFT JOIN whole p ON p.run_id = m.run_id AND p.node = need.name LEFT JOIN reset r ON r.run_id = m.run_id AND r.node = need.name
		)
		SELECT m.run_id, m.node, m.definition ->> 'trigger_rule', COALESCE(n.state, 'pending'),
			EXISTS (SELECT FROM alive a WHERE a.run_id = m.run_id AND a.node = m.node) OR n.queued_at IS NOT NULL
				OR COALESCE(n.reason IN ('branch', 'condition', 'empty', 'shards', 'result'), false),
			count(*) FILTER (WHERE c.class = 'S'), count(*) FILTER (WHERE c.class = 'F'), count(*) FILTER (WHERE c.class = 'U'),
			count(*) FILTER (WHERE c.class = 'C'), count(*) FILTER (WHERE c.class = 'K'), count(c.name)
		FROM member m LEFT JOIN whole n ON n.run_id = m.run_id AND n.node = m.node LEFT JOIN decided r ON r.run_id = m.run_id AND r.node = m.node
		LEFT JOIN class c ON c.run_id = m.run_id AND c.node = m.node
		WHERE NOT COALESCE((m.definition ->> 'finally')::bool, false) AND (n.terminal AND (n.reason IN ('marked', 'overlap') OR n.outcome = 'copied')) IS NOT TRUE
		GROUP BY m.run_id, m.node, m.definition ->> 'trigger_rule', n.state, n.queued_at, n.reason, r.at
		HAVING max(c.at) IS NULL OR max(c.at) <= r.at`)
	if err != nil {
		return nil, fmt.Errorf("read decided nodes: %w", err)
	}
	var found []string
	var run int64
	var node, rule, state string
	var begun bool
	var parents progress.Tally
	_, err = pgx.ForEachRow(rows, []any{&run, &node, &rule, &state, &begun, &parents.S, &parents.F, &parents.U, &parents.C, &parents.K, &parents.Total}, func() error {
		decided := progress.Decide(dag.Rule(rule), parents)
		switch {
		case begun && decided != progress.Queued:
			found = append(found, fmt.Sprintf("%s: %d %s %s over %+v", unruly, run, node, rule, parents))
		case !begun && state != string(decided) && (state == string(progress.Skipped) || state == string(progress.UpstreamFailed)):
			found = append(found, fmt.Sprintf("%s: %d %s %s over %+v", against, run, node, rule, parents))
		}
		return nil
	})
	return found, err
}
