-- name: QueueDepths :many
SELECT COALESCE(q.name, j.queue)::text AS queue, j.depth
FROM (SELECT split_part(queue, '-', 1) AS queue, count(*)::bigint AS depth FROM ax_river.river_job WHERE state = 'available' GROUP BY 1) j
LEFT JOIN ax.queues q ON j.queue = 'q' || q.id::text;

-- name: HeldCounts :many
SELECT kind, count(*)::bigint AS held FROM ax.held WHERE kind NOT IN ('remote', 'child') GROUP BY kind;

-- name: QueuedRuns :one
SELECT count(*)::bigint FROM ax.runs WHERE limited AND state = 'queued';

-- name: WorkerCounts :many
SELECT ax.worker_state(w)::text AS state, count(*)::bigint AS workers FROM ax.workers w GROUP BY 1;

-- name: OpenDeadLetters :one
SELECT count(*)::bigint FROM ax.dead_letters WHERE resolved_at IS NULL;

-- name: OpenFindings :many
SELECT kind, count(*)::bigint AS findings FROM ax.findings WHERE state = 'open' GROUP BY kind;
