-- name: WorkerIncarnations :many
SELECT incarnation FROM ax.workers WHERE namespace_id = $1 ORDER BY incarnation;
