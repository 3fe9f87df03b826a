-- name: ClaimKey :one
-- Makes a key the caller's, unless somebody used it within a day. Some of those that are over go with it.
WITH over AS (
    DELETE FROM ax.idempotency_keys WHERE (actor, key) IN (
        SELECT o.actor, o.key FROM ax.idempotency_keys o WHERE o.created_at < now() - interval '1 day' AND (o.actor, o.key) <> (@actor::text, @key::text)
        ORDER BY o.created_at LIMIT 20 FOR UPDATE SKIP LOCKED)
)
INSERT INTO ax.idempotency_keys AS k (actor, key, request) VALUES (@actor, @key, @request)
ON CONFLICT (actor, key) DO UPDATE SET request = excluded.request, created_at = now(), status = NULL, location = NULL, located_status = NULL, content_type = NULL, answer = NULL
WHERE k.created_at < now() - interval '1 day'
RETURNING true;

-- name: UsedKey :one
SELECT request, created_at, status, location, located_status, content_type, answer, now()::timestamptz AS now FROM ax.idempotency_keys WHERE actor = @actor AND key = @key;

-- name: LocateKey :exec
UPDATE ax.idempotency_keys SET location = @location::text, located_status = @status::smallint WHERE actor = @actor AND key = @key;

-- name: AnswerKey :exec
UPDATE ax.idempotency_keys SET status = @status::smallint, location = sqlc.narg(location), content_type = @content_type::text, answer = @answer::bytea
WHERE actor = @actor AND key = @key;

-- name: ReleaseKey :exec
DELETE FROM ax.idempotency_keys WHERE actor = @actor AND key = @key;
