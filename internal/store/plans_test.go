package store

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/internal/dbtest"
)

// explain is the plan of a statement with values, as PostgreSQL makes it for any of them.
func explain(t *testing.T, s *Store, sql string, args ...any) string {
	t.Helper()
	var lines []string
	require.NoError(t, s.InTx(t.Context(), func(tx pgx.Tx) error {
		if strings.Contains(sql, "owners") {
			if _, err := tx.Exec(t.Context(), alonePruning); err != nil {
				return err
			}
		}
		rows, err := tx.Query(t.Context(), "EXPLAIN "+sql, args...)
		if err != nil {
			return err
		}
		lines, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	}))
	return strings.Join(lines, "\n")
}

// However much there is of what is over, the statements that remove it, and those that feed backfills, find what they need by index.
func TestPlannersStatementsScanNoTableThatGrows(t *testing.T) {
	t.Parallel()
	s := New(dbtest.New(t))
	for _, sql := range []string{
		`INSERT INTO ax.workflows (namespace_id, code) SELECT 1, 'w' || i FROM generate_series(1, 100) i`,
		`INSERT INTO ax.versions (workflow_id, number, digest, definition, created_by) SELECT id, 1, '', '{}', 't' FROM ax.workflows`,
		`INSERT INTO ax.schedules (workflow_id, name, spec, anchor) SELECT id, 'x', '{}', now() FROM ax.workflows`,
		`INSERT INTO ax.fires (schedule_id, scheduled_at, result, run_id) SELECT s.id, now() - i * interval '1 hour', 'fired', i FROM ax.schedules s, generate_series(1, 200) i`,
		`INSERT INTO ax.delayed_runs (id, namespace_id, workflow_id, params, run_at, scheduled_at, logical_date, actor, state, ended_at)
			SELECT w.id * 1000 + i, 1, w.id, '{}', now(), now(), now(), 't', 'started', now() - i * interval '1 day' FROM ax.workflows w, generate_series(1, 100) i`,
		`INSERT INTO ax.upstream_sets (workflow_id, key, state, scheduled_at, logical_date, expires_at, ended_at)
			SELECT w.id, CASE WHEN i % 2 = 0 THEN 'run:' ELSE '' END || i, 'fired', now(), now(), now(), now() - i * interval '1 day' FROM ax.workflows w, generate_series(1, 100) i`,
		`INSERT INTO ax.watched_runs (run_id, workflow_id, scheduled_at, logical_date, ended) SELECT w.id * 1000 + i, w.id, now(), now(), true FROM ax.workflows w, generate_series(1, 100) i`,
		`INSERT INTO ax.backfills (id, namespace_id, workflow_id, lines, from_text, to_text, reprocess, newest_first, max_runs, params, cascade, actor, total, state, ended_at, look_at)
			SELECT w.id * 1000 + i, 1, w.id, '[]', '', '', 'all', false, 1, '{}', false, 't', 1, 'completed', now() - i * interval '1 day', NULL FROM ax.workflows w, generate_series(1, 10) i`,
		`INSERT INTO ax.backfill_slots (backfill_id, schedule_id, scheduled_at, state, run_id, round)
			SELECT b.id, 1, now() - i * interval '1 hour', CASE i % 4 WHEN 0 THEN 'waiting' WHEN 1 THEN 'failed' WHEN 2 THEN 'succeeded' ELSE 'active' END, b.id + i, 1 FROM ax.backfills b, generate_series(1, 20) i`,
		`INSERT INTO ax.runs (id, namespace_id, workflow_id, version_id, state, priority, trigger, actor, scheduled_at, logical_date, params, replay_of)
			SELECT w.id * 1000 + i, 1, w.id, 1, 'succeeded', 2, 'api', 't', now(), now(), '{}', CASE WHEN i % 5 = 0 THEN w.id * 1000 + i - 1 END FROM ax.workflows w, generate_series(1, 100) i`,
		`ANALYZE`,
	} {
		_, err := s.pool.Exec(t.Context(), sql)
		require.NoError(t, err, sql)
	}
	at, keep := time.Now(), (90 * 24 * time.Hour).Microseconds()
	backfill := &Backfill{ID: 1001, Round: 2}
	for name, plan := range map[string]string{
		"fires":     explain(t, s, moves["prune_fires"], 10, 50, 2000, keep),
		"delayed":   explain(t, s, moves["prune_delayed"], 10, 50, 2000, keep),
		"sets":      explain(t, s, moves["prune_sets"], 10, 50, 2000, keep),
		"watched":   explain(t, s, moves["prune_watched"], 10, 50, 2000),
		"backfills": explain(t, s, moves["prune_backfills"], 10, 50, 2000, keep),
		"facts":     explain(t, s, moves["backfill_facts"], 1, []time.Time{at, at.Add(time.Hour)}),
		"claim":     explain(t, s, claimBackfill),
		"settle":    explain(t, s, settleSlots, backfill.ID),
		"waiting":   explain(t, s, slotsQuery(backfill, slotsWaiting), backfill.ID, 10, backfill.Round),
		"failed":    explain(t, s, slotsQuery(backfill, slotsFailed), backfill.ID, 10, backfill.Round),
	} {
		for _, grows := range []string{"fires", "delayed_runs", "upstream_sets", "watched_runs", "backfills", "backfill_slots", "runs"} {
			require.NotContains(t, plan, "Seq Scan on "+grows, "%s:\n%s", name, plan)
		}
	}
}
