-- Asks for the end of the oldest running runs of one key until as many as wait, $3, are about to end (S22). A run that is being canceled
-- already is not asked again: a second cancel would stop its finally nodes.
WITH running AS (
    SELECT id, canceling OR EXISTS (SELECT FROM ax.run_intents i WHERE i.run_id = r.id AND i.kind = 'cancel') AS ending FROM ax.runs r
    WHERE workflow_id = $1 AND key = $2 AND limited AND state = 'running'
), asked AS (
    INSERT INTO ax.run_intents (run_id, kind, actor, reason)
    SELECT id, 'cancel', 'engine', 'a newer run takes its place' FROM running WHERE NOT ending
    ORDER BY id LIMIT GREATEST(0, $3 - (SELECT count(*) FROM running WHERE ending))
    ON CONFLICT DO NOTHING
    RETURNING run_id
)
SELECT pg_notify('ax_intent', '') FROM asked LIMIT 1
