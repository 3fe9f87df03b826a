-- How many runs of some limited workflows are running and queued, key by key, under the workflows' locks, and how many of the queued ones
-- are only waiting for their turn.
SELECT workflow_id, key, count(*) FILTER (WHERE state = 'running'), count(*) FILTER (WHERE state = 'queued'),
    count(*) FILTER (WHERE state = 'queued' AND held_at IS NULL)
FROM ax.runs WHERE workflow_id = ANY ($1::bigint[]) AND limited AND state IN ('queued', 'running') GROUP BY workflow_id, key
