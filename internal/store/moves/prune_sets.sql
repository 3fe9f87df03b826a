-- Removes upstream sets of some workflows that were about one completion, which never comes again, and are long over. A set of a date or time
-- stays: it is what keeps that from starting a second run, ever (S12).
WITH owners AS MATERIALIZED (
    SELECT w.id, now() - COALESCE(w.keep_us, $4::bigint) * interval '1 microsecond' AS edge FROM ax.workflows w WHERE w.id > $1 ORDER BY w.id LIMIT $2
), old AS MATERIALIZED (
    SELECT u.workflow_id, u.key FROM owners CROSS JOIN LATERAL (
        SELECT workflow_id, key FROM ax.upstream_sets
        WHERE workflow_id = owners.id AND ended_at < owners.edge AND key >= 'run:' AND key < 'run;' ORDER BY ended_at LIMIT $3
    ) u LIMIT $3
), gone AS (
    DELETE FROM ax.upstream_sets u USING old WHERE u.workflow_id = old.workflow_id AND u.key = old.key RETURNING 1
)
SELECT COALESCE((SELECT max(id) FROM owners), 0), (SELECT count(*) FROM gone)
