-- The first of each line. Nodes of runs that are held, or about to be stopped, are not seen: they keep nobody waiting.
SELECT l.n::int, h.run_id, h.node, h.shard, h.generation, h.attempt, h.priority, h.since
FROM unnest($1::text[], $2::text[], $3::text[], $4::int[]) WITH ORDINALITY AS l (demand, queue, job_kind, most, n)
CROSS JOIN LATERAL (
    SELECT h.run_id, h.node, h.shard, h.generation, h.attempt, h.priority, h.since
    FROM ax.held h JOIN ax.runs r ON r.id = h.run_id
    WHERE h.kind = 'pool' AND h.demand = l.demand AND h.queue = l.queue AND h.job_kind = l.job_kind AND r.state = 'running' AND r.held_at IS NULL
      AND NOT EXISTS (SELECT FROM ax.run_intents i WHERE i.run_id = h.run_id AND i.kind <> 'settle')
    ORDER BY h.priority, h.since, h.run_id, h.node, h.shard LIMIT l.most
) h
