-- Removes what is too old of the ledgers of some schedules, and notes up to where each is not kept any more. The newest row of a schedule and its
-- newest run stay: planners go on from them.
WITH owners AS MATERIALIZED (
    SELECT s.id, now() - COALESCE(w.keep_us, $4::bigint) * interval '1 microsecond' AS edge
    FROM ax.schedules s JOIN ax.workflows w ON w.id = s.workflow_id WHERE s.id > $1 ORDER BY s.id LIMIT $2
), old AS MATERIALIZED (
    SELECT f.* FROM owners CROSS JOIN LATERAL (
        SELECT schedule_id, scheduled_at, kind, COALESCE(until_at, scheduled_at) AS last FROM ax.fires
        WHERE schedule_id = owners.id AND scheduled_at < owners.edge AND COALESCE(until_at, scheduled_at) < owners.edge
        ORDER BY scheduled_at LIMIT $3
    ) f LIMIT $3
), gone AS (
    DELETE FROM ax.fires f USING old
    WHERE f.schedule_id = old.schedule_id AND f.scheduled_at = old.scheduled_at AND f.kind = old.kind
      AND f.scheduled_at < (SELECT n.scheduled_at FROM ax.fires n WHERE n.schedule_id = f.schedule_id AND n.kind = 'fire' ORDER BY n.scheduled_at DESC LIMIT 1)
      AND (f.kind <> 'fire' OR f.result <> 'fired' OR EXISTS (
        SELECT FROM ax.fires n WHERE n.schedule_id = f.schedule_id AND n.scheduled_at > f.scheduled_at AND n.kind = 'fire' AND n.result = 'fired'))
    RETURNING f.schedule_id, old.last
), noted AS (
    INSERT INTO ax.ledger_starts AS l (schedule_id, pruned_until) SELECT schedule_id, max(last) FROM gone GROUP BY schedule_id
    ON CONFLICT (schedule_id) DO UPDATE SET pruned_until = GREATEST(l.pruned_until, excluded.pruned_until)
)
SELECT COALESCE((SELECT max(id) FROM owners), 0), (SELECT count(*) FROM gone)
