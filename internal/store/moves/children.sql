-- The nodes of some runs that wait for a child run which has ended or is gone, while nobody is about to tell them.
SELECT h.run_id, h.node, h.shard, h.generation, h.attempt, (h.detail ->> 'child')::bigint, COALESCE(c.state, '')
FROM ax.held h LEFT JOIN ax.runs c ON c.id = (h.detail ->> 'child')::bigint
WHERE h.run_id = ANY ($1::bigint[]) AND h.kind = 'child' AND h.detail ? 'child' AND (c.state IS NULL OR c.state NOT IN ('queued', 'running'))
  AND NOT EXISTS (SELECT FROM ax.signals s WHERE s.parent = ax.job_args(h.run_id, h.node, h.shard, h.generation, h.attempt) #>> '{}')
