-- name: ClaimCompletions :many
SELECT id, workflow_id, node, COALESCE(run_id, 0)::bigint AS run_id, generation, scheduled_at, to_char(logical_date, 'YYYY-MM-DD')::text AS logical_date
FROM ax.completions WHERE due_at <= now() ORDER BY id LIMIT @most FOR UPDATE SKIP LOCKED;

-- name: AddCompletions :exec
WITH c AS (INSERT INTO ax.completions (workflow_id, scheduled_at, logical_date)
    SELECT unnest(@workflows::bigint[]), unnest(@scheduled::timestamptz[]), unnest(@dates::text[])::date)
SELECT pg_notify('ax_completed', '');

-- name: DropCompletions :exec
DELETE FROM ax.completions WHERE id = ANY (@ids::bigint[]);

-- name: PutOffCompletion :exec
UPDATE ax.completions SET due_at = now() + sqlc.arg(us)::bigint * interval '1 microsecond' WHERE id = @id;

-- name: BackfillRunsAside :many
-- Those of some runs that are of a backfill and count for nobody who waits.
SELECT r.id FROM ax.runs r WHERE r.id = ANY (@runs::bigint[]) AND r.trigger = 'backfill' AND NOT EXISTS (SELECT FROM ax.watched_runs k WHERE k.run_id = r.id);

-- name: WatchRuns :exec
INSERT INTO ax.watched_runs (run_id, workflow_id, scheduled_at, logical_date)
SELECT id, workflow_id, scheduled_at, logical_date FROM ax.runs WHERE id = ANY (@runs::bigint[]) ON CONFLICT DO NOTHING;

-- name: NowIn :one
SELECT now()::timestamptz;

-- name: IsWatched :one
SELECT EXISTS (SELECT FROM ax.upstream_terms WHERE upstream_id = @upstream_id);
