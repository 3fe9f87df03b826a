-- Moves a batch of successes of clean runs: the fast path. It holds together or not at all: a run that is not clean any
-- more, or of which somebody wants something, and a job that is not ours any more trip the guard (division by zero).
-- That a run has not ended goes without saying: it has a live job.
-- No two of the lists here are joined with each other: the plan is made for lists of any length.
WITH run AS MATERIALIZED (
    SELECT r.id FROM ax.runs r
    WHERE r.id = ANY ($3::bigint[]) AND r.clean
      AND NOT EXISTS (SELECT FROM ax.run_intents i WHERE i.run_id = r.id)
    ORDER BY r.id FOR SHARE OF r
), gone AS (
    DELETE FROM ax_river.river_job j
    USING unnest($1::bigint[], $2::smallint[], $4::bigint[], $5::text[], $6::text[]) AS item (job_id, job_attempt, run_id, node, output)
    WHERE (SELECT count(*) FROM run) = cardinality($3::bigint[])
      AND j.id = item.job_id AND j.state = 'running' AND j.attempt = item.job_attempt
    RETURNING item.run_id, item.node, item.output, j.id, j.created_at, j.attempted_at, j.metadata -> 'holds' AS holds
), done AS (
    INSERT INTO ax.node_runs (run_id, node, shard, generation, attempt, state, outcome, job_id, worker, actor, reason,
        output, holds, queued_at, started_at, finished_at)
    SELECT run_id, node, -1, 1, 1, 'succeeded', 'succeeded', id, $7::text, 'worker:' || $7::text, 'result',
        output::json, holds, created_at, attempted_at, now()
    FROM gone
    RETURNING 1
), arrived AS (
    INSERT INTO ax.node_joins AS x (run_id, node, arrived)
    SELECT * FROM unnest($8::bigint[], $9::text[], $10::int[])
    ON CONFLICT (run_id, node) DO UPDATE SET arrived = x.arrived + excluded.arrived
    RETURNING run_id, node, arrived
), guard AS (
    SELECT 1 / ((SELECT count(*) FROM gone) = cardinality($1::bigint[])
            AND (SELECT count(*) FROM done) = cardinality($1::bigint[]))::int AS ok
)
SELECT NULL::bigint, NULL::text, ok FROM guard
UNION ALL SELECT run_id, node, arrived FROM arrived
