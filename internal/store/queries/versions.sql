-- name: WorkflowID :one
SELECT id FROM ax.workflows WHERE namespace_id = $1 AND code = $2;

-- name: AddWorkflow :one
INSERT INTO ax.workflows (namespace_id, code) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING id;

-- name: LockRegistration :exec
SELECT pg_advisory_xact_lock(hashtextextended('ax.registration', sqlc.arg(workflow_id)::bigint));

-- name: VersionByDigest :one
SELECT id, number, definition FROM ax.versions WHERE workflow_id = $1 AND digest = $2;

-- name: AddVersion :one
INSERT INTO ax.versions (workflow_id, number, digest, definition, created_by)
SELECT sqlc.arg(workflow_id)::bigint, COALESCE(max(number), 0) + 1, sqlc.arg(digest)::bytea, sqlc.arg(definition)::json, sqlc.arg(actor)::text
FROM ax.versions WHERE workflow_id = sqlc.arg(workflow_id)
RETURNING id, number;

-- name: SetCurrentVersion :exec
UPDATE ax.workflows SET version_id = sqlc.arg(version_id)::bigint, max_runs = sqlc.narg(max_runs), max_queued = sqlc.narg(max_queued),
    overflow = sqlc.narg(overflow), keep_us = sqlc.narg(keep_us), updated_at = now()
WHERE id = sqlc.arg(id) AND (version_id, max_runs, max_queued, overflow, keep_us)
    IS DISTINCT FROM (sqlc.arg(version_id)::bigint, sqlc.narg(max_runs)::int, sqlc.narg(max_queued)::int, sqlc.narg(overflow)::text, sqlc.narg(keep_us)::bigint);

-- name: StirQueued :execrows
-- Has somebody look at a workflow's queued runs: its limit may have risen.
INSERT INTO ax.run_intents (run_id, kind, actor)
SELECT id, 'settle', 'planner' FROM ax.runs r
WHERE r.workflow_id = sqlc.arg(workflow_id) AND r.limited AND r.state = 'queued' AND r.held_at IS NULL ORDER BY r.id LIMIT 1
ON CONFLICT DO NOTHING;

-- name: PauseNew :exec
UPDATE ax.workflows SET paused_at = now(), paused_by = sqlc.arg(actor)::text, pause_reason = 'registered paused' WHERE id = sqlc.arg(id);

-- name: AddQueues :exec
INSERT INTO ax.queues (namespace_id, name)
SELECT sqlc.arg(namespace_id)::bigint, n.name FROM unnest(sqlc.arg(names)::text[]) AS n (name)
WHERE NOT EXISTS (SELECT FROM ax.queues q WHERE q.namespace_id = sqlc.arg(namespace_id) AND q.name = n.name)
ORDER BY n.name ON CONFLICT DO NOTHING;
