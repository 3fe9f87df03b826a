-- What the ledger knows of some instants of a schedule: their run, 0 for none, and the instant before that became a run.
SELECT t.at, COALESCE((SELECT f.run_id FROM ax.fires f WHERE f.schedule_id = $1 AND f.scheduled_at = t.at AND f.run_id IS NOT NULL
        ORDER BY f.kind DESC LIMIT 1), 0),
    (SELECT f.scheduled_at FROM ax.fires f WHERE f.schedule_id = $1 AND f.scheduled_at < t.at AND f.run_id IS NOT NULL
        ORDER BY f.scheduled_at DESC LIMIT 1)
FROM unnest($2::timestamptz[]) AS t (at) ORDER BY t.at
