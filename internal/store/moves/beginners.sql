-- Which of some queued runs wait for nothing: a place among their workflow's runs is free, and it is their turn (S22).
SELECT q.id FROM ax.runs q JOIN ax.workflows w ON w.id = q.workflow_id
WHERE q.id = ANY ($1::bigint[]) AND q.limited AND q.state = 'queued' AND q.held_at IS NULL
  AND NOT EXISTS (SELECT FROM ax.run_intents i WHERE i.run_id = q.id)
  AND (SELECT count(*) FROM ax.runs a WHERE a.workflow_id = q.workflow_id AND a.key = q.key AND a.limited AND a.state = 'running') < COALESCE(w.max_runs, 2147483647)
