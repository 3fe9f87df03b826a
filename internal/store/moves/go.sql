-- Starts what a batch of the fast path made ready, and ends the runs that are through.
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
    FROM ready WHERE mode IN ('job', 'inline')
    RETURNING id, args, queue, state
), hold AS (
    INSERT INTO ax.held (run_id, node, shard, generation, attempt, kind, state, queue, job_kind, priority)
    SELECT run_id, node, -1, 1, 1, mode, 'waiting', queue, kind, priority FROM ready WHERE mode IN ('worker', 'queue')
), ended AS (
    UPDATE ax.runs r SET state = 'succeeded', reason = 'all_succeeded', finished_at = now()
    FROM ready WHERE ready.mode = 'end' AND r.id = ready.run_id
    RETURNING r.id, r.workflow_id, r.generation, r.trigger, r.scheduled_at, r.logical_date
), completed AS (
    INSERT INTO ax.completions (workflow_id, run_id, generation, scheduled_at, logical_date)
    SELECT e.workflow_id, e.id, e.generation, e.scheduled_at, e.logical_date FROM ended e
    WHERE e.trigger = 'backfill' OR EXISTS (SELECT FROM ax.upstream_terms u WHERE u.upstream_id = e.workflow_id)
    RETURNING 1
), settle AS (
    INSERT INTO ax.run_intents (run_id, kind, actor) SELECT run_id, 'settle', 'engine' FROM ready WHERE mode = 'settle'
    ON CONFLICT DO NOTHING
    RETURNING run_id
), note AS (
    SELECT count(pg_notify('ax_river.river_insert', json_build_object('queue', queue)::text)) AS n
    FROM (SELECT DISTINCT queue FROM job WHERE state = 'available') q
)
SELECT 'note' AS what, n AS id, NULL::text AS args FROM note
UNION ALL SELECT 'note', count(pg_notify('ax_completed', '')), NULL FROM (SELECT FROM completed LIMIT 1) c
UNION ALL SELECT 'end', id, NULL FROM ended
UNION ALL SELECT 'settle', run_id, NULL FROM settle
UNION ALL SELECT 'inline', id, args #>> '{}' FROM job WHERE state = 'running'
