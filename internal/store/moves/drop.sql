-- Removes the live rows of nodes that end without a result; running bodies find out by it (S18). The slots of what runs stay until
-- its body has stopped, or been given its grace (S17); others go at once.
WITH item AS (SELECT * FROM unnest($1::bigint[], $2::text[], $3::int[]) AS t (run_id, node, shard)
), job AS (
    DELETE FROM ax_river.river_job j USING item
    WHERE j.unique_key = ax.job_key(item.run_id, item.node, item.shard) AND j.unique_key IS NOT NULL AND j.unique_states IS NOT NULL
      AND ax_river.river_job_state_in_bitmask(j.unique_states, j.state)
    RETURNING item.run_id, item.node, item.shard, j.state, j.attempted_by[cardinality(j.attempted_by)] AS worker
), held AS (
    DELETE FROM ax.held h USING item WHERE h.run_id = item.run_id AND h.node = item.node AND h.shard = item.shard
    RETURNING h.run_id, h.node, h.shard, h.kind, h.detail
), child AS (
    INSERT INTO ax.run_intents (run_id, kind, actor, reason)
    SELECT (detail ->> 'child')::bigint, 'cancel', 'engine', 'its parent was stopped' FROM held WHERE kind = 'child' AND detail ? 'child'
    ON CONFLICT DO NOTHING
), running AS (
    SELECT run_id, node, shard FROM job WHERE state = 'running' UNION ALL SELECT run_id, node, shard FROM held WHERE kind = 'remote'
), stopping AS (
    UPDATE ax.slots s SET stopping_until = now() + $4::bigint * interval '1 microsecond' FROM running r
    WHERE s.run_id = r.run_id AND s.node = r.node AND s.shard = r.shard AND s.stopping_until IS NULL
), freed AS (
    DELETE FROM ax.slots s USING item i
    WHERE s.run_id = i.run_id AND s.node = i.node AND s.shard = i.shard AND s.stopping_until IS NULL
      AND NOT EXISTS (SELECT FROM running r WHERE r.run_id = i.run_id AND r.node = i.node AND r.shard = i.shard)
    RETURNING 1
)
SELECT (SELECT count(pg_notify('ax_stop', worker)) FROM (SELECT DISTINCT worker FROM job WHERE state = 'running') w)
    + (SELECT count(pg_notify('ax_pool', '')) FROM (SELECT 1 FROM freed LIMIT 1) f)
