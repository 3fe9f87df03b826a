-- Writes new runs; their first jobs follow by start.sql in the same transaction. A run of which others wait for a node is never clean:
-- the general path tells them (S12).
WITH new AS (
INSERT INTO ax.runs (id, namespace_id, workflow_id, version_id, state, clean, limited, priority, trigger, actor, schedule_id, scheduled_at,
    logical_date, previous_scheduled_at, key, params, parent, depth, started_at, deadline_at)
SELECT id, namespace_id, workflow_id, version_id, state,
    NOT EXISTS (SELECT FROM ax.upstream_terms u WHERE u.upstream_id = t.workflow_id AND u.node > ''), limited, priority, trigger, actor,
    schedule_id, scheduled_at, logical_date::date,
    previous_scheduled_at, key, params::json, parent, depth, CASE state WHEN 'running' THEN now() END,
    CASE state WHEN 'running' THEN now() + timeout_us * interval '1 microsecond' END
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::bool[], $7::smallint[], $8::text[], $9::text[], $10::bigint[],
    $11::timestamptz[], $12::text[], $13::timestamptz[], $14::text[], $15::text[], $16::bigint[],
    $17::text[], $18::smallint[])
    AS t (id, namespace_id, workflow_id, version_id, state, limited, priority, trigger, actor, schedule_id, scheduled_at, logical_date,
        previous_scheduled_at, key, params, timeout_us, parent, depth)
RETURNING id, workflow_id, scheduled_at, logical_date, trigger
)
INSERT INTO ax.watched_runs (run_id, workflow_id, scheduled_at, logical_date)
SELECT id, workflow_id, scheduled_at, logical_date FROM new
WHERE trigger NOT IN ('backfill', 'test') AND EXISTS (SELECT FROM ax.upstream_terms u WHERE u.upstream_id = new.workflow_id)
