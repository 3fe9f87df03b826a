-- Ends the runs whose last node a batch of the fast path moved.
WITH ended AS (
    UPDATE ax.runs r SET state = 'succeeded', reason = 'all_succeeded', finished_at = now()
    FROM unnest($1::bigint[]) AS t (id) WHERE r.id = t.id
    RETURNING r.id, r.workflow_id, r.generation, r.trigger, r.scheduled_at, r.logical_date
), completed AS (
    INSERT INTO ax.completions (workflow_id, run_id, generation, scheduled_at, logical_date)
    SELECT e.workflow_id, e.id, e.generation, e.scheduled_at, e.logical_date FROM ended e
    WHERE e.trigger = 'backfill' OR EXISTS (SELECT FROM ax.upstream_terms u WHERE u.upstream_id = e.workflow_id)
    RETURNING 1
)
SELECT count(pg_notify('ax_completed', '')) FROM (SELECT FROM completed LIMIT 1) c
