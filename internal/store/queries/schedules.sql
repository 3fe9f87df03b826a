-- name: LockSchedules :many
SELECT id, name, spec, anchor, next_fire_at, removed_at FROM ax.schedules WHERE workflow_id = $1 ORDER BY id FOR NO KEY UPDATE;

-- name: AllSchedules :many
SELECT id, name, spec, anchor, next_fire_at, removed_at FROM ax.schedules WHERE workflow_id = $1 ORDER BY name;

-- name: RunOfSchedule :one
-- Whether the run that a schedule fired last has not ended.
SELECT EXISTS (
    SELECT FROM (SELECT l.run_id FROM ax.fires l WHERE l.schedule_id = $1 AND l.kind = 'fire' AND l.result = 'fired' ORDER BY l.scheduled_at DESC LIMIT 1) f
    JOIN ax.runs r ON r.id = f.run_id WHERE r.state IN ('queued', 'running'))::boolean;

-- name: Clock :one
SELECT clock_timestamp()::timestamptz;

-- name: AddSchedule :one
INSERT INTO ax.schedules (workflow_id, name, spec, anchor, next_fire_at, delay_us) VALUES ($1, $2, $3, $4, $5, $6) RETURNING id;

-- name: SetSchedule :exec
UPDATE ax.schedules SET spec = $2, anchor = $3, next_fire_at = $4, removed_at = $5, delay_us = $6 WHERE id = $1;

-- name: AddScheduleSpec :exec
INSERT INTO ax.schedule_specs (schedule_id, valid_from, spec, anchor) VALUES ($1, $2, $3, $4);

-- name: NotifySchedules :exec
SELECT pg_notify(sqlc.arg(channel)::text, '');

-- name: ClearPaused :one
WITH old AS (SELECT p.id, p.paused_at FROM ax.workflows p WHERE p.id = $1 AND p.paused_at IS NOT NULL FOR NO KEY UPDATE)
UPDATE ax.workflows w SET paused_at = NULL, paused_by = NULL, pause_reason = NULL, updated_at = now() FROM old
WHERE w.id = old.id RETURNING old.paused_at::timestamptz AS paused_at, w.namespace_id, COALESCE(w.version_id, 0)::bigint AS version_id;

-- name: SpecsOfSchedule :many
SELECT valid_from, spec, anchor FROM ax.schedule_specs WHERE schedule_id = $1 ORDER BY valid_from;

-- name: PausedFires :many
-- What a schedule skipped since it was paused, and nothing has made up, newest first.
SELECT f.scheduled_at, f.until_at, f.count FROM ax.fires f
WHERE f.schedule_id = @schedule_id AND f.kind = 'fire' AND f.result = 'skipped' AND f.reason = 'paused' AND COALESCE(f.until_at, f.scheduled_at) >= @since::timestamptz
  AND (f.count > 1 OR NOT EXISTS (SELECT FROM ax.fires m WHERE m.schedule_id = f.schedule_id AND m.scheduled_at = f.scheduled_at AND m.kind = 'fill'))
ORDER BY f.scheduled_at DESC LIMIT @most;

-- name: MendDelays :execrows
UPDATE ax.schedules s SET next_fire_at = GREATEST(now(), (spec ->> 'start')::timestamptz) + delay_us * interval '1 microsecond'
WHERE delay_us IS NOT NULL AND next_fire_at IS NULL AND removed_at IS NULL
  AND COALESCE((spec ->> 'end')::timestamptz, 'infinity') >= GREATEST(now(), (spec ->> 'start')::timestamptz) + delay_us * interval '1 microsecond'
  AND GREATEST(now(), (spec ->> 'start')::timestamptz) + delay_us * interval '1 microsecond' < '9999-12-31 10:00:00+00'
  AND NOT EXISTS (
    SELECT FROM (SELECT l.run_id FROM ax.fires l WHERE l.schedule_id = s.id AND l.kind = 'fire' AND l.result = 'fired' ORDER BY l.scheduled_at DESC LIMIT 1) f
    JOIN ax.runs r ON r.id = f.run_id WHERE r.state IN ('queued', 'running'));
