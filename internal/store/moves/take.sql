-- Removes the live rows whose attempts have ended; what is not removed belongs to somebody else by now (S18).
WITH item AS (
    SELECT * FROM unnest($1::bigint[], $2::smallint[], $3::bigint[], $4::text[], $5::int[], $6::int[], $7::int[])
        AS t (job_id, job_attempt, run_id, node, shard, generation, attempt)
), job AS (
    DELETE FROM ax_river.river_job j USING item
    WHERE j.id = item.job_id AND j.state = 'running' AND j.attempt = item.job_attempt
    RETURNING item.run_id, item.node, item.shard, item.attempt, j.id, j.created_at, j.attempted_at,
        j.attempted_by[cardinality(j.attempted_by)] AS worker, j.metadata -> 'holds' AS holds
), remote AS (
    DELETE FROM ax.held h USING item
    WHERE item.job_id = 0 AND h.run_id = item.run_id AND h.node = item.node AND h.shard = item.shard
      AND h.generation = item.generation AND h.attempt = item.attempt AND h.kind IN ('remote', 'wait', 'approval', 'child')
    RETURNING h.run_id, h.node, h.shard, h.attempt, NULL::bigint, h.queued_at, h.started_at, h.worker, h.detail -> 'holds'
)
SELECT * FROM job UNION ALL SELECT * FROM remote
