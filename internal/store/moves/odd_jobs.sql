-- The jobs of some runs that River has put away, or put off, without a commit of ours (S18): nothing would ever take them again. However many
-- there are, only so many are looked through; when those are gone, the next come.
SELECT j.id, j.args #>> '{}', j.state::text, j.created_at, j.attempted_at, COALESCE(j.attempted_by[cardinality(j.attempted_by)], ''), j.metadata -> 'holds'
FROM (SELECT * FROM ax_river.river_job WHERE state IN ('cancelled', 'completed', 'discarded', 'pending', 'retryable', 'scheduled') LIMIT 5000) j
WHERE ax.job_run(j.args) = ANY ($1::bigint[])
