-- Writes nodes of a new run that take over what they are, so that they do not run: with an output that is given, or that of the same node in
-- another run, which "got" has read.
INSERT INTO ax.node_runs (run_id, node, shard, generation, attempt, state, outcome, actor, reason, note, output)
SELECT $3::bigint, c.node, -1, 1, 1, c.state, 'copied', $4::text, c.reason, c.note, COALESCE(c.output::json, got.output)
FROM unnest($1::bigint[], $2::text[], $5::text[], $6::text[], $7::text[], $8::text[]) AS c (source, node, state, reason, note, output)
LEFT JOIN got ON got.run_id = c.source AND got.node = c.node
