-- Writes what moved runs are now; a run that came this way is not clean any more, and its join counters serve no longer.
WITH joins AS (DELETE FROM ax.node_joins WHERE run_id = ANY ($1::bigint[]))
UPDATE ax.runs r SET clean = false, state = t.state, reason = COALESCE(t.reason, r.reason), warnings = t.warnings,
    canceling = t.canceling, timed_out = t.timed_out,
    canceled_by = COALESCE(r.canceled_by, t.canceled_by), cancel_reason = COALESCE(r.cancel_reason, t.cancel_reason),
    deadline_at = CASE WHEN t.timed_out THEN NULL ELSE r.deadline_at END,
    finished_at = CASE WHEN t.state IN ('succeeded', 'failed', 'canceled', 'skipped') THEN now() ELSE r.finished_at END
FROM unnest($1::bigint[], $2::text[], $3::text[], $4::int[], $5::bool[], $6::bool[], $7::text[], $8::text[])
    AS t (id, state, reason, warnings, canceling, timed_out, canceled_by, cancel_reason)
WHERE r.id = t.id
