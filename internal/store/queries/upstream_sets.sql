-- name: AddSet :exec
INSERT INTO ax.upstream_sets (workflow_id, key, scheduled_at, logical_date, expires_at)
VALUES (@workflow_id, @key, @scheduled_at, CAST(sqlc.arg(logical_date)::text AS date), now() + sqlc.arg(window_us)::bigint * interval '1 microsecond') ON CONFLICT DO NOTHING;

-- name: LockSet :one
SELECT workflow_id, key, state, COALESCE(reason, '')::text AS reason, COALESCE(run_id, 0)::bigint AS run_id, satisfied, scheduled_at,
    to_char(logical_date, 'YYYY-MM-DD')::text AS logical_date, created_at, expires_at, ended_at, later
FROM ax.upstream_sets WHERE workflow_id = @workflow_id AND key = @key FOR UPDATE;

-- name: SaveSet :exec
UPDATE ax.upstream_sets SET state = @state, reason = @reason, run_id = @run_id, satisfied = @satisfied, scheduled_at = @scheduled_at, logical_date = CAST(sqlc.arg(logical_date)::text AS date),
    later_at = CASE WHEN later < @later THEN now() ELSE later_at END, later = @later,
    ended_at = CASE WHEN @state = 'waiting' THEN NULL ELSE COALESCE(ended_at, now()) END
WHERE workflow_id = @workflow_id AND key = @key;

-- name: DropSet :exec
DELETE FROM ax.upstream_sets WHERE workflow_id = @workflow_id AND key = @key AND state = 'waiting';

-- name: WaitingSets :many
SELECT workflow_id, key, state, COALESCE(reason, '')::text AS reason, COALESCE(run_id, 0)::bigint AS run_id, satisfied, scheduled_at,
    to_char(logical_date, 'YYYY-MM-DD')::text AS logical_date, created_at, expires_at, ended_at, later
FROM ax.upstream_sets WHERE workflow_id = @workflow_id AND state = 'waiting' ORDER BY created_at, key LIMIT @most;

-- name: ExpireSets :execrows
UPDATE ax.upstream_sets SET state = 'expired', ended_at = now() WHERE state = 'waiting' AND expires_at <= now();

-- name: ListSets :many
SELECT workflow_id, key, state, COALESCE(reason, '')::text AS reason, COALESCE(run_id, 0)::bigint AS run_id, satisfied, scheduled_at,
    to_char(logical_date, 'YYYY-MM-DD')::text AS logical_date, created_at, expires_at, ended_at, later
FROM ax.upstream_sets
WHERE workflow_id = @workflow_id AND (@state::text = '' OR state = @state) AND (created_at, key) < (@before_at::timestamptz, @before_key::text)
ORDER BY created_at DESC, key DESC LIMIT @most;
