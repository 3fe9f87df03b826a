-- name: LockSchedules :many
SELECT id, name, spec, anchor, next_fire_at, removed_at FROM ax.schedules WHERE workflow_id = $1 ORDER BY id FOR NO KEY UPDATE;

-- name: Clock :one
SELECT clock_timestamp()::timestamptz;

-- name: AddSchedule :one
INSERT INTO ax.schedules (workflow_id, name, spec, anchor, next_fire_at) VALUES ($1, $2, $3, $4, $5) RETURNING id;

-- name: SetSchedule :exec
UPDATE ax.schedules SET spec = $2, anchor = $3, next_fire_at = $4, removed_at = $5 WHERE id = $1;

-- name: AddScheduleSpec :exec
INSERT INTO ax.schedule_specs (schedule_id, valid_from, spec) VALUES ($1, $2, $3);

-- name: NotifySchedules :exec
SELECT pg_notify(sqlc.arg(channel)::text, '');

-- name: ClearPaused :execrows
UPDATE ax.workflows SET paused_at = NULL, paused_by = NULL, pause_reason = NULL, updated_at = now()
WHERE id = $1 AND paused_at IS NOT NULL;
