-- Moves a batch of successes of clean runs: the fast path. One statement, one commit.
-- A run that is not clean any more, or of which somebody wants something, is left out whole; a job that is not ours
-- any more trips the guard, and nothing happens.
WITH item AS (
    SELECT * FROM unnest($1::bigint[], $2::smallint[], $3::bigint[], $4::text[], $5::text[])
        AS t (job_id, job_attempt, run_id, node, output)
), run AS MATERIALIZED (
    SELECT r.id FROM ax.runs r
    WHERE r.id = ANY ($3::bigint[]) AND r.state = 'running' AND r.clean
      AND NOT EXISTS (SELECT FROM ax.run_intents i WHERE i.run_id = r.id)
    ORDER BY r.id FOR SHARE OF r
), due AS MATERIALIZED (
    SELECT item.* FROM item JOIN run ON run.id = item.run_id
), gone AS (
    DELETE FROM ax_river.river_job j USING due
    WHERE j.id = due.job_id AND j.state = 'running' AND j.attempt = due.job_attempt
    RETURNING j.id, j.created_at, j.attempted_at
), done AS (
    INSERT INTO ax.node_runs (run_id, node, shard, generation, attempt, state, outcome, job_id, worker, actor, reason,
        output, queued_at, started_at, finished_at)
    SELECT due.run_id, due.node, -1, 1, 1, 'succeeded', 'succeeded', gone.id, $6::text, 'worker:' || $6::text, 'result',
        due.output::json, gone.created_at, gone.attempted_at, now()
    FROM due JOIN gone ON gone.id = due.job_id
    RETURNING 1
), target AS (
    SELECT t.* FROM unnest($7::bigint[], $8::text[], $9::int[], $10::int[], $11::int[], $12::text[], $13::text[], $14::smallint[], $15::text[])
        AS t (run_id, node, delta, need, total, kind, queue, priority, mode)
    JOIN run ON run.id = t.run_id
), arrived AS (
    INSERT INTO ax.node_joins AS x (run_id, node, arrived)
    SELECT run_id, node, delta FROM target WHERE delta < total ORDER BY run_id, node
    ON CONFLICT (run_id, node) DO UPDATE SET arrived = x.arrived + excluded.arrived
    RETURNING run_id, node, arrived
), ready AS (
    SELECT * FROM target WHERE delta >= total
    UNION ALL
    SELECT t.* FROM target t JOIN arrived a ON a.run_id = t.run_id AND a.node = t.node
    WHERE t.delta < t.total AND a.arrived >= t.need AND a.arrived - t.delta < t.need
), job AS (
    INSERT INTO ax_river.river_job (args, kind, max_attempts, priority, queue, state, attempt, attempted_at, attempted_by,
        unique_key, unique_states)
    SELECT ax.job_args(run_id, node, -1, 1, 1), kind, 1, priority, queue,
        CASE mode WHEN 'inline' THEN 'running' ELSE 'available' END::ax_river.river_job_state,
        CASE mode WHEN 'inline' THEN 1 ELSE 0 END,
        CASE mode WHEN 'inline' THEN now() END,
        CASE mode WHEN 'inline' THEN ARRAY[$6::text] END,
        ax.job_key(run_id, node, -1), B'11110001'
    FROM ready WHERE mode IN ('job', 'inline')
    RETURNING id, args, queue, state
), hold AS (
    INSERT INTO ax.held (run_id, node, shard, generation, attempt, kind, state, queue, job_kind, priority)
    SELECT run_id, node, -1, 1, 1, 'worker', 'waiting', queue, kind, priority FROM ready WHERE mode = 'worker'
    RETURNING 1
), ended AS (
    UPDATE ax.runs r SET state = 'succeeded', reason = 'all_succeeded', finished_at = now()
    FROM ready WHERE ready.mode = 'end' AND r.id = ready.run_id AND r.state = 'running'
    RETURNING r.id
), settle AS (
    INSERT INTO ax.run_intents (run_id, kind, actor) SELECT run_id, 'settle', 'engine' FROM ready WHERE mode = 'settle'
    ON CONFLICT DO NOTHING
    RETURNING run_id
), note AS (
    SELECT count(pg_notify('ax_river.river_insert', json_build_object('queue', queue)::text)) AS n
    FROM (SELECT DISTINCT queue FROM job WHERE state = 'available') q
), guard AS (
    SELECT 1 / ((SELECT count(*) FROM gone) = (SELECT count(*) FROM due)
            AND (SELECT count(*) FROM done) = (SELECT count(*) FROM due))::int AS ok
)
SELECT 'run' AS what, run.id AS run_id, NULL::bigint AS job_id, NULL::text AS args, guard.ok + note.n AS checked
FROM run, guard, note
UNION ALL SELECT 'end', id, NULL, NULL, NULL FROM ended
UNION ALL SELECT 'settle', run_id, NULL, NULL, NULL FROM settle
UNION ALL SELECT 'inline', NULL, id, args #>> '{}', NULL FROM job WHERE state = 'running'
