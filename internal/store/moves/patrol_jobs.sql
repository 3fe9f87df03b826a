-- One stretch of the live jobs, by id: where it ends, how long it is, whose run does not go on, and which are none of ours.
SELECT COALESCE(max(j.id), 0), count(*),
    COALESCE(array_agg(DISTINCT j.run_id) FILTER (WHERE NOT j.foreign AND r.state IS DISTINCT FROM 'running'), '{}'),
    COALESCE(array_agg(j.id) FILTER (WHERE j.foreign), '{}')
FROM (
    SELECT id, a.run_id, a.run_id IS NULL OR unique_key IS DISTINCT FROM ax.job_key(a.run_id, split_part(args #>> '{}', ':', 2), split_part(args #>> '{}', ':', 3)::int) AS foreign
    FROM (SELECT * FROM ax_river.river_job WHERE id > $1 AND state IN ('available', 'running') ORDER BY id LIMIT $2) j
    CROSS JOIN LATERAL (SELECT ax.job_run(j.args) AS run_id) a
) j LEFT JOIN ax.runs r ON r.id = j.run_id
