-- What the planner must know of claimed schedules beside their rows. A statement of its own, so that its snapshot has
-- all that was committed before the claim.
SELECT s.id, w.id, COALESCE(w.version_id, 0), w.paused_at IS NOT NULL, decided.at, fired.at,
    EXISTS (SELECT FROM ax.upstream_terms u WHERE u.upstream_id = w.id)
FROM unnest($1::bigint[]) AS c (id)
JOIN ax.schedules s ON s.id = c.id
JOIN ax.workflows w ON w.id = s.workflow_id
LEFT JOIN LATERAL (
    SELECT COALESCE(f.until_at, f.scheduled_at) AS at FROM ax.fires f
    WHERE f.schedule_id = s.id AND f.kind = 'fire' ORDER BY f.scheduled_at DESC LIMIT 1
) decided ON true
LEFT JOIN LATERAL (
    SELECT f.scheduled_at AS at FROM ax.fires f
    WHERE f.schedule_id = s.id AND f.kind = 'fire' AND f.result = 'fired' AND w.paused_at IS NULL ORDER BY f.scheduled_at DESC LIMIT 1
) fired ON true
