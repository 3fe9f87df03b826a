-- Holds attempts that run elsewhere; they end by a result that names them, by cancel, at their deadline, or with the worker that has them.
INSERT INTO ax.held (run_id, node, shard, generation, attempt, kind, state, job_kind, queue, priority, worker, queued_at, started_at, deadline_at,
    incarnation, detail)
SELECT run_id, node, shard, generation, attempt, 'remote', 'running', job_kind, queue, priority, worker, queued_at, COALESCE(started_at, clock_timestamp()),
    now() + left_us * interval '1 microsecond', incarnation, CASE WHEN holds IS NOT NULL THEN jsonb_build_object('holds', holds::jsonb) END
FROM unnest($1::bigint[], $2::text[], $3::int[], $4::int[], $5::int[], $6::text[], $7::text[], $8::smallint[], $9::text[], $10::timestamptz[],
    $11::timestamptz[], $12::bigint[], $13::text[], $14::text[])
    AS t (run_id, node, shard, generation, attempt, job_kind, queue, priority, worker, queued_at, started_at, left_us, incarnation, holds)
