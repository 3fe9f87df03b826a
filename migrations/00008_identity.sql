-- +goose Up

-- Who may use the API (contract §2): a hash of each token, and what it allows. Null namespaces is all of them.
CREATE TABLE ax.tokens (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE,
    -- Its first characters, by which a person knows it again.
    prefix text NOT NULL,
    hash bytea NOT NULL UNIQUE,
    role text NOT NULL,
    namespaces text[],
    created_at timestamptz NOT NULL DEFAULT now(),
    created_by text NOT NULL,
    expires_at timestamptz,
    last_used_at timestamptz
);

-- Who changed what through the API, one row for each call that was let in. Status is null while, or because it never became known, the call goes on.
CREATE TABLE ax.audit (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT now(),
    actor text NOT NULL,
    namespace text,
    operation text NOT NULL,
    path text NOT NULL,
    request json,
    before json,
    after json,
    status smallint,
    request_id text NOT NULL,
    address text NOT NULL
);
CREATE INDEX audit_of_namespace ON ax.audit (namespace, id);
