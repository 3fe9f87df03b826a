-- name: RunsOfNamespace :many
SELECT r.id, r.workflow_id, w.code, v.number, r.version_id, r.state, r.generation, r.priority, r.trigger, r.actor,
    COALESCE(s.name, '')::text AS schedule, r.scheduled_at, to_char(r.logical_date, 'YYYY-MM-DD')::text AS logical_date,
    r.previous_scheduled_at, r.key, r.warnings, r.canceling, r.timed_out, r.reason, r.created_at, r.started_at, r.deadline_at, r.finished_at,
    r.canceled_by, r.cancel_reason, COALESCE(s.spec ->> 'timezone', '')::text AS timezone
FROM ax.runs r
JOIN ax.workflows w ON w.id = r.workflow_id
JOIN ax.versions v ON v.id = r.version_id
LEFT JOIN ax.schedules s ON s.id = r.schedule_id
WHERE r.namespace_id = @namespace_id AND r.id >= @since AND r.id < @before
    AND (@state::text = '' OR r.state = @state) AND (@logical_date::text = '' OR r.logical_date = NULLIF(@logical_date::text, '')::date)
ORDER BY r.id DESC LIMIT @most;

-- name: RunsOfWorkflow :many
SELECT r.id, r.workflow_id, w.code, v.number, r.version_id, r.state, r.generation, r.priority, r.trigger, r.actor,
    COALESCE(s.name, '')::text AS schedule, r.scheduled_at, to_char(r.logical_date, 'YYYY-MM-DD')::text AS logical_date,
    r.previous_scheduled_at, r.key, r.warnings, r.canceling, r.timed_out, r.reason, r.created_at, r.started_at, r.deadline_at, r.finished_at,
    r.canceled_by, r.cancel_reason, COALESCE(s.spec ->> 'timezone', '')::text AS timezone
FROM ax.runs r
JOIN ax.workflows w ON w.id = r.workflow_id
JOIN ax.versions v ON v.id = r.version_id
LEFT JOIN ax.schedules s ON s.id = r.schedule_id
WHERE r.workflow_id = @workflow_id AND r.id >= @since AND r.id < @before
    AND (@state::text = '' OR r.state = @state) AND (@logical_date::text = '' OR r.logical_date = NULLIF(@logical_date::text, '')::date)
ORDER BY r.id DESC LIMIT @most;

-- name: RunByID :one
SELECT r.id, r.workflow_id, w.code, v.number, r.version_id, r.state, r.generation, r.priority, r.trigger, r.actor,
    COALESCE(s.name, '')::text AS schedule, r.scheduled_at, to_char(r.logical_date, 'YYYY-MM-DD')::text AS logical_date,
    r.previous_scheduled_at, r.key, r.warnings, r.canceling, r.timed_out, r.reason, r.created_at, r.started_at, r.deadline_at, r.finished_at,
    r.canceled_by, r.cancel_reason, COALESCE(s.spec ->> 'timezone', '')::text AS timezone
FROM ax.runs r
JOIN ax.workflows w ON w.id = r.workflow_id
JOIN ax.versions v ON v.id = r.version_id
LEFT JOIN ax.schedules s ON s.id = r.schedule_id
WHERE r.id = @id AND r.namespace_id = @namespace_id;

-- name: RunDetail :one
-- What only one run's own page shows.
SELECT r.params, r.limited, COALESCE(w.max_runs, 0)::int AS max_runs, COALESCE(r.replay_of, 0)::bigint AS replay_of, r.only_nodes, r.held_at,
    EXISTS (SELECT FROM ax.run_intents i WHERE i.run_id = r.id AND i.kind = 'cancel')::boolean AS cancel_asked,
    COALESCE((SELECT max(s.backfill_id) FROM ax.backfill_slots s WHERE s.run_id = r.id), 0)::bigint AS backfill_id
FROM ax.runs r JOIN ax.workflows w ON w.id = r.workflow_id WHERE r.id = @id;

-- name: RunHolders :many
-- The runs that hold the places of a key of a limited workflow, oldest first.
SELECT id FROM ax.runs WHERE workflow_id = @workflow_id AND key = @key AND limited AND state = 'running' ORDER BY id LIMIT @most;

-- name: DelayedRuns :many
-- Runs asked for in advance, newest first.
SELECT d.id, d.workflow_id, w.code, v.number, COALESCE((v.definition ->> 'priority')::int, 2)::int AS priority, d.params, d.run_at, d.scheduled_at,
    to_char(d.logical_date, 'YYYY-MM-DD')::text AS logical_date, d.actor, d.created_at, d.state,
    (d.due_at IS NOT NULL AND w.paused_at IS NOT NULL)::boolean AS paused, COALESCE(d.run_id, 0)::bigint AS run_id, d.reason, d.ended_by, d.ended_at
FROM ax.delayed_runs d
JOIN ax.workflows w ON w.id = d.workflow_id
JOIN ax.versions v ON v.id = COALESCE(d.version_id, w.version_id)
WHERE d.namespace_id = @namespace_id AND d.id < @before
    AND (@workflow_id::bigint = 0 OR d.workflow_id = @workflow_id) AND (@state::text = '' OR d.state = @state)
ORDER BY d.id DESC LIMIT @most;
