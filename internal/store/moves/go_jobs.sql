-- Queues the nodes that a batch of the fast path made ready; those that their worker goes on with begin as running in its name.
WITH ready AS (
    SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::smallint[], $6::text[])
        AS t (run_id, node, kind, queue, priority, mode)
), job AS (
    INSERT INTO ax_river.river_job (args, kind, max_attempts, priority, queue, state, attempt, attempted_at, attempted_by,
        unique_key, unique_states)
    SELECT ax.job_args(run_id, node, -1, 1, 1), kind, 1, priority, queue,
        CASE mode WHEN 'inline' THEN 'running' ELSE 'available' END::ax_river.river_job_state,
        CASE mode WHEN 'inline' THEN 1 ELSE 0 END,
        CASE mode WHEN 'inline' THEN now() END,
        CASE mode WHEN 'inline' THEN ARRAY[$7::text] END,
        ax.job_key(run_id, node, -1), B'11110001'
    FROM ready
    RETURNING id, args, queue, state
), note AS (
    SELECT count(pg_notify('ax_river.river_insert', json_build_object('queue', queue)::text)) AS n
    FROM (SELECT DISTINCT queue FROM job WHERE state = 'available') q
)
SELECT n AS id, NULL::text AS args FROM note
UNION ALL SELECT id, args #>> '{}' FROM job WHERE state = 'running'
