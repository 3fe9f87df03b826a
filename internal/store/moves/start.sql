-- Makes attempts due: as jobs, or as held rows where no live worker would take them or a delay comes first.
WITH item AS (
    SELECT * FROM unnest($1::bigint[], $2::text[], $3::int[], $4::int[], $5::int[], $6::text[], $7::text[], $8::smallint[], $9::text[], $10::bigint[])
        AS t (run_id, node, shard, generation, attempt, kind, queue, priority, mode, delay_us)
), job AS (
    INSERT INTO ax_river.river_job (args, kind, max_attempts, priority, queue, unique_key, unique_states)
    SELECT ax.job_args(run_id, node, shard, generation, attempt), kind, 1, priority, queue, ax.job_key(run_id, node, shard), B'11110001'
    FROM item WHERE mode = 'job' ORDER BY run_id, node
    RETURNING queue
), hold AS (
    INSERT INTO ax.held (run_id, node, shard, generation, attempt, kind, state, queue, job_kind, priority, due_at)
    SELECT run_id, node, shard, generation, attempt, mode, CASE mode WHEN 'due' THEN 'retrying' ELSE 'waiting' END, queue, kind, priority,
        CASE mode WHEN 'due' THEN now() + delay_us * interval '1 microsecond' END
    FROM item WHERE mode <> 'job'
    RETURNING kind
)
SELECT (SELECT count(pg_notify('ax_river.river_insert', json_build_object('queue', queue)::text)) FROM (SELECT DISTINCT queue FROM job) q)
    + (SELECT count(pg_notify('ax_due', '')) FROM (SELECT 1 FROM hold WHERE kind = 'due' LIMIT 1) d)
