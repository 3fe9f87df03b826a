-- Removes exactly these live rows, which nothing that is current belongs to, and the slots of their attempts. Bodies that run find out by it.
WITH item AS (
    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::int[], $5::int[], $6::int[]) AS t (job_id, run_id, node, shard, generation, attempt)
), job AS (
    DELETE FROM ax_river.river_job j USING item WHERE item.job_id <> 0 AND j.id = item.job_id
    RETURNING j.state, j.attempted_by[cardinality(j.attempted_by)] AS worker
), held AS (
    DELETE FROM ax.held h USING item WHERE item.job_id = 0 AND h.run_id = item.run_id AND h.node = item.node AND h.shard = item.shard
      AND h.generation = item.generation AND h.attempt = item.attempt
), freed AS (
    DELETE FROM ax.slots s USING item i WHERE s.run_id = i.run_id AND s.node = i.node AND s.shard = i.shard AND s.generation = i.generation AND s.attempt = i.attempt
    RETURNING 1
)
SELECT (SELECT count(pg_notify('ax_stop', worker)) FROM (SELECT DISTINCT worker FROM job WHERE state = 'running') w)
    + (SELECT count(pg_notify('ax_pool', '')) FROM (SELECT 1 FROM freed LIMIT 1) f)
