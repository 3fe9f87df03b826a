-- name: NamespaceID :one
SELECT id FROM ax.namespaces WHERE name = @name;

-- name: ListWorkflows :many
SELECT w.id, w.namespace_id, w.code, v.number, COALESCE(v.definition ->> 'title', '')::text AS title, COALESCE(v.definition ->> 'owner', '')::text AS owner,
    COALESCE(v.definition -> 'tags', '[]')::json AS tags, w.max_runs, w.max_queued, COALESCE(w.overflow, '')::text AS overflow, w.paused_at, w.paused_by, w.pause_reason,
    w.created_at, w.updated_at,
    ARRAY(SELECT s.next_fire_at FROM ax.schedules s WHERE s.workflow_id = w.id AND s.next_fire_at IS NOT NULL
        ORDER BY s.next_fire_at LIMIT 1)::timestamptz[] AS next_fire,
    COALESCE(last.id, 0)::bigint AS last_run, COALESCE(last.state, '')::text AS last_state
FROM ax.workflows w
JOIN ax.versions v ON v.id = w.version_id
LEFT JOIN LATERAL (SELECT r.id, r.state FROM ax.runs r WHERE r.workflow_id = w.id ORDER BY r.id DESC LIMIT 1) last ON true
WHERE w.namespace_id = @namespace_id AND w.id < @before AND (@code::text = '' OR w.code = @code)
ORDER BY w.id DESC LIMIT @most;

-- name: ListSchedules :many
SELECT id, name, spec, anchor, next_fire_at, created_at FROM ax.schedules
WHERE workflow_id = @workflow_id AND removed_at IS NULL ORDER BY name;

-- name: ListVersions :many
SELECT id, number, digest, created_at, created_by FROM ax.versions
WHERE workflow_id = @workflow_id AND number < @before ORDER BY number DESC LIMIT @most;

-- name: VersionByNumber :one
SELECT id, number, digest, definition, created_at, created_by FROM ax.versions
WHERE workflow_id = @workflow_id AND number = @number;
