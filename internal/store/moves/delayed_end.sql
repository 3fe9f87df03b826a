-- What became of delayed runs that were taken up. One that may not start yet is taken up again later, the later the longer it has waited.
UPDATE ax.delayed_runs d SET state = t.state, run_id = t.run_id, reason = t.reason,
    due_at = CASE t.state WHEN 'waiting' THEN now() + LEAST(interval '5 seconds' + (now() - d.run_at) / 10, interval '1 minute') END,
    ended_at = CASE t.state WHEN 'waiting' THEN NULL ELSE now() END, ended_by = CASE t.state WHEN 'waiting' THEN NULL ELSE 'planner' END
FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[]) AS t (id, state, run_id, reason) WHERE d.id = t.id
