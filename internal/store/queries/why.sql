-- name: SpecsOfWorkflow :many
-- The schedules that a workflow has had, with every spec that each has had, oldest first.
SELECT s.id, s.name, s.next_fire_at, p.valid_from, p.spec, p.anchor
FROM ax.schedules s JOIN ax.schedule_specs p ON p.schedule_id = s.id
WHERE s.workflow_id = @workflow_id ORDER BY s.name, p.valid_from;

-- name: FiresAbout :many
-- What the ledger has of an instant: the row of its stretch, what was made up for it, and the run into which it may have been coalesced.
(SELECT 'fire'::text AS role, f.scheduled_at, f.kind, f.result, f.reason, f.run_id, f.until_at, f.count, f.created_at FROM ax.fires f
    WHERE f.schedule_id = @schedule_id AND f.kind = 'fire' AND f.scheduled_at <= @at ORDER BY f.scheduled_at DESC LIMIT 1)
UNION ALL
(SELECT 'fill'::text, f.scheduled_at, f.kind, f.result, f.reason, f.run_id, f.until_at, f.count, f.created_at FROM ax.fires f
    WHERE f.schedule_id = @schedule_id AND f.kind = 'fill' AND f.scheduled_at = @at)
UNION ALL
(SELECT 'into'::text, f.scheduled_at, f.kind, f.result, f.reason, f.run_id, f.until_at, f.count, f.created_at FROM ax.fires f
    WHERE f.schedule_id = @schedule_id AND f.kind = 'fire' AND f.result = 'fired' AND f.scheduled_at > @at ORDER BY f.scheduled_at LIMIT 1);

-- name: FiresBeside :many
-- The instants of a schedule's ledger next to a time, that of the time itself among the later ones.
(SELECT f.scheduled_at FROM ax.fires f WHERE f.schedule_id = @schedule_id AND f.kind = 'fire' AND f.scheduled_at < @at ORDER BY f.scheduled_at DESC LIMIT 1)
UNION ALL
(SELECT f.scheduled_at FROM ax.fires f WHERE f.schedule_id = @schedule_id AND f.kind = 'fire' AND f.scheduled_at >= @at ORDER BY f.scheduled_at LIMIT 2);

-- name: NewestDue :one
-- The newest instant of a workflow's ledger that has come.
SELECT f.scheduled_at FROM ax.schedules s
CROSS JOIN LATERAL (SELECT COALESCE(f.until_at, f.scheduled_at)::timestamptz AS scheduled_at FROM ax.fires f WHERE f.schedule_id = s.id ORDER BY f.scheduled_at DESC LIMIT 1) f
WHERE s.workflow_id = @workflow_id ORDER BY 1 DESC LIMIT 1;

-- name: RunsActiveAt :many
-- Runs of a workflow that had not ended at an instant, those that had begun first, among its newest thousand of then.
SELECT r.id, r.started_at FROM (
    SELECT id, started_at, finished_at FROM ax.runs WHERE workflow_id = @workflow_id AND id < ax.run_id_at(@at::timestamptz) ORDER BY id DESC LIMIT 1000) r
WHERE r.finished_at IS NULL OR r.finished_at > @at ORDER BY (r.started_at IS NULL OR r.started_at > @at), r.id LIMIT @most;

-- name: SetsAbout :many
-- What a workflow has of its upstream for some keys, or began to have at a time.
SELECT u.workflow_id, u.key, u.state, COALESCE(u.reason, '')::text AS reason, COALESCE(u.run_id, 0)::bigint AS run_id, u.satisfied, u.scheduled_at,
    to_char(u.logical_date, 'YYYY-MM-DD')::text AS logical_date, u.created_at, u.expires_at, u.ended_at, u.later
FROM ax.upstream_sets u
WHERE u.workflow_id = @workflow_id AND (u.key = ANY (@keys::text[])
    OR EXISTS (SELECT FROM unnest(@keys::text[]) k WHERE u.key >= k || '#' AND u.key < k || '$')
    OR u.created_at >= @since AND u.created_at < @until)
ORDER BY u.created_at DESC LIMIT 50;

-- name: DelayedAbout :many
-- Runs of a workflow asked for in advance for a time, that have not started.
SELECT id FROM ax.delayed_runs WHERE workflow_id = @workflow_id AND due_at IS NOT NULL AND run_at >= @since AND run_at < @until ORDER BY run_at LIMIT 1;

-- name: WorkersAbout :many
-- The workers that take from the queue of a held node, those that were heard last first; not those that a later one of their name has ended.
SELECT w.name, w.beat_at, ax.worker_state(w)::text AS state, (h.job_kind = ANY (w.kinds))::boolean AS takes, (h.queue = ANY (w.queues))::boolean AS fits
FROM ax.held h
JOIN ax.workers w ON EXISTS (SELECT FROM unnest(w.queues) u WHERE split_part(u, '-', 1) = split_part(h.queue, '-', 1))
WHERE h.run_id = @run_id AND h.node = @node AND h.shard = @shard AND w.beat_at > '-infinity' ORDER BY w.beat_at DESC LIMIT 20;

-- name: WorkflowCodes :many
SELECT code FROM ax.workflows WHERE namespace_id = @namespace_id AND version_id IS NOT NULL ORDER BY code LIMIT @most;
