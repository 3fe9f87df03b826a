-- The lines in which nodes wait for pools, found one after another in the index however long they are, with all that is known of
-- the pools they name.
WITH RECURSIVE line AS (
    (SELECT demand, queue, job_kind FROM ax.held WHERE kind = 'pool' ORDER BY demand, queue, job_kind LIMIT 1)
    UNION ALL
    SELECT n.* FROM line l CROSS JOIN LATERAL (
        SELECT demand, queue, job_kind FROM ax.held
        WHERE kind = 'pool' AND (demand, queue, job_kind) > (l.demand, l.queue, l.job_kind) ORDER BY demand, queue, job_kind LIMIT 1
    ) n
)
SELECT demand, queue, job_kind FROM line
