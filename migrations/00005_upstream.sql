-- +goose Up

-- The terms of workflows that start when others complete (S12): those of each one's current version.
CREATE TABLE ax.upstream_terms (
    workflow_id bigint NOT NULL REFERENCES ax.workflows,
    place integer NOT NULL,
    upstream_id bigint NOT NULL REFERENCES ax.workflows,
    -- '' is the run as a whole.
    node text COLLATE "C" NOT NULL,
    outcome text NOT NULL,
    match text NOT NULL,
    take text NOT NULL,
    PRIMARY KEY (workflow_id, place)
);
CREATE INDEX upstream_terms_of ON ax.upstream_terms (upstream_id, node);
CREATE TABLE ax.upstreams (
    workflow_id bigint PRIMARY KEY REFERENCES ax.workflows,
    -- all or any
    mode text NOT NULL,
    window_us bigint NOT NULL
);

-- Which workflows the current version of each one runs as nodes (S13).
CREATE TABLE ax.child_calls (
    workflow_id bigint NOT NULL REFERENCES ax.workflows,
    namespace text NOT NULL,
    code text NOT NULL,
    PRIMARY KEY (workflow_id, namespace, code)
);

-- The outbox of completions: what ended of workflows that others wait for, written by the commit that ended it, and slots of theirs
-- that made no run. A planner consumes it.
CREATE TABLE ax.completions (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    workflow_id bigint NOT NULL,
    node text COLLATE "C" NOT NULL DEFAULT '',
    -- Null for a slot without a run.
    run_id bigint,
    generation integer NOT NULL DEFAULT 1,
    scheduled_at timestamptz NOT NULL,
    logical_date date NOT NULL,
    -- Not before: put off when it could not be consumed.
    due_at timestamptz NOT NULL DEFAULT '-infinity'
);

-- The runs of workflows that others wait for, by the keys that terms match by.
CREATE TABLE ax.watched_runs (
    run_id bigint PRIMARY KEY,
    workflow_id bigint NOT NULL,
    scheduled_at timestamptz NOT NULL,
    logical_date date NOT NULL,
    ended boolean NOT NULL DEFAULT false
) WITH (fillfactor = 80);
CREATE INDEX watched_runs_by_date ON ax.watched_runs (workflow_id, logical_date, run_id);
CREATE INDEX watched_runs_by_time ON ax.watched_runs (workflow_id, scheduled_at, run_id);
CREATE INDEX watched_runs_going_on ON ax.watched_runs (workflow_id, logical_date) WHERE NOT ended;

-- What a workflow has of its upstream, key by key: one row is one run, ever.
CREATE TABLE ax.upstream_sets (
    workflow_id bigint NOT NULL REFERENCES ax.workflows,
    key text COLLATE "C" NOT NULL,
    state text NOT NULL DEFAULT 'waiting', -- waiting, fired, skipped, failed or expired
    reason text,
    run_id bigint,
    -- [{place, run, at}] of the terms that are satisfied.
    satisfied jsonb NOT NULL DEFAULT '[]',
    scheduled_at timestamptz NOT NULL,
    logical_date date NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    ended_at timestamptz,
    -- Completions that came when it was over: recorded, and nothing more.
    later integer NOT NULL DEFAULT 0,
    later_at timestamptz,
    PRIMARY KEY (workflow_id, key)
) WITH (fillfactor = 70);
CREATE INDEX upstream_sets_waiting ON ax.upstream_sets (expires_at) WHERE state = 'waiting';
CREATE INDEX upstream_sets_newest ON ax.upstream_sets (workflow_id, created_at, key);

-- What a term that names a node, or with '' the run as a whole, sees of a run: '' until the node has ended; a node that an ended run never
-- came to counts as skipped.
CREATE FUNCTION ax.term_state(r ax.runs, node text) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
    RETURN CASE WHEN term_state.node = '' THEN r.state ELSE COALESCE(
        (SELECT n.state FROM (SELECT h.state FROM ax.node_runs h WHERE h.run_id = r.id AND h.node = term_state.node AND h.shard = -1
            ORDER BY h.generation DESC, h.attempt DESC LIMIT 1) n WHERE n.state IN ('succeeded', 'failed', 'skipped', 'upstream_failed', 'canceled')),
        CASE WHEN r.state IN ('succeeded', 'failed', 'canceled', 'skipped') THEN 'skipped' ELSE '' END) END;

-- +goose Down

DROP FUNCTION ax.term_state;
DROP TABLE ax.upstream_sets, ax.watched_runs, ax.completions, ax.child_calls, ax.upstreams, ax.upstream_terms;
