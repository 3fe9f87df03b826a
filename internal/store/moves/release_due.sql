-- Queues the held nodes whose time has come, where a live worker would take them; the others wait on for one.
WITH due AS (
    SELECT h.run_id, h.node, h.shard FROM ax.held h JOIN ax.runs r ON r.id = h.run_id
    WHERE h.kind = 'due' AND h.due_at <= now() ORDER BY h.due_at LIMIT $3 FOR SHARE OF r SKIP LOCKED
), taken AS (
    DELETE FROM ax.held h USING due WHERE h.run_id = due.run_id AND h.node = due.node AND h.shard = due.shard AND h.kind = 'due'
    RETURNING h.*
), live AS (SELECT * FROM unnest($1::text[], $2::text[]) AS t (queue, kind)
), job AS (
    INSERT INTO ax_river.river_job (args, kind, max_attempts, priority, queue, metadata, unique_key, unique_states)
    SELECT ax.job_args(run_id, node, shard, generation, attempt), job_kind, 1, priority, queue, ax.job_holds(detail, kind, since),
        ax.job_key(run_id, node, shard), B'11110001'
    FROM taken WHERE (queue, job_kind) IN (SELECT queue, kind FROM live)
    RETURNING queue
), hold AS (
    INSERT INTO ax.held (run_id, node, shard, generation, attempt, kind, state, queue, job_kind, priority, detail)
    SELECT run_id, node, shard, generation, attempt, 'worker', 'waiting', queue, job_kind, priority, ax.job_holds(detail, kind, since)
    FROM taken WHERE (queue, job_kind) NOT IN (SELECT queue, kind FROM live)
)
SELECT (SELECT count(*) FROM taken),
    (SELECT count(pg_notify('ax_river.river_insert', json_build_object('queue', queue)::text)) FROM (SELECT DISTINCT queue FROM job) q)
