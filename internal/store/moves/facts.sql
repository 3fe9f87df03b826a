-- The newest generation of every node of some runs that has any history, without its output. The failures of one that is to be repeated
-- are counted, those of others matter no more.
SELECT n.run_id, n.node, n.shard, n.generation, n.state, n.tolerated, n.attempt, n.reason, n.taken, f.failures, f.lost
FROM (
    SELECT DISTINCT ON (run_id, node, shard) run_id, node, shard, generation, state, tolerated, attempt, reason, CASE reason WHEN 'branch' THEN output END AS taken
    FROM ax.node_runs WHERE run_id = ANY ($1::bigint[])
    ORDER BY run_id, node, shard, generation DESC, attempt DESC
) n
CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE outcome IN ('failed', 'timeout')) AS failures, count(*) FILTER (WHERE outcome = 'lost') AS lost
    FROM ax.node_runs f WHERE n.state IN ('retrying', 'queued')
      AND f.run_id = n.run_id AND f.node = n.node AND f.shard = n.shard AND f.generation = n.generation
) f
