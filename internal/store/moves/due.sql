-- The schedules whose time has come and that nobody else holds, the longest due first.
SELECT id, spec, anchor, next_fire_at, now() FROM ax.schedules
WHERE next_fire_at <= now() ORDER BY next_fire_at LIMIT $1 FOR NO KEY UPDATE SKIP LOCKED
