-- Removes the live rows whose attempts have ended; what is not removed belongs to somebody else by now (S18). A job that nobody has
-- taken has no attempt yet. The slots of the attempt go with it, unless its body goes on: elsewhere, or until it has stopped. A child run
-- that goes on after its parent's attempt is to end.
WITH item AS (
    SELECT * FROM unnest($1::bigint[], $2::smallint[], $3::bigint[], $4::text[], $5::int[], $6::int[], $7::int[], $8::bool[], $9::bigint[])
        AS t (job_id, job_attempt, run_id, node, shard, generation, attempt, keeps, grace_us)
), job AS (
    DELETE FROM ax_river.river_job j USING item
    WHERE j.id = item.job_id AND j.attempt = item.job_attempt AND j.state = CASE item.job_attempt WHEN 0 THEN 'available' ELSE 'running' END::ax_river.river_job_state
    RETURNING item.run_id, item.node, item.shard, item.generation, item.attempt, item.keeps, item.grace_us, j.id, j.created_at,
        CASE j.state WHEN 'running' THEN j.attempted_at END AS attempted_at, j.attempted_by[cardinality(j.attempted_by)] AS worker,
        j.metadata -> 'holds' AS holds
), elsewhere AS (
    DELETE FROM ax.held h USING item
    WHERE item.job_id = 0 AND h.run_id = item.run_id AND h.node = item.node AND h.shard = item.shard
      AND h.generation = item.generation AND h.attempt = item.attempt AND h.kind IN ('remote', 'wait', 'approval', 'child', 'pool', 'worker', 'queue')
    RETURNING h.run_id, h.node, h.shard, h.generation, h.attempt, item.keeps, item.grace_us, NULL::bigint, h.queued_at, h.started_at, h.worker,
        CASE WHEN h.kind IN ('pool', 'worker', 'queue') THEN ax.job_holds(h.detail, h.kind, h.since) ELSE h.detail END -> 'holds' AS holds,
        (h.detail ->> 'child')::bigint AS child
), abandoned AS (
    INSERT INTO ax.run_intents (run_id, kind, actor, reason)
    SELECT r.id, 'cancel', 'engine', 'its parent gave up on it' FROM elsewhere e JOIN ax.runs r ON r.id = e.child WHERE r.state IN ('queued', 'running')
    ON CONFLICT DO NOTHING RETURNING 1
), taken AS (SELECT * FROM job UNION ALL SELECT run_id, node, shard, generation, attempt, keeps, grace_us, NULL, queued_at, started_at, worker, holds FROM elsewhere
), freed AS (
    DELETE FROM ax.slots s USING taken t
    WHERE NOT t.keeps AND t.grace_us = 0 AND s.run_id = t.run_id AND s.node = t.node AND s.shard = t.shard AND s.generation = t.generation AND s.attempt = t.attempt
    RETURNING 1
), stopping AS (
    UPDATE ax.slots s SET stopping_until = now() + t.grace_us * interval '1 microsecond' FROM taken t
    WHERE NOT t.keeps AND t.grace_us > 0 AND s.run_id = t.run_id AND s.node = t.node AND s.shard = t.shard AND s.generation = t.generation AND s.attempt = t.attempt
)
SELECT run_id, node, shard, attempt, id, created_at, attempted_at, worker, holds FROM taken
WHERE (SELECT count(pg_notify('ax_pool', '')) FROM (SELECT 1 FROM freed LIMIT 1) f) + (SELECT count(pg_notify('ax_intent', '')) FROM abandoned) >= 0
