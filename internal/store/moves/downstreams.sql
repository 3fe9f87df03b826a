-- The workflows that wait for some others, each with all its terms.
SELECT w.id, w.namespace_id, COALESCE(w.version_id, 0), w.paused_at IS NOT NULL, u.mode = 'any', u.window_us, t.place, t.upstream_id, t.node, t.outcome, t.match, t.take
FROM ax.upstreams u JOIN ax.workflows w ON w.id = u.workflow_id JOIN ax.upstream_terms t ON t.workflow_id = u.workflow_id
WHERE u.workflow_id IN (SELECT d.workflow_id FROM ax.upstream_terms d WHERE d.upstream_id = ANY ($1::bigint[]))
ORDER BY w.id, t.place
