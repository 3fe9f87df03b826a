package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Herd is many workflows with a schedule each, for benchmarks: copies of one that was registered.
type Herd struct {
	// Version is the one to copy; its workflow has one schedule, of an interval.
	Version int64
	Size    int
	Every   time.Duration
	// Spread is the time over which their first fires are spread evenly, in an order that has nothing to do with their ids; 0 is all at once.
	Spread time.Duration
}

var gather = []string{
	`INSERT INTO ax.workflows (namespace_id, code, max_runs, max_queued, overflow)
		SELECT w.namespace_id, w.code || '.' || i, w.max_runs, w.max_queued, w.overflow
		FROM ax.versions v JOIN ax.workflows w ON w.id = v.workflow_id CROSS JOIN generate_series(1, @size::int) i WHERE v.id = @version
		ON CONFLICT DO NOTHING`,
	`WITH v AS (
			INSERT INTO ax.versions (workflow_id, number, digest, definition, created_by)
			SELECT c.id, 1, o.digest, jsonb_set(o.definition::jsonb, '{workflow}', to_jsonb(c.code))::json, o.created_by
			FROM ax.versions o JOIN ax.workflows w ON w.id = o.workflow_id JOIN ax.workflows c ON c.code LIKE w.code || '.%'
			WHERE o.id = @version AND c.version_id IS NULL
			RETURNING id, workflow_id)
		UPDATE ax.workflows w SET version_id = v.id FROM v WHERE w.id = v.workflow_id`,
	`WITH made AS (
			INSERT INTO ax.schedules (workflow_id, name, spec, anchor)
			SELECT c.id, s.name, s.spec, s.anchor
			FROM ax.versions o JOIN ax.workflows w ON w.id = o.workflow_id JOIN ax.schedules s ON s.workflow_id = w.id
			JOIN ax.workflows c ON c.code LIKE w.code || '.%'
			WHERE o.id = @version
			ON CONFLICT DO NOTHING RETURNING id, spec, anchor)
		INSERT INTO ax.schedule_specs (schedule_id, valid_from, spec, anchor) SELECT id, now(), spec, anchor FROM made`,
	"UPDATE ax.schedules SET next_fire_at = NULL WHERE next_fire_at IS NOT NULL",
}

// Gather makes the copies that are missing. No schedule of the database is due any more.
func (s *Store) Gather(ctx context.Context, c Herd) error {
	args := pgx.NamedArgs{"version": c.Version, "size": c.Size}
	for _, statement := range gather {
		if _, err := s.pool.Exec(ctx, statement, args); err != nil {
			return fmt.Errorf("gather %d schedules: %w", c.Size, err)
		}
	}
	return nil
}

// Aim makes a crowd that was gathered fire for the first time some time from now, and returns when that is.
func (s *Store) Aim(ctx context.Context, c Herd, in time.Duration) (first time.Time, err error) {
	err = s.pool.QueryRow(ctx, `WITH due AS (SELECT date_trunc('second', now() + @in::interval) AS first), aimed AS (
			UPDATE ax.schedules s SET next_fire_at = p.at, anchor = p.at - @every::interval, spec = t.spec
			FROM (SELECT c.id, first + (row_number() OVER (ORDER BY md5(c.code)) - 1) * @spread::interval / @size::int AS at
					FROM (SELECT c.id, c.code FROM ax.versions o JOIN ax.workflows w ON w.id = o.workflow_id
						JOIN ax.workflows c ON c.code LIKE w.code || '.%' WHERE o.id = @version ORDER BY c.id LIMIT @size) c, due) p,
				(SELECT s.spec FROM ax.schedules s JOIN ax.versions o USING (workflow_id) WHERE o.id = @version) t
			WHERE s.workflow_id = p.id)
		SELECT first FROM due`,
		pgx.NamedArgs{"version": c.Version, "size": c.Size, "every": c.Every, "spread": c.Spread, "in": in}).Scan(&first)
	if err == nil {
		_, err = s.pool.Exec(ctx, "VACUUM ANALYZE ax.workflows, ax.versions, ax.schedules")
	}
	if err != nil {
		return first, fmt.Errorf("aim %d schedules: %w", c.Size, err)
	}
	return first, nil
}

// Expected is an instant at which a schedule had to fire, and the runs that were made for it.
type Expected struct {
	At   time.Time
	Runs []RunID
}

// ExpectedFires lists the instants from one up to, but not at, another at which the schedules of an interval had to fire, by their anchors
// alone. A run counts only where the ledger has it too.
func (s *Store) ExpectedFires(ctx context.Context, every time.Duration, from, to time.Time) ([]Expected, error) {
	rows, err := s.pool.Query(ctx, `WITH expected AS (
			SELECT s.id, i.at FROM ax.schedules s, generate_series(s.anchor, $3, $1::interval) i (at)
			WHERE s.next_fire_at IS NOT NULL AND i.at >= $2 AND i.at < $3)
		SELECT e.at, COALESCE(array_agg(r.id) FILTER (WHERE f.run_id IS NOT NULL), '{}') FROM expected e
		LEFT JOIN ax.runs r ON r.schedule_id = e.id AND r.scheduled_at = e.at
		LEFT JOIN ax.fires f ON f.schedule_id = e.id AND f.scheduled_at = e.at AND f.result = 'fired' AND f.kind = 'fire'
		GROUP BY e.id, e.at`, every, from, to)
	if err != nil {
		return nil, fmt.Errorf("list expected fires: %w", err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Expected])
	if err != nil {
		return nil, fmt.Errorf("list expected fires: %w", err)
	}
	return got, nil
}

// ClockAhead is how far the database's clock is ahead of this machine's, to within half of the quickest of some round trips.
func (s *Store) ClockAhead(ctx context.Context) (time.Duration, error) {
	var best, ahead time.Duration
	for range 9 {
		var at time.Time
		began := time.Now()
		if err := s.pool.QueryRow(ctx, "SELECT clock_timestamp()").Scan(&at); err != nil {
			return 0, fmt.Errorf("compare clocks: %w", err)
		}
		if took := time.Since(began); best == 0 || took < best {
			best, ahead = took, at.Sub(began.Add(took/2))
		}
	}
	return ahead, nil
}

// Behind counts the schedules that still owe an instant before a given one, and the runs for such instants that have not ended.
func (s *Store) Behind(ctx context.Context, before time.Time) (n int, err error) {
	err = s.pool.QueryRow(ctx, `SELECT (SELECT count(*) FROM ax.schedules WHERE next_fire_at < $1)
		+ (SELECT count(*) FROM ax.runs WHERE state IN ('queued', 'running') AND scheduled_at < $1)`, before).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count what is behind: %w", err)
	}
	return n, nil
}
