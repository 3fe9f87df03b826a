-- +goose Up

-- What is queued or running is a River job; what is held back is a row of held; what has
-- ended is an append-only row of node_runs. A node without any of these is pending.

CREATE TABLE ax.namespaces (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE,
    -- What dispatches are signed with and tokens of workers are made of; the old one is still believed (contract §3).
    signing_secret bytea NOT NULL DEFAULT decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex'),
    signing_secret_old bytea,
    created_at timestamptz NOT NULL DEFAULT now()
);
INSERT INTO ax.namespaces (name) VALUES ('default');

-- A queue's River name is 'q' and its id: River allows only [a-z0-9_-].
CREATE TABLE ax.queues (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    namespace_id bigint NOT NULL REFERENCES ax.namespaces,
    name text NOT NULL,
    -- How many node runs may wait in it; null is no limit (M12).
    max_waiting integer,
    paused_at timestamptz,
    paused_by text,
    pause_reason text,
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (namespace_id, name)
);

-- What protects one thing downstream (S23). Null is no limit.
CREATE TABLE ax.pools (
    namespace_id bigint NOT NULL REFERENCES ax.namespaces,
    name text COLLATE "C" NOT NULL,
    slots integer,
    -- At most rate_count starts in rate_seconds, burst of them at once; the next one is due at next_at.
    rate_count integer,
    rate_seconds integer,
    burst integer,
    next_at timestamptz,
    max_waiting integer,
    paused_at timestamptz,
    paused_by text,
    pause_reason text,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (namespace_id, name)
) WITH (fillfactor = 50);

CREATE TABLE ax.workflows (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    namespace_id bigint NOT NULL REFERENCES ax.namespaces,
    code text COLLATE "C" NOT NULL,
    version_id bigint,
    -- The limit of S22; null is unlimited, and such a workflow is never locked to start a run.
    max_runs integer,
    max_queued integer,
    overflow text,
    paused_at timestamptz,
    paused_by text,
    pause_reason text,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (namespace_id, code)
);

CREATE TABLE ax.versions (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    workflow_id bigint NOT NULL REFERENCES ax.workflows,
    number integer NOT NULL,
    digest bytea NOT NULL,
    definition json NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    created_by text NOT NULL,
    UNIQUE (workflow_id, number),
    UNIQUE (workflow_id, digest)
);
ALTER TABLE ax.workflows ADD FOREIGN KEY (version_id) REFERENCES ax.versions;

CREATE TABLE ax.schedules (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    workflow_id bigint NOT NULL REFERENCES ax.workflows,
    name text NOT NULL,
    spec json NOT NULL,
    -- Where an interval is counted from; kept over edits that leave the interval unchanged (S4).
    anchor timestamptz NOT NULL,
    next_fire_at timestamptz,
    -- The fixed delay between runs; null for every other kind. While its run goes on, such a schedule has no next fire.
    delay_us bigint,
    removed_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (workflow_id, name)
) WITH (fillfactor = 70);
CREATE INDEX schedules_due ON ax.schedules (next_fire_at) WHERE next_fire_at IS NOT NULL;
CREATE INDEX schedules_after_run ON ax.schedules (id) WHERE delay_us IS NOT NULL AND next_fire_at IS NULL AND removed_at IS NULL;

-- The specs a schedule has had; a backfill uses the one valid then (S32).
CREATE TABLE ax.schedule_specs (
    schedule_id bigint NOT NULL REFERENCES ax.schedules,
    valid_from timestamptz NOT NULL,
    spec json,
    PRIMARY KEY (schedule_id, valid_from)
);

-- The fire ledger (S9): a row for every expected fire, or for a stretch of them with one reason. Never changed.
CREATE TABLE ax.fires (
    schedule_id bigint NOT NULL,
    scheduled_at timestamptz NOT NULL,
    kind text NOT NULL DEFAULT 'fire',
    result text NOT NULL,
    reason text,
    run_id bigint,
    until_at timestamptz,
    count integer NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (schedule_id, scheduled_at, kind)
);

CREATE SEQUENCE ax.run_seq CACHE 64;

-- A run id is the database's milliseconds and 20 bits of a sequence: ordered by time, unique below a million runs a millisecond.
CREATE FUNCTION ax.run_id_at(at timestamptz) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN floor(extract(epoch FROM at) * 1000)::bigint << 20;
CREATE FUNCTION ax.next_run_id() RETURNS bigint LANGUAGE sql VOLATILE
    RETURN ax.run_id_at(clock_timestamp()) | (nextval('ax.run_seq') & 1048575);

