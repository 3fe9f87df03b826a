-- One stretch of the held rows, by run: where it ends, how long it is, and whose run does not go on, or which nothing would ever end.
SELECT COALESCE(max(h.run_id), 0), count(*), COALESCE(array_agg(DISTINCT h.run_id) FILTER (WHERE r.state IS DISTINCT FROM 'running' OR h.endless), '{}')
FROM (
    SELECT run_id, kind IN ('due', 'wait') AND due_at IS NULL OR kind IN ('remote', 'approval', 'child') AND deadline_at IS NULL AS endless
    FROM ax.held WHERE run_id > $1 ORDER BY run_id LIMIT $2
) h LEFT JOIN ax.runs r ON r.id = h.run_id
