-- The queued runs of one key, never started, that newer ones displace: all but the newest $3 (S22). They are locked; one that somebody is
-- about to move is left alone.
SELECT q.id FROM (
    SELECT id, row_number() OVER (ORDER BY id DESC) AS place FROM ax.runs r
    WHERE workflow_id = $1 AND key = $2 AND limited AND state = 'queued' AND started_at IS NULL
      AND NOT EXISTS (SELECT FROM ax.run_intents i WHERE i.run_id = r.id)
) old
JOIN ax.runs q ON q.id = old.id
WHERE old.place > $3 AND q.state = 'queued' ORDER BY q.id FOR NO KEY UPDATE OF q SKIP LOCKED
