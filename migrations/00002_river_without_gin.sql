-- +goose Up

-- Nothing of ax searches River's jobs by args or metadata, and each version of each job row pays for
-- these two indexes: a sixth of the throughput and a third of the WAL.
DROP INDEX IF EXISTS ax_river.river_job_args_index;
DROP INDEX IF EXISTS ax_river.river_job_metadata_index;

-- +goose Down

CREATE INDEX river_job_args_index ON ax_river.river_job USING gin (args);
CREATE INDEX river_job_metadata_index ON ax_river.river_job USING gin (metadata);
