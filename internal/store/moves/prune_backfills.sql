-- Removes backfills of some workflows that are long over, first their instants and then, when none is left, themselves.
WITH owners AS MATERIALIZED (
    SELECT w.id, now() - COALESCE(w.keep_us, $4::bigint) * interval '1 microsecond' AS edge FROM ax.workflows w WHERE w.id > $1 ORDER BY w.id LIMIT $2
), old AS MATERIALIZED (
    SELECT b.id FROM owners CROSS JOIN LATERAL (
        SELECT id FROM ax.backfills WHERE workflow_id = owners.id AND ended_at < owners.edge AND look_at IS NULL ORDER BY ended_at LIMIT $3
    ) b LIMIT $3
), slots AS MATERIALIZED (
    SELECT s.* FROM old CROSS JOIN LATERAL (
        SELECT backfill_id, scheduled_at, schedule_id FROM ax.backfill_slots WHERE backfill_id = old.id ORDER BY scheduled_at, schedule_id LIMIT $3
    ) s LIMIT $3
), emptied AS (
    DELETE FROM ax.backfill_slots s USING slots
    WHERE s.backfill_id = slots.backfill_id AND s.scheduled_at = slots.scheduled_at AND s.schedule_id = slots.schedule_id RETURNING 1
), gone AS (
    DELETE FROM ax.backfills b USING old WHERE b.id = old.id AND NOT EXISTS (SELECT FROM ax.backfill_slots s WHERE s.backfill_id = old.id) RETURNING 1
)
SELECT COALESCE((SELECT max(id) FROM owners), 0), (SELECT count(*) FROM emptied) + (SELECT count(*) FROM gone)
