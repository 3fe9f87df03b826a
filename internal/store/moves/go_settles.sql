-- Has the general path end runs whose last node a batch of the fast path moved.
INSERT INTO ax.run_intents (run_id, kind, actor) SELECT id, 'settle', 'engine' FROM unnest($1::bigint[]) AS t (id)
ON CONFLICT DO NOTHING
