-- Gives waiting nodes their slots and queues them, under the locks of their runs and pools.
WITH pick AS (SELECT * FROM unnest($1::bigint[], $2::text[], $3::int[], $4::int[], $5::int[]) AS t (run_id, node, shard, generation, attempt)
), share AS (SELECT * FROM unnest($6::bigint[], $7::text[], $8::int[], $9::bigint[], $10::text[], $11::int[]) AS t (run_id, node, shard, namespace_id, pool, weight)
), gone AS (
    DELETE FROM ax.held h USING pick p WHERE h.run_id = p.run_id AND h.node = p.node AND h.shard = p.shard AND h.generation = p.generation
      AND h.attempt = p.attempt AND h.kind = 'pool'
    RETURNING h.*
), job AS (
    INSERT INTO ax_river.river_job (args, kind, max_attempts, priority, queue, metadata, unique_key, unique_states)
    SELECT ax.job_args(run_id, node, shard, generation, attempt), job_kind, 1, priority, queue,
        ax.job_holds(detail, kind, since) || jsonb_build_object('demand', demand), ax.job_key(run_id, node, shard), B'11110001'
    FROM gone ORDER BY priority, since, run_id, node, shard
    RETURNING queue
), slot AS (
    INSERT INTO ax.slots (namespace_id, pool, run_id, node, shard, generation, attempt, weight)
    SELECT s.namespace_id, s.pool, g.run_id, g.node, g.shard, g.generation, g.attempt, s.weight
    FROM gone g JOIN share s ON s.run_id = g.run_id AND s.node = g.node AND s.shard = g.shard
), rate AS (
    UPDATE ax.pools p SET next_at = t.next_at FROM unnest($12::bigint[], $13::text[], $14::timestamptz[]) AS t (namespace_id, name, next_at)
    WHERE p.namespace_id = t.namespace_id AND p.name = t.name
)
SELECT (SELECT count(*) FROM gone),
    (SELECT count(pg_notify('ax_river.river_insert', json_build_object('queue', queue)::text)) FROM (SELECT DISTINCT queue FROM job) q)
