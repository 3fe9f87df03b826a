-- The newest generation of every node of some runs that has any history, without its output.
SELECT DISTINCT ON (run_id, node, shard) run_id, node, shard, generation,
    first_value(state) OVER w, first_value(tolerated) OVER w, first_value(attempt) OVER w,
    first_value(reason) OVER w, first_value(CASE reason WHEN 'branch' THEN output END) OVER w,
    count(*) FILTER (WHERE outcome IN ('failed', 'timeout')) OVER g, count(*) FILTER (WHERE outcome = 'lost') OVER g
FROM ax.node_runs WHERE run_id = ANY ($1::bigint[])
WINDOW w AS (PARTITION BY run_id, node, shard ORDER BY generation DESC, attempt DESC),
    g AS (PARTITION BY run_id, node, shard, generation)
ORDER BY run_id, node, shard, generation DESC, attempt DESC
