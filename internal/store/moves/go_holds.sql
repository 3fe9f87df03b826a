-- Holds the nodes that a batch of the fast path made ready and that nobody would take now, and tells of those that are to be given to a worker.
WITH hold AS (
    INSERT INTO ax.held (run_id, node, shard, generation, attempt, kind, state, queue, job_kind, priority)
    SELECT run_id, node, -1, 1, 1, mode, 'waiting', queue, kind, priority
    FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::smallint[], $6::text[])
        AS t (run_id, node, kind, queue, priority, mode)
    RETURNING queue
)
SELECT count(pg_notify('ax_route', '')) FROM (SELECT FROM hold WHERE queue LIKE '%-%' LIMIT 1) h
