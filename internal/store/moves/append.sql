-- Appends rows of history, with the dead letters among them, and tells of ended nodes that other workflows wait for (S12).
WITH item AS (
    SELECT * FROM unnest($1::bigint[], $2::text[], $3::int[], $4::int[], $5::int[], $6::text[], $7::text[], $8::bool[], $9::bigint[],
        $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::text[], $17::timestamptz[], $18::timestamptz[], $19::text[], $20::text[])
        AS t (run_id, node, shard, generation, attempt, state, outcome, tolerated, job_id, worker, actor, reason,
            error_class, error_code, error_message, output, queued_at, started_at, holds, note)
), letter AS (
    INSERT INTO ax.dead_letters (run_id, node, shard, generation, attempts, namespace_id, workflow_id, tolerated, error_class, error_code,
        error_message)
    SELECT item.run_id, node, shard, item.generation, attempt, r.namespace_id, r.workflow_id, tolerated, error_class, error_code, error_message
    FROM item JOIN ax.runs r ON r.id = item.run_id WHERE item.state = 'failed' AND item.reason <> 'shards'
), completed AS (
    INSERT INTO ax.completions (workflow_id, node, run_id, generation, scheduled_at, logical_date)
    SELECT DISTINCT r.workflow_id, item.node, r.id, r.generation, r.scheduled_at, r.logical_date
    FROM item JOIN ax.runs r ON r.id = item.run_id JOIN ax.upstream_terms u ON u.upstream_id = r.workflow_id AND u.node = item.node
    WHERE item.shard = -1 AND item.state IN ('succeeded', 'failed', 'skipped', 'upstream_failed', 'canceled')
    RETURNING 1
), written AS (
INSERT INTO ax.node_runs (run_id, node, shard, generation, attempt, state, outcome, tolerated, job_id, worker, actor, reason,
    error_class, error_code, error_message, output, queued_at, started_at, holds, note)
SELECT run_id, node, shard, generation, attempt, state, outcome, tolerated, job_id, worker, actor, reason,
    error_class, error_code, error_message, output::json, queued_at, started_at, holds::jsonb, note FROM item
)
SELECT count(pg_notify('ax_completed', '')) FROM (SELECT FROM completed LIMIT 1) c
