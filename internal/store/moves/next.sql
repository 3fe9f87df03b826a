-- The queued runs that may start now, by priority and age within a key, while the workflows are locked (S22). One that somebody is about to move
-- is left to them: whoever moves a queued run comes here afterwards.
SELECT q.id, q.version_id, q.priority, q.generation > 1 OR NOT q.clean FROM (
    SELECT r.id FROM ax.workflows w
    CROSS JOIN LATERAL (
        SELECT q.id, q.key, row_number() OVER (PARTITION BY q.key ORDER BY q.priority, q.id) AS place
        FROM ax.runs q WHERE q.workflow_id = w.id AND q.limited AND q.state = 'queued' AND q.held_at IS NULL
          AND NOT EXISTS (SELECT FROM ax.run_intents i WHERE i.run_id = q.id)
    ) r
    WHERE w.id = ANY ($1::bigint[]) AND r.place <= COALESCE(w.max_runs, 2147483647) - (
        SELECT count(*) FROM ax.runs a WHERE a.workflow_id = w.id AND a.limited AND a.state = 'running' AND a.key = r.key)
) next
JOIN ax.runs q ON q.id = next.id
WHERE q.state = 'queued' ORDER BY q.id FOR NO KEY UPDATE OF q SKIP LOCKED
