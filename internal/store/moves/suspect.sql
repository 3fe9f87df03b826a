-- Writes down what was found, forgets what was not found again, and says of each since when it is known, and whether that is long enough.
-- What was repaired is kept for a week.
WITH item AS (
    SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[]) AS t (kind, subject, run_id, detail)
), gone AS (
    DELETE FROM ax.findings f WHERE f.state IN ('suspected', 'open') AND NOT EXISTS (SELECT FROM item i WHERE i.kind = f.kind AND i.subject = f.subject)
        OR f.state = 'repaired' AND f.seen_at < now() - interval '7 days' AND NOT EXISTS (SELECT FROM item i WHERE i.kind = f.kind AND i.subject = f.subject)
)
INSERT INTO ax.findings AS f (kind, subject, run_id, detail) SELECT kind, subject, run_id, detail FROM item
ON CONFLICT (kind, subject) DO UPDATE SET detail = excluded.detail, run_id = excluded.run_id, seen_at = now(),
    state = CASE f.state WHEN 'repaired' THEN 'suspected' ELSE f.state END, found_at = CASE f.state WHEN 'repaired' THEN now() ELSE f.found_at END
RETURNING kind, subject, COALESCE(run_id, 0), detail, state, found_at, found_at <= now() - $5::bigint * interval '1 microsecond'
