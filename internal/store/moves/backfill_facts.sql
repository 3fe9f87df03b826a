-- What is known of some instants of a schedule: the ledger's row of each, or the stretch it is in; its run, and the newest of those that repeat
-- it; and the instant before that became a run.
SELECT t.at, COALESCE(f.result, ''), COALESCE(f.reason, ''), COALESCE(f.run_id, 0), COALESCE(newest.id, 0), COALESCE(newest.state, ''), previous.at
FROM unnest($2::timestamptz[]) AS t (at)
LEFT JOIN LATERAL (
    SELECT x.result, x.reason, x.run_id FROM (
        (SELECT result, reason, run_id, 0 AS place FROM ax.fires WHERE schedule_id = $1 AND scheduled_at = t.at AND kind = 'fill')
        UNION ALL
        (SELECT l.result, l.reason, l.run_id, 1 FROM (
            SELECT * FROM ax.fires WHERE schedule_id = $1 AND scheduled_at <= t.at AND kind = 'fire' ORDER BY scheduled_at DESC LIMIT 1) l
         WHERE COALESCE(l.until_at, l.scheduled_at) >= t.at)
    ) x ORDER BY x.place LIMIT 1
) f ON true
LEFT JOIN LATERAL (
    WITH RECURSIVE line AS (
        SELECT f.run_id AS id UNION SELECT r.id FROM line JOIN ax.runs r ON r.replay_of = line.id
    )
    SELECT r.id, r.state FROM line JOIN ax.runs r ON r.id = line.id ORDER BY r.id DESC LIMIT 1
) newest ON f.run_id IS NOT NULL
LEFT JOIN LATERAL (
    SELECT p.scheduled_at AS at FROM ax.fires p WHERE p.schedule_id = $1 AND p.scheduled_at < t.at AND p.run_id IS NOT NULL
    ORDER BY p.scheduled_at DESC LIMIT 1
) previous ON true
ORDER BY t.at
