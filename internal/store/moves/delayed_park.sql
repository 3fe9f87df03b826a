-- Puts aside what is due of paused workflows, so that it hides nothing; resuming takes it up again. The workflow is share locked, so that
-- nobody resumes it meanwhile.
WITH paused AS MATERIALIZED (
    SELECT w.id FROM ax.workflows w WHERE w.paused_at IS NOT NULL
      AND EXISTS (SELECT FROM ax.delayed_runs d WHERE d.workflow_id = w.id AND d.due_at <= now()) ORDER BY w.id FOR SHARE
)
UPDATE ax.delayed_runs d SET due_at = 'infinity' FROM paused WHERE d.workflow_id = paused.id AND d.due_at <= now()
