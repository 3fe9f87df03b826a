-- name: FiresOfWorkflow :many
-- The ledger of all schedules a workflow has had, newest first, from a place in it.
SELECT s.id AS schedule_id, s.name, f.scheduled_at, f.kind, f.result, f.reason, f.run_id, f.until_at, f.count, f.created_at
FROM ax.schedules s
CROSS JOIN LATERAL (
    SELECT f.scheduled_at, f.kind, f.result, f.reason, f.run_id, f.until_at, f.count, f.created_at FROM ax.fires f
    WHERE f.schedule_id = s.id AND f.scheduled_at >= @since AND f.scheduled_at <= @until
        AND (f.scheduled_at, f.schedule_id, f.kind) < (@until::timestamptz, @before_schedule::bigint, @before_kind::text)
    ORDER BY f.scheduled_at DESC, f.kind DESC LIMIT @most
) f
WHERE s.workflow_id = @workflow_id
ORDER BY f.scheduled_at DESC, s.id DESC, f.kind DESC LIMIT @most;
