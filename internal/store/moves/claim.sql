-- Takes queued jobs of some queues and kinds for remote workers, at most $3: their runs are share locked, as for whatever removes live rows.
-- Queues that are paused are left alone.
WITH pick AS MATERIALIZED (
    SELECT j.* FROM unnest($1::text[]) q (name) CROSS JOIN LATERAL (
        SELECT id, split_part(args #>> '{}', ':', 1)::bigint AS run_id, priority, scheduled_at FROM ax_river.river_job
        WHERE state = 'available' AND queue = q.name AND kind = ANY ($2::text[])
        ORDER BY priority, scheduled_at, id LIMIT $3::int
    ) j
    WHERE NOT EXISTS (SELECT FROM ax.queues p WHERE p.paused_at IS NOT NULL AND 'q' || p.id = split_part(q.name, '-', 1))
    ORDER BY j.priority, j.scheduled_at, j.id LIMIT $3::int
), run AS MATERIALIZED (
    SELECT r.id FROM ax.runs r WHERE r.id IN (SELECT run_id FROM pick) ORDER BY r.id FOR SHARE
), gone AS (
    DELETE FROM ax_river.river_job j USING pick, run
    WHERE j.id = pick.id AND run.id = pick.run_id AND j.state = 'available'
    RETURNING j.args #>> '{}' AS args, j.kind, j.queue, j.priority, j.created_at, j.metadata -> 'holds' AS holds, j.id
)
SELECT args, kind, queue, priority, created_at, holds FROM gone ORDER BY priority, id
