-- Freezes the shards of split nodes; with total 0 the generation keeps those of the one before it.
INSERT INTO ax.expansions (run_id, node, generation, base, total, items)
SELECT t.run_id, t.node, t.generation, COALESCE(old.base, t.generation), COALESCE(old.total, t.total), COALESCE(old.items, t.items::json)
FROM unnest($1::bigint[], $2::text[], $3::int[], $4::int[], $5::text[]) AS t (run_id, node, generation, total, items)
LEFT JOIN ax.expansions old ON t.total = 0 AND old.run_id = t.run_id AND old.node = t.node AND old.generation = t.generation - 1
