-- name: NewestOfDate :many
SELECT r.id, r.generation, ax.term_state(r, @node::text)::text AS state, r.scheduled_at, to_char(r.logical_date, 'YYYY-MM-DD')::text AS logical_date
FROM ax.watched_runs k JOIN ax.runs r ON r.id = k.run_id
WHERE r.only_nodes IS NULL AND k.workflow_id = @workflow_id AND k.logical_date = CAST(sqlc.arg(date)::text AS date) ORDER BY k.run_id DESC LIMIT 1;

-- name: NewestOfTime :many
SELECT r.id, r.generation, ax.term_state(r, @node::text)::text AS state, r.scheduled_at, to_char(r.logical_date, 'YYYY-MM-DD')::text AS logical_date
FROM ax.watched_runs k JOIN ax.runs r ON r.id = k.run_id
WHERE r.only_nodes IS NULL AND k.workflow_id = @workflow_id AND k.scheduled_at = @at ORDER BY k.run_id DESC LIMIT 1;

-- name: RunsOfDate :many
SELECT r.id, r.generation, ax.term_state(r, @node::text)::text AS state, r.scheduled_at, to_char(r.logical_date, 'YYYY-MM-DD')::text AS logical_date
FROM ax.watched_runs k JOIN ax.runs r ON r.id = k.run_id
WHERE r.only_nodes IS NULL AND k.workflow_id = @workflow_id AND k.logical_date = CAST(sqlc.arg(date)::text AS date) AND ax.term_state(r, @node) = ANY (@states::text[])
ORDER BY k.run_id LIMIT @most;

-- name: RunsOfTime :many
SELECT r.id, r.generation, ax.term_state(r, @node::text)::text AS state, r.scheduled_at, to_char(r.logical_date, 'YYYY-MM-DD')::text AS logical_date
FROM ax.watched_runs k JOIN ax.runs r ON r.id = k.run_id
WHERE r.only_nodes IS NULL AND k.workflow_id = @workflow_id AND k.scheduled_at = @at AND ax.term_state(r, @node) = ANY (@states::text[])
ORDER BY k.run_id LIMIT @most;

-- name: RunOfTerm :many
SELECT r.id, r.generation, ax.term_state(r, @node::text)::text AS state, r.scheduled_at, to_char(r.logical_date, 'YYYY-MM-DD')::text AS logical_date
FROM ax.runs r WHERE r.only_nodes IS NULL AND r.workflow_id = @workflow_id AND r.id = @id;

-- name: LatestEnded :many
SELECT r.id, r.generation, ax.term_state(r, @node::text)::text AS state, r.scheduled_at, to_char(r.logical_date, 'YYYY-MM-DD')::text AS logical_date
FROM ax.runs r
WHERE r.only_nodes IS NULL AND r.workflow_id = @workflow_id AND ax.term_state(r, @node) NOT IN ('', 'queued', 'running')
    AND (r.trigger <> 'backfill' OR EXISTS (SELECT FROM ax.watched_runs k WHERE k.run_id = r.id))
ORDER BY r.id DESC LIMIT 1;

-- name: GoingOnOfDate :one
SELECT EXISTS (SELECT FROM ax.watched_runs WHERE workflow_id = @workflow_id AND logical_date = CAST(sqlc.arg(date)::text AS date) AND run_id <> @except_run::bigint AND NOT ended);

-- name: GoingOnOfTime :one
SELECT EXISTS (SELECT FROM ax.watched_runs WHERE workflow_id = @workflow_id AND scheduled_at = @at AND run_id <> @except_run::bigint AND NOT ended);

-- name: UnfiredIn :one
-- Whether a schedule had an instant in a stretch that came and made no run.
SELECT EXISTS (SELECT FROM ax.fires WHERE schedule_id = @schedule_id AND kind = 'fire' AND result <> 'fired'
    AND scheduled_at <= @until::timestamptz AND COALESCE(until_at, scheduled_at) >= @since::timestamptz);
