-- Holds attempts that run elsewhere; they end by a result that names them, by cancel, or at their deadline.
INSERT INTO ax.held (run_id, node, shard, generation, attempt, kind, state, job_kind, queue, priority, worker, queued_at, started_at, deadline_at)
SELECT run_id, node, shard, generation, attempt, 'remote', 'running', job_kind, queue, priority, worker, queued_at, started_at,
    now() + left_us * interval '1 microsecond'
FROM unnest($1::bigint[], $2::text[], $3::int[], $4::int[], $5::int[], $6::text[], $7::text[], $8::smallint[], $9::text[], $10::timestamptz[],
    $11::timestamptz[], $12::bigint[])
    AS t (run_id, node, shard, generation, attempt, job_kind, queue, priority, worker, queued_at, started_at, left_us)
