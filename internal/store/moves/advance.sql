-- Moves claimed schedules on to their next instant; null is over.
UPDATE ax.schedules s SET next_fire_at = t.next_fire_at
FROM unnest($1::bigint[], $2::timestamptz[]) AS t (id, next_fire_at) WHERE s.id = t.id
