-- The part of River's table that queries name, for sqlc alone; River's own migrations make the real one.
CREATE SCHEMA ax;
CREATE SCHEMA ax_river;
CREATE TYPE ax_river.river_job_state AS ENUM ('available', 'cancelled', 'completed', 'discarded', 'pending', 'retryable', 'running', 'scheduled');
CREATE TABLE ax_river.river_job (
    id bigserial PRIMARY KEY,
    args jsonb NOT NULL,
    attempt smallint NOT NULL,
    attempted_at timestamptz,
    attempted_by text[],
    created_at timestamptz NOT NULL,
    kind text NOT NULL,
    priority smallint NOT NULL,
    queue text NOT NULL,
    state ax_river.river_job_state NOT NULL,
    unique_key bytea,
    unique_states bit(8)
);
