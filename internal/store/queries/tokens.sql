-- name: AddToken :one
INSERT INTO ax.tokens (name, prefix, hash, role, namespaces, created_by, expires_at)
VALUES (@name, @prefix, @hash, @role, @namespaces, @created_by, sqlc.narg(expires_at)) ON CONFLICT DO NOTHING RETURNING id;

-- name: UseToken :one
-- A token that is valid now; that it is used is noted once a minute.
WITH known AS (
    SELECT id, name, role, namespaces, expires_at, last_used_at FROM ax.tokens WHERE tokens.hash = @hash AND (expires_at IS NULL OR expires_at > now())
), noted AS (
    UPDATE ax.tokens t SET last_used_at = now() FROM known k
    WHERE t.id = k.id AND (k.last_used_at IS NULL OR k.last_used_at < now() - interval '1 minute')
)
SELECT id, name, role, namespaces, expires_at FROM known;

-- name: AnyToken :one
SELECT EXISTS (SELECT FROM ax.tokens);

-- name: ListTokens :many
SELECT id, name, prefix, role, namespaces, created_at, created_by, expires_at, last_used_at FROM ax.tokens
WHERE id < @before ORDER BY id DESC LIMIT @most;

-- name: DeleteToken :execrows
-- The last token of an admin stays while there are others, and then too: with it the server would be shut to everybody, or open.
DELETE FROM ax.tokens t WHERE t.id = @id AND (t.role <> 'admin' OR EXISTS (
    SELECT FROM ax.tokens o WHERE o.id <> t.id AND o.role = 'admin' AND (o.expires_at IS NULL OR o.expires_at > now())));

-- name: HasToken :one
SELECT EXISTS (SELECT FROM ax.tokens WHERE id = @id);

-- name: AnyAdmin :one
SELECT EXISTS (SELECT FROM ax.tokens WHERE role = 'admin');

-- name: ListNamespaces :many
SELECT id, name, created_at FROM ax.namespaces WHERE name > @after ORDER BY name LIMIT @most;

-- name: AddNamespace :execrows
INSERT INTO ax.namespaces (name) VALUES (@name) ON CONFLICT DO NOTHING;
