-- Queues the held nodes that waited for a worker, or for their queue, where a live worker takes from it now and their run is not held.
WITH live AS (SELECT * FROM unnest($1::text[], $2::text[]) AS t (queue, kind)
), due AS (
    SELECT h.run_id, h.node, h.shard FROM live JOIN ax.held h ON h.queue = live.queue AND h.job_kind = live.kind
    JOIN ax.runs r ON r.id = h.run_id
    WHERE h.kind IN ('worker', 'queue') AND r.held_at IS NULL ORDER BY h.priority, h.since LIMIT $3 FOR SHARE OF r SKIP LOCKED
), taken AS (
    DELETE FROM ax.held h USING due WHERE h.run_id = due.run_id AND h.node = due.node AND h.shard = due.shard AND h.kind IN ('worker', 'queue')
    RETURNING h.*
), job AS (
    INSERT INTO ax_river.river_job (args, kind, max_attempts, priority, queue, metadata, unique_key, unique_states)
    SELECT ax.job_args(run_id, node, shard, generation, attempt), job_kind, 1, priority, queue, ax.job_holds(detail, kind, since),
        ax.job_key(run_id, node, shard), B'11110001'
    FROM taken RETURNING queue
)
SELECT (SELECT count(*) FROM taken),
    (SELECT count(pg_notify('ax_river.river_insert', json_build_object('queue', queue)::text)) FROM (SELECT DISTINCT queue FROM job) q)
