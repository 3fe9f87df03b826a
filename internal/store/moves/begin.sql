-- Starts queued runs.
UPDATE ax.runs r SET state = 'running', started_at = now(), deadline_at = now() + t.timeout_us * interval '1 microsecond'
FROM unnest($1::bigint[], $2::bigint[]) AS t (id, timeout_us) WHERE r.id = t.id AND r.state = 'queued' RETURNING r.id
