-- +goose Up

-- Nothing of ax searches River's jobs by args, metadata or kind alone, and each version of each job row pays for
-- these indexes: a sixth of the throughput and a third of the WAL.
DROP INDEX IF EXISTS ax_river.river_job_args_index;
DROP INDEX IF EXISTS ax_river.river_job_metadata_index;
DROP INDEX IF EXISTS ax_river.river_job_kind;

-- Jobs whose node has a queue_timeout of its own, or was held back before; all others have the default of a day.
CREATE INDEX river_job_expiry ON ax_river.river_job (((metadata ->> 'expires')::bigint)) WHERE state = 'available' AND metadata ? 'expires';
