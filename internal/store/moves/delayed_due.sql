-- The delayed runs whose time has come and that nobody else holds, in order. A workflow that is paused keeps its own waiting.
SELECT d.id, d.namespace_id, d.workflow_id, COALESCE(d.version_id, w.version_id), d.params, d.run_at, d.scheduled_at, to_char(d.logical_date, 'YYYY-MM-DD'), d.actor
FROM ax.delayed_runs d JOIN ax.workflows w ON w.id = d.workflow_id
WHERE d.due_at <= now() AND w.paused_at IS NULL
ORDER BY d.due_at, d.id LIMIT $1 FOR NO KEY UPDATE OF d SKIP LOCKED
