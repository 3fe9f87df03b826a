-- Notes of ended runs that they have ended, and of such as were not known to be waited for that they are.
WITH done AS (
    SELECT r.id, r.workflow_id, r.scheduled_at, r.logical_date, r.trigger, r.state IN ('succeeded', 'failed', 'canceled', 'skipped') AS ended
    FROM ax.runs r WHERE r.id = ANY ($1::bigint[])
), known AS (
    UPDATE ax.watched_runs k SET ended = done.ended FROM done WHERE k.run_id = done.id RETURNING k.run_id
)
INSERT INTO ax.watched_runs (run_id, workflow_id, scheduled_at, logical_date, ended)
SELECT id, workflow_id, scheduled_at, logical_date, ended FROM done
WHERE trigger NOT IN ('backfill', 'test') AND id NOT IN (SELECT run_id FROM known)
  AND EXISTS (SELECT FROM ax.upstream_terms u WHERE u.upstream_id = done.workflow_id)
ON CONFLICT (run_id) DO UPDATE SET ended = excluded.ended
