-- The newest outputs of nodes that have succeeded; a split node's is the list of its shards'.
SELECT w.run_id, w.node, CASE WHEN e.total IS NULL THEN n.output ELSE (
    SELECT json_agg(CASE o.state WHEN 'succeeded' THEN o.output END ORDER BY s) FROM generate_series(0, e.total - 1) s
    LEFT JOIN LATERAL (
        SELECT output, state FROM ax.node_runs o WHERE o.run_id = w.run_id AND o.node = w.node AND o.shard = s AND o.generation >= e.base
        ORDER BY generation DESC, attempt DESC LIMIT 1
    ) o ON true) END
FROM unnest($1::bigint[], $2::text[]) w (run_id, node)
CROSS JOIN LATERAL (
    SELECT output, state, generation FROM ax.node_runs n WHERE n.run_id = w.run_id AND n.node = w.node AND n.shard = -1
    ORDER BY generation DESC, attempt DESC LIMIT 1
) n
LEFT JOIN ax.expansions e ON e.run_id = w.run_id AND e.node = w.node AND e.generation = n.generation
WHERE n.state = 'succeeded'
