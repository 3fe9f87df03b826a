-- +goose Up

-- What calls with an Idempotency-Key came to, for a day (contract §2). Status is null while the first call goes on, or if its server died in it;
-- location, and the status that the answer is to have, are set in the commit that did what was asked, where that is known.
CREATE TABLE ax.idempotency_keys (
    actor text NOT NULL,
    key text NOT NULL,
    request bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    status smallint,
    location text,
    located_status smallint,
    content_type text,
    answer bytea,
    PRIMARY KEY (actor, key)
);
CREATE INDEX idempotency_keys_age ON ax.idempotency_keys (created_at);
