-- Takes back to held the queued jobs that no live worker would take any more.
WITH live AS (SELECT * FROM unnest($1::text[], $2::text[]) AS t (queue, kind)
), stranded AS (
    SELECT j.id, split_part(j.args #>> '{}', ':', 1)::bigint AS run_id FROM ax_river.river_job j
    WHERE j.state = 'available' AND NOT EXISTS (SELECT FROM live WHERE live.queue = j.queue AND live.kind = j.kind) LIMIT $3
), run AS (
    SELECT r.id FROM ax.runs r WHERE r.id IN (SELECT run_id FROM stranded) ORDER BY r.id FOR SHARE SKIP LOCKED
), gone AS (
    DELETE FROM ax_river.river_job j USING stranded, run
    WHERE j.id = stranded.id AND run.id = stranded.run_id AND j.state = 'available'
    RETURNING j.args #>> '{}' AS args, j.kind, j.queue, j.priority, j.metadata
), hold AS (
    INSERT INTO ax.held (run_id, node, shard, generation, attempt, kind, state, queue, job_kind, priority, detail)
    SELECT split_part(args, ':', 1)::bigint, split_part(args, ':', 2), split_part(args, ':', 3)::int, split_part(args, ':', 4)::int,
        split_part(args, ':', 5)::int, 'worker', 'waiting', queue, kind, priority, metadata FROM gone
)
SELECT count(*) FROM gone
