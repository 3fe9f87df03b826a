-- Writes what moved runs are now; a run that came this way is not clean any more, and its join counters serve no longer.
-- The end of a run is where a schedule of a fixed delay counts from (S4), and what other workflows may wait for (S12).
WITH joins AS (DELETE FROM ax.node_joins WHERE run_id = ANY ($1::bigint[])
), moved AS (
UPDATE ax.runs r SET clean = false, state = t.state, reason = CASE WHEN t.reopened THEN t.reason ELSE COALESCE(t.reason, r.reason) END, warnings = t.warnings,
    canceling = t.canceling, timed_out = t.timed_out,
    canceled_by = CASE WHEN t.reopened THEN NULL ELSE COALESCE(r.canceled_by, t.canceled_by) END,
    cancel_reason = CASE WHEN t.reopened THEN NULL ELSE COALESCE(r.cancel_reason, t.cancel_reason) END,
    held_at = CASE WHEN t.held THEN COALESCE(r.held_at, now()) END,
    stopped_at = CASE WHEN t.held OR t.idle THEN COALESCE(r.stopped_at, now()) END,
    generation = r.generation + t.reopened::int,
    deadline_at = CASE WHEN t.reopened THEN now() + t.timeout_us * interval '1 microsecond' WHEN t.timed_out THEN NULL
        WHEN r.stopped_at IS NOT NULL AND NOT (t.held OR t.idle) THEN r.deadline_at + (now() - r.stopped_at) ELSE r.deadline_at END,
    finished_at = CASE WHEN t.state IN ('succeeded', 'failed', 'canceled', 'skipped') THEN now() WHEN t.reopened THEN NULL ELSE r.finished_at END
FROM unnest($1::bigint[], $2::text[], $3::text[], $4::int[], $5::bool[], $6::bool[], $7::text[], $8::text[], $9::bool[],
    $10::bool[], $11::bigint[], $12::bool[])
    AS t (id, state, reason, warnings, canceling, timed_out, canceled_by, cancel_reason, held, reopened, timeout_us, idle)
WHERE r.id = t.id
RETURNING r.id, r.workflow_id, r.state, r.generation, r.trigger, r.schedule_id, r.scheduled_at, r.logical_date
), completed AS (
    INSERT INTO ax.completions (workflow_id, run_id, generation, scheduled_at, logical_date)
    SELECT e.workflow_id, e.id, e.generation, e.scheduled_at, e.logical_date FROM moved e
    WHERE e.state IN ('succeeded', 'failed', 'canceled', 'skipped')
      AND (e.trigger = 'backfill' OR EXISTS (SELECT FROM ax.upstream_terms u WHERE u.upstream_id = e.workflow_id))
    RETURNING 1
), after_run AS (
    UPDATE ax.schedules s SET next_fire_at = GREATEST(now(), (s.spec ->> 'start')::timestamptz) + s.delay_us * interval '1 microsecond'
    FROM moved e WHERE e.state IN ('succeeded', 'failed', 'canceled', 'skipped') AND s.id = e.schedule_id AND s.delay_us IS NOT NULL
      AND s.removed_at IS NULL AND e.trigger = 'schedule'
      AND NOT EXISTS (SELECT FROM ax.fires f WHERE f.schedule_id = s.id AND f.kind = 'fire' AND f.result = 'fired' AND f.scheduled_at > e.scheduled_at)
)
SELECT count(*), (SELECT count(pg_notify('ax_completed', '')) FROM (SELECT FROM completed LIMIT 1) c) FROM moved
