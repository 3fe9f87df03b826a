-- What is few: runs of which something is suspected, whose jobs River has put away, of which somebody has wanted something for so long, which
-- have no deadline, which wait for their turn as somebody's children, or which could begin.
(SELECT run_id FROM ax.findings WHERE state IN ('suspected', 'open') AND run_id IS NOT NULL ORDER BY seen_at LIMIT $1)
UNION (
    SELECT a.run_id FROM (
        SELECT args FROM ax_river.river_job WHERE state IN ('cancelled', 'completed', 'discarded', 'pending', 'retryable', 'scheduled') LIMIT $1
    ) j CROSS JOIN LATERAL (SELECT ax.job_run(j.args) AS run_id) a
    WHERE a.run_id IS NOT NULL)
UNION (SELECT run_id FROM ax.run_intents WHERE created_at < now() - $2::bigint * interval '1 microsecond' ORDER BY created_at LIMIT $1)
UNION (SELECT id FROM ax.runs WHERE state = 'running' AND deadline_at IS NULL AND NOT timed_out LIMIT $1)
UNION (SELECT id FROM ax.runs WHERE limited AND state = 'queued' AND parent IS NOT NULL ORDER BY id DESC LIMIT $1)
UNION (
    SELECT min(q.id) FROM ax.runs q WHERE q.limited AND q.state = 'queued' AND q.held_at IS NULL AND NOT EXISTS (SELECT FROM ax.run_intents i WHERE i.run_id = q.id)
    GROUP BY q.workflow_id, q.key
    HAVING (SELECT count(*) FROM ax.runs a WHERE a.workflow_id = q.workflow_id AND a.key = q.key AND a.limited AND a.state = 'running')
        < COALESCE((SELECT w.max_runs FROM ax.workflows w WHERE w.id = q.workflow_id), 2147483647)
    LIMIT $1)
