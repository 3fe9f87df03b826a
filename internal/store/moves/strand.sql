-- Takes back to held the queued jobs that no live worker would take any more. Those that have slots give them back and stand in their
-- pools' line again where they stood, as if they had never left it.
WITH live AS (SELECT * FROM unnest($1::text[], $2::text[]) AS t (queue, kind)
), stranded AS (
    SELECT j.id, split_part(j.args #>> '{}', ':', 1)::bigint AS run_id FROM ax_river.river_job j
    WHERE j.state = 'available' AND NOT EXISTS (SELECT FROM live WHERE live.queue = j.queue AND live.kind = j.kind) LIMIT $4
), run AS (
    SELECT r.id FROM ax.runs r WHERE r.id IN (SELECT run_id FROM stranded) ORDER BY r.id FOR SHARE SKIP LOCKED
), gone AS (
    DELETE FROM ax_river.river_job j USING stranded, run
    WHERE j.id = stranded.id AND run.id = stranded.run_id AND j.state = 'available'
    RETURNING split_part(j.args #>> '{}', ':', 1)::bigint AS run_id, split_part(j.args #>> '{}', ':', 2) AS node,
        split_part(j.args #>> '{}', ':', 3)::int AS shard, split_part(j.args #>> '{}', ':', 4)::int AS generation,
        split_part(j.args #>> '{}', ':', 5)::int AS attempt, j.kind, j.queue, j.priority, j.metadata ->> 'demand' AS demand, j.metadata -> 'holds' AS holds, j.metadata - 'demand' AS detail, j.created_at
), hold AS (
    INSERT INTO ax.held (run_id, node, shard, generation, attempt, kind, state, queue, job_kind, priority, since, detail, demand)
    SELECT run_id, node, shard, generation, attempt,
        CASE WHEN demand IS NOT NULL THEN 'pool' WHEN queue = ANY ($3::text[]) THEN 'queue' ELSE 'worker' END,
        'waiting', queue, kind, priority, CASE WHEN demand IS NULL THEN now() ELSE (holds -> -1 ->> 'since')::timestamptz END,
        jsonb_build_object('expires', extract(epoch FROM created_at)::bigint + 86400) || detail
            || jsonb_build_object('holds', CASE WHEN demand IS NULL THEN COALESCE(holds, '[]') ELSE holds - -1 END), demand
    FROM gone
), freed AS (
    DELETE FROM ax.slots s USING gone g
    WHERE g.demand IS NOT NULL AND s.run_id = g.run_id AND s.node = g.node AND s.shard = g.shard AND s.generation = g.generation AND s.attempt = g.attempt
    RETURNING 1
)
SELECT (SELECT count(*) FROM gone), (SELECT count(pg_notify('ax_pool', '')) FROM (SELECT 1 FROM freed LIMIT 1) f)
