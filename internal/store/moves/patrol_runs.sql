-- One stretch of the running runs, by their deadline.
SELECT id, deadline_at FROM ax.runs WHERE state = 'running' AND (deadline_at, id) > ($1::timestamptz, $2::bigint) ORDER BY deadline_at, id LIMIT $3
