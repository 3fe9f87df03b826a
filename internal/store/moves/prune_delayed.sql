-- Removes delayed runs of some workflows that are long over.
WITH owners AS MATERIALIZED (
    SELECT w.id, now() - COALESCE(w.keep_us, $4::bigint) * interval '1 microsecond' AS edge FROM ax.workflows w WHERE w.id > $1 ORDER BY w.id LIMIT $2
), old AS MATERIALIZED (
    SELECT d.id FROM owners CROSS JOIN LATERAL (
        SELECT id FROM ax.delayed_runs WHERE workflow_id = owners.id AND ended_at < owners.edge ORDER BY ended_at LIMIT $3
    ) d LIMIT $3
), gone AS (
    DELETE FROM ax.delayed_runs d USING old WHERE d.id = old.id RETURNING 1
)
SELECT COALESCE((SELECT max(id) FROM owners), 0), (SELECT count(*) FROM gone)
