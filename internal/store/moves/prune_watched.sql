-- Forgets runs by the keys that others would match them by: those of some workflows for which nobody waits any more, and those that are older
-- than their workflow says runs are kept.
WITH owners AS MATERIALIZED (
    SELECT w.id, EXISTS (SELECT FROM ax.upstream_terms t WHERE t.upstream_id = w.id) AS watched,
        now() - w.keep_us * interval '1 microsecond' AS edge
    FROM ax.workflows w WHERE w.id > $1 ORDER BY w.id LIMIT $2
), old AS MATERIALIZED (
    SELECT k.run_id FROM owners CROSS JOIN LATERAL (
        SELECT run_id FROM ax.watched_runs WHERE workflow_id = owners.id AND ended
          AND (NOT owners.watched OR logical_date < owners.edge::date AND run_id < ax.run_id_at(owners.edge))
        ORDER BY logical_date, run_id LIMIT $3
    ) k WHERE NOT owners.watched OR owners.edge IS NOT NULL LIMIT $3
), gone AS (
    DELETE FROM ax.watched_runs k USING old WHERE k.run_id = old.run_id RETURNING 1
)
SELECT COALESCE((SELECT max(id) FROM owners), 0), (SELECT count(*) FROM gone)
