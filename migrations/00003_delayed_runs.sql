-- +goose Up

-- One-off runs asked for in advance (S4). A row is never dropped: it is started, however late, or canceled.
CREATE TABLE ax.delayed_runs (
    -- Drawn like a run's; the run that it becomes has an id of its own, from when it is made.
    id bigint PRIMARY KEY,
    namespace_id bigint NOT NULL,
    workflow_id bigint NOT NULL REFERENCES ax.workflows,
    -- Null is the workflow's newest when it starts.
    version_id bigint REFERENCES ax.versions,
    params json NOT NULL,
    run_at timestamptz NOT NULL,
    scheduled_at timestamptz NOT NULL,
    logical_date date NOT NULL,
    actor text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    state text NOT NULL DEFAULT 'waiting', -- waiting, started, canceled or failed
    -- When a planner takes it up: run_at, later when the run could not start then, infinity while the workflow is paused; null once it is over.
    due_at timestamptz,
    run_id bigint,
    reason text,
    ended_by text,
    ended_at timestamptz
) WITH (fillfactor = 80);
CREATE INDEX delayed_runs_due ON ax.delayed_runs (due_at, id) WHERE due_at IS NOT NULL;
CREATE INDEX delayed_runs_waiting ON ax.delayed_runs (workflow_id, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX delayed_runs_by_namespace ON ax.delayed_runs (namespace_id, id);
CREATE INDEX workflows_paused ON ax.workflows (id) WHERE paused_at IS NOT NULL;

-- +goose Down

DROP INDEX ax.workflows_paused;
DROP TABLE ax.delayed_runs;
