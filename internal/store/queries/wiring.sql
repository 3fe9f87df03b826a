-- name: LockWiring :exec
SELECT pg_advisory_xact_lock(hashtextextended('ax.wiring', 0));

-- name: Edges :many
-- How the current versions of all workflows lead to each other.
SELECT DISTINCT un.name AS from_namespace, u.code AS from_code, dn.name AS to_namespace, d.code AS to_code, false AS child
FROM ax.upstream_terms t
JOIN ax.workflows u ON u.id = t.upstream_id JOIN ax.namespaces un ON un.id = u.namespace_id
JOIN ax.workflows d ON d.id = t.workflow_id JOIN ax.namespaces dn ON dn.id = d.namespace_id
UNION ALL
SELECT n.name, w.code, c.namespace, c.code, true
FROM ax.child_calls c JOIN ax.workflows w ON w.id = c.workflow_id JOIN ax.namespaces n ON n.id = w.namespace_id;

-- name: FindRef :one
SELECT w.id, ((v.definition -> 'nodes' -> @node::text) IS NOT NULL)::boolean AS has
FROM ax.workflows w JOIN ax.namespaces n ON n.id = w.namespace_id JOIN ax.versions v ON v.id = w.version_id
WHERE n.name = @namespace AND w.code = @code;

-- name: Upstreams :one
SELECT (mode = 'any')::boolean AS any_of, window_us FROM ax.upstreams WHERE workflow_id = @workflow_id;

-- name: Terms :many
SELECT place, upstream_id, node, outcome, match, take FROM ax.upstream_terms WHERE workflow_id = @workflow_id ORDER BY place;

-- name: NamedTerms :many
SELECT (u.mode = 'any')::boolean AS any_of, t.place, t.upstream_id, t.node, t.outcome, t.match, t.take, n.name AS namespace, w.code
FROM ax.upstreams u
JOIN ax.upstream_terms t ON t.workflow_id = u.workflow_id JOIN ax.workflows w ON w.id = t.upstream_id JOIN ax.namespaces n ON n.id = w.namespace_id
WHERE u.workflow_id = @workflow_id ORDER BY t.place;

-- name: DropUpstreams :exec
-- Forgets what a workflow waits for, and what it has of that.
WITH terms AS (DELETE FROM ax.upstream_terms t WHERE t.workflow_id = @workflow_id),
    sets AS (DELETE FROM ax.upstream_sets s WHERE s.workflow_id = @workflow_id AND s.state = 'waiting')
DELETE FROM ax.upstreams u WHERE u.workflow_id = @workflow_id;

-- name: AddUpstreams :exec
INSERT INTO ax.upstreams (workflow_id, mode, window_us) VALUES (@workflow_id, @mode, @window_us);

-- name: AddTerms :exec
INSERT INTO ax.upstream_terms (workflow_id, place, upstream_id, node, outcome, match, take)
SELECT @workflow_id::bigint, unnest(@places::int[]), unnest(@upstreams::bigint[]), unnest(@nodes::text[]), unnest(@outcomes::text[]), unnest(@matches::text[]), unnest(@takes::text[]);

-- name: WatchRecent :exec
-- Lets the runs of some workflows count that were made within a time before now.
INSERT INTO ax.watched_runs (run_id, workflow_id, scheduled_at, logical_date, ended)
SELECT r.id, r.workflow_id, r.scheduled_at, r.logical_date, r.state IN ('succeeded', 'failed', 'canceled', 'skipped') FROM ax.runs r
WHERE r.workflow_id = ANY (@upstreams::bigint[]) AND r.id >= ax.run_id_at(now() - sqlc.arg(window_us)::bigint * interval '1 microsecond') AND r.trigger NOT IN ('backfill', 'test')
ON CONFLICT DO NOTHING;

-- name: SetChildCalls :exec
WITH want AS (SELECT unnest(@namespaces::text[]) AS namespace, unnest(@codes::text[]) AS code),
    gone AS (DELETE FROM ax.child_calls c WHERE c.workflow_id = @workflow_id AND (c.namespace, c.code) NOT IN (SELECT namespace, code FROM want))
INSERT INTO ax.child_calls (workflow_id, namespace, code) SELECT DISTINCT @workflow_id::bigint, want.namespace, want.code FROM want ON CONFLICT DO NOTHING;
