-- Locks runs in id order, before anything of them is read.
SELECT r.id, r.namespace_id, r.workflow_id, r.version_id, r.state, r.clean, r.limited, r.key, r.generation, r.canceling, r.timed_out,
    r.deadline_at IS NOT NULL AND r.deadline_at <= COALESCE(r.stopped_at, now()), r.held_at IS NOT NULL,
    COALESCE(r.parent, ''),
    r.depth, r.priority, now()
FROM ax.runs r WHERE r.id = ANY ($1::bigint[]) ORDER BY r.id FOR NO KEY UPDATE