-- The arguments of a node run's job: one short string, because every entry costs. A node's name needs no escapes.
CREATE FUNCTION ax.job_args(run_id bigint, node text, shard integer, generation integer, attempt integer) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ('"' || run_id::text || ':' || node || ':' || shard::text || ':' || generation::text || ':' || attempt::text || '"')::jsonb;
-- The run of a job by its arguments; null when they are not as job_args writes them.
CREATE FUNCTION ax.job_run(args jsonb) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN args #>> '{}' ~ '^[0-9]{1,19}:[^:]+:-?[0-9]{1,9}:[0-9]{1,9}:[0-9]{1,9}$' THEN
        CASE WHEN split_part(args #>> '{}', ':', 1)::numeric <= 9223372036854775807 THEN split_part(args #>> '{}', ':', 1)::bigint END END;
-- The unique key of a node run's job: at most one is live, and all live jobs of a run lie in one range of the unique index.
CREATE FUNCTION ax.job_key(run_id bigint, node text, shard integer) RETURNS bytea LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN int8send(run_id) || decode(md5(node || ':' || shard::text), 'hex');

-- A job's metadata after a node was held back: what its row's detail knew, and now also what held it and for how long.
CREATE FUNCTION ax.job_holds(detail jsonb, kind text, since timestamptz) RETURNS jsonb LANGUAGE sql STABLE PARALLEL SAFE
    RETURN COALESCE(detail, '{}') || jsonb_build_object('holds',
        COALESCE(detail -> 'holds', '[]') || jsonb_build_array(jsonb_build_object('kind', kind, 'since', since, 'until', now())));
-- The detail of a node that may be taken from now on: it expires (Unix seconds) when its queue_timeout, in seconds, is over (S17).
CREATE FUNCTION ax.from_now(detail jsonb) RETURNS jsonb LANGUAGE sql STABLE PARALLEL SAFE
    RETURN COALESCE(detail, '{}') || jsonb_build_object('expires', extract(epoch FROM now())::bigint + COALESCE((detail ->> 'wait')::bigint, 86400));

CREATE TABLE ax.runs (
    id bigint PRIMARY KEY,
    namespace_id bigint NOT NULL,
    workflow_id bigint NOT NULL,
    version_id bigint NOT NULL,
    state text NOT NULL,
    -- Clean: nothing but successes so far, so that the fast path may move it. Never set back to true.
    clean boolean NOT NULL DEFAULT true,
    limited boolean NOT NULL DEFAULT false,
    generation integer NOT NULL DEFAULT 1,
    priority smallint NOT NULL,
    trigger text NOT NULL,
    actor text NOT NULL,
    schedule_id bigint,
    scheduled_at timestamptz NOT NULL,
    logical_date date NOT NULL,
    previous_scheduled_at timestamptz,
    key text NOT NULL DEFAULT '',
    params json NOT NULL,
    -- The attempt of a workflow node that waits for this run, written as job_args does; null for a run of its own.
    parent text,
    depth smallint NOT NULL DEFAULT 0,
    -- The run whose outputs a replay took over (S29), and the nodes that a test run is about.
    replay_of bigint,
    only_nodes text[],
    warnings integer NOT NULL DEFAULT 0,
    -- Since when nothing new starts; null while the run goes on (S33).
    held_at timestamptz,
    -- Since when the run's clock stands: while it is held, and while it only waits for a person or an instant (S17).
    stopped_at timestamptz,
    canceling boolean NOT NULL DEFAULT false,
    timed_out boolean NOT NULL DEFAULT false,
    -- Who canceled it and why.
    canceled_by text,
    cancel_reason text,
    reason text,
    created_at timestamptz NOT NULL DEFAULT now(),
    started_at timestamptz,
    deadline_at timestamptz,
    finished_at timestamptz
) WITH (fillfactor = 80);
CREATE INDEX runs_by_workflow ON ax.runs (workflow_id, id);
CREATE INDEX runs_by_namespace ON ax.runs (namespace_id, id);
CREATE INDEX runs_limited ON ax.runs (workflow_id, key, state, id) WHERE limited AND state IN ('queued', 'running');
CREATE INDEX runs_deadline ON ax.runs (deadline_at) WHERE state = 'running';

-- What somebody wants of a run, consumed by a transaction of its own that holds the run row.
CREATE TABLE ax.run_intents (
    run_id bigint NOT NULL,
    kind text NOT NULL,
    actor text NOT NULL,
    reason text,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (run_id, kind)
);

-- One row an attempt, written in the commit that ends it; also one for each decision that ends a node without a start.
CREATE TABLE ax.node_runs (
    run_id bigint NOT NULL,
    node text COLLATE "C" NOT NULL,
    shard integer NOT NULL,
    generation integer NOT NULL,
    attempt integer NOT NULL,
    -- The node's state from this row on: a failed attempt that will be repeated reads retrying.
    state text NOT NULL,
    outcome text NOT NULL,
    tolerated boolean NOT NULL DEFAULT false,
    job_id bigint,
    worker text,
    actor text NOT NULL,
    reason text,
    -- What the body or a person said beside it.
    note text,
    error_class text,
    error_code text,
    error_message text,
    output json,
    -- What held it back before it was queued: [{kind, since, until}].
    holds jsonb,
    queued_at timestamptz,
    started_at timestamptz,
    finished_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (run_id, node, shard, generation, attempt)
) PARTITION BY RANGE (run_id);
CREATE TABLE ax.node_runs_rest PARTITION OF ax.node_runs DEFAULT;

-- Arrivals at nodes with several parents, and at the end of the run (node ''), while the run is clean.
CREATE TABLE ax.node_joins (
    run_id bigint NOT NULL,
    node text COLLATE "C" NOT NULL,
    arrived integer NOT NULL,
    PRIMARY KEY (run_id, node)
) WITH (fillfactor = 70);

-- What is held back with its reason, and what runs elsewhere (kind remote). The state is the node's state to readers.
CREATE TABLE ax.held (
    run_id bigint NOT NULL,
    node text COLLATE "C" NOT NULL,
    shard integer NOT NULL,
    generation integer NOT NULL,
    attempt integer NOT NULL,
    kind text NOT NULL,
    state text NOT NULL,
    queue text NOT NULL,
    job_kind text NOT NULL,
    priority smallint NOT NULL,
    due_at timestamptz,
    worker text,
    -- Of what runs elsewhere: the registered worker that has it, or until when it counts as alive if it is kept alive by beats of its own.
    incarnation text,
    lease_until timestamptz,
    deadline_at timestamptz,
    since timestamptz NOT NULL DEFAULT now(),
    queued_at timestamptz,
    started_at timestamptz,
    -- The pools that the node needs when it starts, as store.Demand writes them; null for none.
    demand text COLLATE "C",
    detail jsonb,
    PRIMARY KEY (run_id, node, shard)
) WITH (fillfactor = 70);
CREATE INDEX held_due ON ax.held (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX held_deadline ON ax.held (deadline_at) WHERE deadline_at IS NOT NULL;
CREATE INDEX held_route ON ax.held (queue, priority, since) WHERE kind IN ('worker', 'pool', 'queue') AND queue LIKE '%-%';
CREATE INDEX held_lease ON ax.held (lease_until) WHERE lease_until IS NOT NULL;
CREATE INDEX held_incarnation ON ax.held (incarnation) WHERE incarnation IS NOT NULL;
CREATE INDEX held_expiry ON ax.held (((detail ->> 'expires')::bigint)) WHERE kind IN ('worker', 'pool', 'queue');
CREATE INDEX held_worker ON ax.held (queue, job_kind, priority, since) WHERE kind IN ('worker', 'queue');
-- Those who wait for the same pools and the same workers stand in one line: if the first of them cannot go, none can.
CREATE INDEX held_pool ON ax.held (demand, queue, job_kind, priority, since, run_id, node, shard) WHERE kind = 'pool';

-- The slots that attempts hold, one row for each pool, from queued until their end (S23). What a pool has in use is the sum of these.
CREATE TABLE ax.slots (
    namespace_id bigint NOT NULL,
    pool text COLLATE "C" NOT NULL,
    run_id bigint NOT NULL,
    node text COLLATE "C" NOT NULL,
    shard integer NOT NULL,
    generation integer NOT NULL,
    attempt integer NOT NULL,
    weight integer NOT NULL,
    taken_at timestamptz NOT NULL DEFAULT now(),
    -- The attempt has ended and its body may go on until then at the longest (S17).
    stopping_until timestamptz,
    PRIMARY KEY (run_id, node, shard, generation, attempt, pool)
) WITH (fillfactor = 70);
CREATE INDEX slots_by_pool ON ax.slots (namespace_id, pool) INCLUDE (weight);
CREATE INDEX slots_stopping ON ax.slots (stopping_until) WHERE stopping_until IS NOT NULL;

-- The shards a generation of a split node has (S21): frozen when it expands. Base is the generation whose split this is: a rerun
-- of failed shards keeps it.
CREATE TABLE ax.expansions (
    run_id bigint NOT NULL,
    node text COLLATE "C" NOT NULL,
    generation integer NOT NULL,
    base integer NOT NULL,
    total integer NOT NULL,
    items json,
    PRIMARY KEY (run_id, node, generation)
);

-- What one run's end means for another: the end of a child for the node that waits for it. Consumed by a transaction of its own.
CREATE TABLE ax.signals (
    parent text PRIMARY KEY,
    child_id bigint NOT NULL
);

CREATE TABLE ax.dead_letters (
    run_id bigint NOT NULL,
    node text COLLATE "C" NOT NULL,
    shard integer NOT NULL,
    generation integer NOT NULL,
    attempts integer NOT NULL,
    namespace_id bigint NOT NULL,
    workflow_id bigint NOT NULL,
    tolerated boolean NOT NULL,
    error_class text,
    error_code text,
    error_message text,
    created_at timestamptz NOT NULL DEFAULT now(),
    resolved_at timestamptz,
    resolution text,
    resolved_by text,
    note text,
    PRIMARY KEY (run_id, node, shard, generation)
);
CREATE INDEX dead_letters_by_namespace ON ax.dead_letters (namespace_id, created_at);
CREATE INDEX dead_letters_open ON ax.dead_letters (namespace_id, created_at) WHERE resolved_at IS NULL;

-- What a dry run said would be done, until it is confirmed or expires. Body is what the person was shown.
CREATE UNLOGGED TABLE ax.plans (
    token text PRIMARY KEY,
    namespace_id bigint NOT NULL,
    act text NOT NULL,
    fingerprint text NOT NULL,
    body json NOT NULL,
    expires_at timestamptz NOT NULL
);

-- Where nodes with labels or a route of their own wait (S26), within a queue. Its River name is the queue's, '-' and its id. What is of
-- kind any is served by the workers whose name is worker, or that have the labels; what is of another kind is first given to one of them.
CREATE TABLE ax.routes (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    queue_id bigint NOT NULL REFERENCES ax.queues,
    kind text NOT NULL,
    labels jsonb NOT NULL DEFAULT '{}',
    worker text COLLATE "C" NOT NULL DEFAULT '',
    -- How many nodes round robin has given away.
    turn bigint NOT NULL DEFAULT 0,
    UNIQUE (queue_id, kind, labels, worker)
);

-- One lease row a worker (S27): a process on this database, whose incarnation is its River client's id, or a remote worker of the worker protocol.
CREATE TABLE ax.workers (
    incarnation text PRIMARY KEY,
    name text COLLATE "C" NOT NULL,
    namespace_id bigint NOT NULL REFERENCES ax.namespaces,
    remote boolean NOT NULL DEFAULT false,
    app text NOT NULL DEFAULT '',
    host text NOT NULL DEFAULT '',
    -- Where a remote worker is pushed to; null for one that polls and for processes.
    address text,
    labels jsonb NOT NULL DEFAULT '{}',
    protocol integer NOT NULL DEFAULT 0,
    -- The names of the queues that a remote worker takes from; null is all of them.
    wants text[],
    -- What it takes: pairs of River queue and job kind are the product of these two.
    queues text[] NOT NULL,
    kinds text[] NOT NULL,
    capacity integer NOT NULL,
    -- How long after its last beat it is suspect, and how long after that it may be lost.
    suspect_after interval NOT NULL DEFAULT '30 seconds',
    lease interval NOT NULL,
    started_at timestamptz NOT NULL DEFAULT now(),
    -- -infinity is lost, whatever its lease.
    beat_at timestamptz NOT NULL DEFAULT now(),
    stopping boolean NOT NULL DEFAULT false,
    -- Since when it takes nothing new because somebody said so.
    drained_at timestamptz,
    drained_by text,
    -- When somebody last tried to reach it at its address, and how many times in a row that failed.
    probed_at timestamptz,
    failed_probes integer NOT NULL DEFAULT 0,
    -- It is forgotten when its last attempt has ended.
    leaving boolean NOT NULL DEFAULT false
) WITH (fillfactor = 50);
CREATE INDEX workers_by_name ON ax.workers (namespace_id, name);

-- Whether a worker is lost. One with an address is lost only when somebody has tried to reach it there and could not, which sets its beat.
CREATE FUNCTION ax.worker_lost(beat_at timestamptz, lease interval, address text) RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE
    RETURN beat_at = '-infinity' OR address IS NULL AND beat_at + lease < now();
-- Whether a worker may be given something new. One that is pushed to may, once it has beaten: then it knows the key of the signatures.
CREATE FUNCTION ax.worker_takes(w ax.workers) RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE
    RETURN w.beat_at + w.suspect_after >= now() AND NOT w.stopping AND NOT w.leaving AND w.drained_at IS NULL
        AND (w.address IS NULL OR w.beat_at > w.started_at);
-- What a worker is called to people.
CREATE FUNCTION ax.worker_state(w ax.workers) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
    RETURN CASE WHEN ax.worker_lost(w.beat_at, w.lease, w.address) THEN 'lost' WHEN w.beat_at + w.suspect_after < now() THEN 'suspect'
        WHEN w.stopping OR w.leaving OR w.drained_at IS NOT NULL THEN 'draining' ELSE 'online' END;
-- The River queues that a remote worker takes from.
CREATE FUNCTION ax.queues_of(w ax.workers) RETURNS text[] LANGUAGE sql STABLE PARALLEL SAFE
    RETURN ARRAY(
        SELECT 'q' || q.id FROM ax.queues q WHERE q.namespace_id = w.namespace_id AND (w.wants IS NULL OR q.name = ANY (w.wants))
        UNION ALL
        SELECT 'q' || r.queue_id || '-' || r.id FROM ax.routes r JOIN ax.queues q ON q.id = r.queue_id
        WHERE q.namespace_id = w.namespace_id AND (w.wants IS NULL OR q.name = ANY (w.wants)) AND r.kind = 'any'
          AND r.labels <@ w.labels AND (r.worker = '' OR r.worker = w.name));

-- What came of attempts that were not current any more, and was refused (S18): one row for each attempt and kind of report.
CREATE TABLE ax.refusals (
    run_id bigint NOT NULL,
    node text COLLATE "C" NOT NULL,
    shard integer NOT NULL,
    generation integer NOT NULL,
    attempt integer NOT NULL,
    kind text NOT NULL,
    worker text NOT NULL DEFAULT '',
    said text NOT NULL DEFAULT '',
    count integer NOT NULL DEFAULT 1,
    first_at timestamptz NOT NULL DEFAULT now(),
    last_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (run_id, node, shard, generation, attempt, kind)
);

-- Work that one process of all does at a time: whoever finds it due has it until due_at.
CREATE TABLE ax.duties (
    name text PRIMARY KEY,
    holder text NOT NULL,
    due_at timestamptz NOT NULL
);

-- What must not be (I1-I9) and was found nevertheless: suspected while it may still be on its way somewhere, then open, which is for a
-- person, or repaired.
CREATE TABLE ax.findings (
    kind text NOT NULL,
    subject text COLLATE "C" NOT NULL,
    run_id bigint,
    detail text NOT NULL,
    state text NOT NULL DEFAULT 'suspected',
    found_at timestamptz NOT NULL DEFAULT now(),
    seen_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (kind, subject)
);

CREATE TABLE ax.logs (
    run_id bigint NOT NULL,
    node text COLLATE "C" NOT NULL,
    shard integer NOT NULL,
    generation integer NOT NULL,
    attempt integer NOT NULL,
    seq integer NOT NULL,
    lines json NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (run_id, node, shard, generation, attempt, seq)
) PARTITION BY RANGE (run_id);
CREATE TABLE ax.logs_rest PARTITION OF ax.logs DEFAULT;

-- +goose StatementBegin
-- Makes the monthly partitions of node_runs and logs for the month of "at" and "ahead" months after it.
CREATE FUNCTION ax.ensure_partitions(at timestamptz, ahead integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    parent text;
    month timestamp; -- UTC
    part text;
BEGIN
    FOREACH parent IN ARRAY ARRAY['node_runs', 'logs'] LOOP
        FOR i IN 0..ahead LOOP
            month := date_trunc('month', at AT TIME ZONE 'UTC') + make_interval(months => i);
            part := parent || to_char(month, '_YYYY_MM');
            IF to_regclass('ax.' || part) IS NULL THEN
                EXECUTE format('CREATE TABLE ax.%I PARTITION OF ax.%I FOR VALUES FROM (%s) TO (%s)', part, parent,
                    ax.run_id_at(month AT TIME ZONE 'UTC'), ax.run_id_at((month + interval '1 month') AT TIME ZONE 'UTC'));
            END IF;
        END LOOP;
    END LOOP;
END $$;
-- +goose StatementEnd
SELECT ax.ensure_partitions(now(), 2);
