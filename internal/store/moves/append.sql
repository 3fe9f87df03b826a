-- Appends rows of history, with the dead letters among them.
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
)
INSERT INTO ax.node_runs (run_id, node, shard, generation, attempt, state, outcome, tolerated, job_id, worker, actor, reason,
    error_class, error_code, error_message, output, queued_at, started_at, holds, note)
SELECT run_id, node, shard, generation, attempt, state, outcome, tolerated, job_id, worker, actor, reason,
    error_class, error_code, error_message, output::json, queued_at, started_at, holds::jsonb, note FROM item
