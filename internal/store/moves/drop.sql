-- Removes the live rows of nodes that end without a result; running bodies find out by it (S18).
WITH item AS (SELECT * FROM unnest($1::bigint[], $2::text[], $3::int[]) AS t (run_id, node, shard)
), job AS (
    DELETE FROM ax_river.river_job j USING item
    WHERE j.unique_key = ax.job_key(item.run_id, item.node, item.shard) AND j.unique_key IS NOT NULL AND j.unique_states IS NOT NULL
      AND ax_river.river_job_state_in_bitmask(j.unique_states, j.state)
    RETURNING j.state, j.attempted_by[cardinality(j.attempted_by)] AS worker
), held AS (
    DELETE FROM ax.held h USING item WHERE h.run_id = item.run_id AND h.node = item.node AND h.shard = item.shard
    RETURNING h.kind, h.detail
), child AS (
    INSERT INTO ax.run_intents (run_id, kind, actor, reason)
    SELECT (detail ->> 'child')::bigint, 'cancel', 'engine', 'its parent was stopped' FROM held WHERE kind = 'child' AND detail ? 'child'
    ON CONFLICT DO NOTHING
)
SELECT count(pg_notify('ax_stop', worker)) FROM (SELECT DISTINCT worker FROM job WHERE state = 'running') w
