-- name: BeginAudit :one
INSERT INTO ax.audit (actor, namespace, operation, path, request, before, request_id, address)
VALUES (@actor, sqlc.narg(namespace), @operation, @path, sqlc.narg(request), sqlc.narg(before), @request_id, @address) RETURNING id;

-- name: EndAudit :exec
UPDATE ax.audit SET status = @status::smallint, after = sqlc.narg(after) WHERE id = @id;

-- name: ListAudit :many
SELECT id, at, actor, namespace, operation, path, request, before, after, status, request_id, address FROM ax.audit
WHERE id < @before_id AND (sqlc.narg(namespace)::text IS NULL OR namespace = sqlc.narg(namespace))
    AND (@actor::text = '' OR actor = @actor) AND (@operation::text = '' OR operation = @operation)
    AND at >= @since AND at < @until
ORDER BY id DESC LIMIT @most;
