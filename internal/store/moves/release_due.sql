-- Sends the held nodes whose time has come on: to hold where their run is held, to their pools where they have any, to the queue
-- where a live worker would take them; the others wait on for one.
WITH due AS (
    SELECT h.run_id, h.node, h.shard, r.held_at IS NOT NULL AS held FROM ax.held h JOIN ax.runs r ON r.id = h.run_id
    WHERE h.kind = 'due' AND h.due_at <= now() ORDER BY h.due_at LIMIT $4 FOR SHARE OF r SKIP LOCKED
), taken AS (
    DELETE FROM ax.held h USING due WHERE h.run_id = due.run_id AND h.node = due.node AND h.shard = due.shard AND h.kind = 'due'
    RETURNING h.*, due.held
), live AS (SELECT * FROM unnest($1::text[], $2::text[]) AS t (queue, kind)
), next AS (
    SELECT *, CASE WHEN held THEN 'hold' WHEN demand IS NOT NULL THEN 'pool' WHEN queue = ANY ($3::text[]) THEN 'queue'
        WHEN (queue, job_kind) IN (SELECT queue, kind FROM live) THEN 'job' ELSE 'worker' END AS mode
    FROM taken
), job AS (
    INSERT INTO ax_river.river_job (args, kind, max_attempts, priority, queue, metadata, unique_key, unique_states)
    SELECT ax.job_args(run_id, node, shard, generation, attempt), job_kind, 1, priority, queue, ax.from_now(ax.job_holds(detail, kind, since)),
        ax.job_key(run_id, node, shard), B'11110001'
    FROM next WHERE mode = 'job'
    RETURNING queue
), hold AS (
    INSERT INTO ax.held (run_id, node, shard, generation, attempt, kind, state, queue, job_kind, priority, detail, demand)
    SELECT run_id, node, shard, generation, attempt, mode, 'waiting', queue, job_kind, priority,
        ax.from_now(ax.job_holds(detail, kind, since)), demand
    FROM next WHERE mode <> 'job'
    RETURNING kind, queue
)
SELECT (SELECT count(*) FROM taken),
    (SELECT count(pg_notify('ax_river.river_insert', json_build_object('queue', queue)::text)) FROM (SELECT DISTINCT queue FROM job) q)
    + (SELECT count(pg_notify('ax_pool', '')) FROM (SELECT 1 FROM hold WHERE kind = 'pool' LIMIT 1) p)
    + (SELECT count(pg_notify('ax_route', '')) FROM (SELECT 1 FROM hold WHERE queue LIKE '%-%' LIMIT 1) r)
