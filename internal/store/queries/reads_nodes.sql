-- name: NodeHistory :many
-- All attempts of some nodes of a run, oldest first; no nodes means all. Outputs longer than output_limit bytes are left out.
SELECT node, shard, generation, attempt, state, outcome, tolerated, worker, actor, reason, note, error_class, error_code, error_message,
    COALESCE(CASE WHEN @output_limit::int > 0 THEN octet_length(output::text) END, 0)::int AS output_size,
    (CASE WHEN @output_limit::int > 0 AND octet_length(output::text) <= @output_limit::int THEN output END)::json AS output,
    queued_at, started_at, finished_at
FROM ax.node_runs
WHERE run_id = @run_id AND (cardinality(@nodes::text[]) = 0 OR node = ANY (@nodes::text[]))
ORDER BY node, shard, generation, attempt;

-- name: HeldOfRun :many
SELECT h.node, h.shard, h.generation, h.attempt, h.kind, h.state, h.queue, COALESCE(q.name, h.queue)::text AS queue_name, h.job_kind, h.due_at,
    h.worker, h.since, h.queued_at, h.started_at, COALESCE(h.demand, '')::text AS demand,
    (r.held_at IS NOT NULL)::boolean AS run_held, (q.paused_at IS NOT NULL)::boolean AS queue_paused,
    EXISTS (SELECT FROM ax.workers w WHERE ax.worker_takes(w) AND h.queue = ANY (w.queues) AND h.job_kind = ANY (w.kinds))::boolean AS served
FROM ax.held h
JOIN ax.runs r ON r.id = h.run_id
LEFT JOIN ax.queues q ON split_part(h.queue, '-', 1) = 'q' || q.id::text
WHERE h.run_id = @run_id;

-- name: LogChunks :many
SELECT attempt, seq, lines FROM ax.logs
WHERE run_id = @run_id AND node = @node AND shard = @shard AND generation = @generation AND (attempt, seq) >= (@attempt::int, @seq::int)
ORDER BY attempt, seq LIMIT @most;

-- name: NodeBegins :many
-- When the newest generation of each node of a run that was begun anew began.
SELECT node, max(finished_at)::timestamptz AS at FROM ax.node_runs WHERE run_id = @run_id AND shard = -1 AND attempt = 0 GROUP BY node;
