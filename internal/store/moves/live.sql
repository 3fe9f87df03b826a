-- What is queued, running or held of some runs. OFFSET 0 keeps the lookup of each run's range of keys a lookup: a plan that was made while
-- there were few jobs would compare all of them with all of the runs.
SELECT r.id, split_part(j.args #>> '{}', ':', 2), split_part(j.args #>> '{}', ':', 3)::int, split_part(j.args #>> '{}', ':', 4)::int,
    split_part(j.args #>> '{}', ':', 5)::int, CASE j.state WHEN 'running' THEN 'running' ELSE 'queued' END, j.id,
    j.created_at, CASE j.state WHEN 'running' THEN j.attempted_at END, j.attempted_by[cardinality(j.attempted_by)], j.metadata -> 'holds', 'job'
FROM unnest($1::bigint[]) r (id)
CROSS JOIN LATERAL (
    SELECT * FROM ax_river.river_job
    WHERE unique_key >= int8send(r.id) AND unique_key < int8send(r.id + 1) AND unique_key IS NOT NULL AND unique_states IS NOT NULL
      AND ax_river.river_job_state_in_bitmask(unique_states, state)
    OFFSET 0
) j
UNION ALL
SELECT run_id, node, shard, generation, attempt, state, 0, queued_at, started_at, worker, ax.job_holds(detail, kind, since) -> 'holds', kind FROM ax.held WHERE run_id = ANY ($1::bigint[])
