-- +goose Up

-- retention.runs of the current version, in microseconds; null is the default.
ALTER TABLE ax.workflows ADD COLUMN keep_us bigint;

-- Up to where the ledger of a schedule is not kept any more. Beside the schedule's row, which planners claim.
CREATE TABLE ax.ledger_starts (
    schedule_id bigint PRIMARY KEY REFERENCES ax.schedules,
    pruned_until timestamptz NOT NULL
) WITH (fillfactor = 70);

-- What is over, workflow by workflow, the oldest first.
CREATE INDEX delayed_runs_over ON ax.delayed_runs (workflow_id, ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX upstream_sets_over ON ax.upstream_sets (workflow_id, ended_at) WHERE ended_at IS NOT NULL AND key >= 'run:' AND key < 'run;';
CREATE INDEX backfills_over ON ax.backfills (workflow_id, ended_at) WHERE ended_at IS NOT NULL;

-- +goose Down

DROP INDEX ax.backfills_over, ax.upstream_sets_over, ax.delayed_runs_over;
DROP TABLE ax.ledger_starts;
ALTER TABLE ax.workflows DROP COLUMN keep_us;
