-- Makes attempts due: as jobs, or as held rows where no live worker would take them or a delay comes first.
WITH item AS (
    SELECT * FROM unnest($1::bigint[], $2::text[], $3::int[], $4::int[], $5::int[], $6::text[], $7::text[], $8::smallint[], $9::text[], $10::bigint[], $11::bigint[],
        $12::text[], $13::text[], $14::bigint[])
        AS t (run_id, node, shard, generation, attempt, kind, queue, priority, mode, delay_us, limit_us, detail, demand, wait_s)
), job AS (
    INSERT INTO ax_river.river_job (args, kind, max_attempts, priority, queue, metadata, unique_key, unique_states)
    SELECT ax.job_args(run_id, node, shard, generation, attempt), kind, 1, priority, queue,
        CASE WHEN wait_s = 86400 AND detail IS NULL THEN '{}' ELSE ax.from_now(COALESCE(detail::jsonb, '{}') || jsonb_build_object('wait', wait_s)) END,
        ax.job_key(run_id, node, shard), B'11110001'
    FROM item WHERE mode = 'job' ORDER BY run_id, node
    RETURNING queue
), hold AS (
    INSERT INTO ax.held (run_id, node, shard, generation, attempt, kind, state, queue, job_kind, priority, due_at,
        deadline_at, started_at, detail, demand)
    SELECT run_id, node, shard, generation, attempt, mode,
        CASE mode WHEN 'due' THEN 'retrying' WHEN 'child' THEN 'running' ELSE 'waiting' END, queue, kind, priority,
        CASE WHEN mode IN ('due', 'wait') THEN now() + delay_us * interval '1 microsecond' END,
        CASE WHEN mode IN ('approval', 'child') OR mode = 'wait' AND limit_us > 0 THEN now() + limit_us * interval '1 microsecond' END,
        CASE WHEN mode IN ('approval', 'child', 'wait') THEN now() END,
        CASE WHEN mode IN ('worker', 'pool', 'queue') THEN ax.from_now(COALESCE(detail::jsonb, '{}') || jsonb_build_object('wait', wait_s))
            ELSE COALESCE(detail::jsonb, '{}') || jsonb_build_object('wait', wait_s) END, demand
    FROM item WHERE mode <> 'job'
    RETURNING kind, queue
)
SELECT (SELECT count(pg_notify('ax_river.river_insert', json_build_object('queue', queue)::text)) FROM (SELECT DISTINCT queue FROM job) q)
    + (SELECT count(pg_notify('ax_due', '')) FROM (SELECT 1 FROM hold WHERE kind IN ('due', 'wait') LIMIT 1) d)
    + (SELECT count(pg_notify('ax_pool', '')) FROM (SELECT 1 FROM hold WHERE kind = 'pool' LIMIT 1) p)
    + (SELECT count(pg_notify('ax_route', '')) FROM (SELECT 1 FROM hold WHERE queue LIKE '%-%' LIMIT 1) r)
