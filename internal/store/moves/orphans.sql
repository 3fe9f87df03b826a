-- Which of some runs go on for an attempt that does not wait for them any more.
SELECT r.id FROM ax.runs r
WHERE r.id = ANY ($1::bigint[]) AND r.parent IS NOT NULL AND r.state IN ('queued', 'running') AND NOT r.canceling
  AND NOT EXISTS (SELECT FROM ax.held h WHERE h.run_id = split_part(r.parent, ':', 1)::bigint AND h.node = split_part(r.parent, ':', 2)
    AND h.shard = split_part(r.parent, ':', 3)::int AND h.generation = split_part(r.parent, ':', 4)::int
    AND h.attempt = split_part(r.parent, ':', 5)::int AND h.kind = 'child')
