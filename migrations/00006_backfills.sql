-- +goose Up

-- What is made of a stretch of schedules' instants (S32), step by step. The counts are of instants, and kept in the commits that change them.
CREATE TABLE ax.backfills (
    -- Drawn like a run's.
    id bigint PRIMARY KEY,
    namespace_id bigint NOT NULL,
    workflow_id bigint NOT NULL REFERENCES ax.workflows,
    -- Null is the workflow's newest when a run is made.
    version_id bigint REFERENCES ax.versions,
    -- [{schedule, from, until, at}]: of each schedule the stretch, and the instant up to which it is decided.
    lines json NOT NULL,
    from_text text NOT NULL,
    to_text text NOT NULL,
    reprocess text NOT NULL, -- missing, failed or all
    newest_first boolean NOT NULL,
    max_runs integer NOT NULL,
    params json NOT NULL,
    cascade boolean NOT NULL,
    state text NOT NULL DEFAULT 'running', -- running, paused, completed, completed_with_failures or canceled
    actor text NOT NULL,
    note text,
    -- Who paused, resumed, retried or canceled it last, and why.
    changed_by text,
    change_note text,
    -- Why it cannot go on for now.
    problem text,
    -- Raised when what failed is to be tried again.
    round integer NOT NULL DEFAULT 1,
    total integer NOT NULL,
    passed integer NOT NULL DEFAULT 0,
    waiting integer NOT NULL DEFAULT 0,
    active integer NOT NULL DEFAULT 0,
    succeeded integer NOT NULL DEFAULT 0,
    failed integer NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT now(),
    ended_at timestamptz,
    -- When a planner looks at it next; the end of a run of its own brings it up before. Infinity while only runs are left to end,
    -- null when nothing is.
    look_at timestamptz DEFAULT now(),
    looked_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 70);
CREATE INDEX backfills_open ON ax.backfills (looked_at) WHERE look_at IS NOT NULL;
CREATE INDEX backfills_by_namespace ON ax.backfills (namespace_id, id);
CREATE INDEX backfills_by_workflow ON ax.backfills (workflow_id, id);

-- The instants for which a backfill makes something: one row is one instant of it, ever.
CREATE TABLE ax.backfill_slots (
    backfill_id bigint NOT NULL,
    schedule_id bigint NOT NULL,
    scheduled_at timestamptz NOT NULL,
    state text NOT NULL, -- waiting for a place, active, succeeded or failed
    -- Why it failed: the state of its run, or why there is none.
    reason text,
    -- The newest run.
    run_id bigint,
    round integer NOT NULL,
    PRIMARY KEY (backfill_id, scheduled_at, schedule_id)
) WITH (fillfactor = 80);
CREATE INDEX backfill_slots_waiting ON ax.backfill_slots (backfill_id, scheduled_at) WHERE state = 'waiting';
CREATE INDEX backfill_slots_active ON ax.backfill_slots (backfill_id) WHERE state = 'active';
CREATE INDEX backfill_slots_failed ON ax.backfill_slots (backfill_id, round, scheduled_at) WHERE state = 'failed';
CREATE INDEX backfill_slots_by_run ON ax.backfill_slots (run_id) WHERE run_id IS NOT NULL;

-- From a run to those that repeat it.
CREATE INDEX runs_replays ON ax.runs (replay_of) WHERE replay_of IS NOT NULL;

-- +goose Down

DROP INDEX ax.runs_replays;
DROP TABLE ax.backfill_slots, ax.backfills;
