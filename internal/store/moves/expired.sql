-- Attempts that have waited for a pool, their queue or a worker, or stood in the queue, for longer than their queue_timeout (S17).
(
    SELECT j.id, j.args #>> '{}' FROM ax_river.river_job j
    WHERE j.state = 'available' AND j.metadata ? 'expires' AND (j.metadata ->> 'expires')::bigint <= extract(epoch FROM now())::bigint
    LIMIT $1
) UNION ALL (
    SELECT 0, h.run_id::text || ':' || h.node || ':' || h.shard::text || ':' || h.generation::text || ':' || h.attempt::text FROM ax.held h
    WHERE h.kind IN ('worker', 'pool', 'queue') AND (h.detail ->> 'expires')::bigint <= extract(epoch FROM now())::bigint
    LIMIT $1
)
