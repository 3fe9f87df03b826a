-- The queued runs that may start now, oldest first within a key, while the workflows are locked (S22).
SELECT r.id, r.version_id, r.generation > 1 FROM ax.workflows w
CROSS JOIN LATERAL (
    SELECT q.id, q.version_id, q.generation, q.key, row_number() OVER (PARTITION BY q.key ORDER BY q.id) AS place
    FROM ax.runs q WHERE q.workflow_id = w.id AND q.limited AND q.state = 'queued'
      AND NOT EXISTS (SELECT FROM ax.run_intents i WHERE i.run_id = q.id)
) r
WHERE w.id = ANY ($1::bigint[]) AND r.place <= COALESCE(w.max_runs, 2147483647) - (
    SELECT count(*) FROM ax.runs a WHERE a.workflow_id = w.id AND a.limited AND a.state = 'running' AND a.key = r.key)
ORDER BY r.id
