-- One stretch of the join counters, by run: where it ends, how long it is, and whose run does not go on.
SELECT COALESCE(max(j.run_id), 0), count(*), COALESCE(array_agg(DISTINCT j.run_id) FILTER (WHERE r.state IS DISTINCT FROM 'running'), '{}')
FROM (SELECT run_id FROM ax.node_joins WHERE run_id > $1 ORDER BY run_id LIMIT $2) j LEFT JOIN ax.runs r ON r.id = j.run_id
