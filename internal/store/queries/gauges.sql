-- name: QueueDepths :many
SELECT COALESCE(q.name, j.queue)::text AS queue, j.depth
FROM (SELECT queue, count(*)::bigint AS depth FROM ax_river.river_job WHERE state = 'available' GROUP BY queue) j
LEFT JOIN ax.queues q ON j.queue = 'q' || q.id::text;

-- name: HeldCounts :many
SELECT kind, count(*)::bigint AS held FROM ax.held WHERE kind NOT IN ('remote', 'child') GROUP BY kind;

-- name: QueuedRuns :one
SELECT count(*)::bigint FROM ax.runs WHERE limited AND state = 'queued';

-- name: WorkerCounts :many
SELECT (CASE WHEN beat_at = '-infinity' OR beat_at + lease < now() THEN 'lost' WHEN stopping THEN 'stopping' ELSE 'online' END)::text AS state,
    count(*)::bigint AS workers
FROM ax.workers GROUP BY 1;

-- name: OpenDeadLetters :one
SELECT count(*)::bigint FROM ax.dead_letters WHERE resolved_at IS NULL;
