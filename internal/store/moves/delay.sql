-- Writes runs that are to start later, and returns their ids in the order given.
WITH item AS (
    SELECT *, ax.next_run_id() AS id FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::timestamptz[], $6::timestamptz[],
        $7::text[], $8::text[])
        WITH ORDINALITY AS t (namespace_id, workflow_id, version_id, params, run_at, scheduled_at, logical_date, actor, place)
), row AS (
    INSERT INTO ax.delayed_runs (id, namespace_id, workflow_id, version_id, params, run_at, scheduled_at, logical_date, actor, due_at)
    SELECT id, namespace_id, workflow_id, version_id, params::json, run_at, scheduled_at, logical_date::date, actor, run_at FROM item
), note AS MATERIALIZED (
    SELECT pg_notify('ax_schedules', '') FROM item WHERE run_at < now() + interval '1 second' LIMIT 1
)
SELECT id, (SELECT count(*) FROM note) FROM item ORDER BY place
