-- Writes the ledger (S9).
INSERT INTO ax.fires (schedule_id, scheduled_at, until_at, count, result, reason, run_id)
SELECT schedule_id, scheduled_at, until_at, count, result, reason, run_id
FROM unnest($1::bigint[], $2::timestamptz[], $3::timestamptz[], $4::int[], $5::text[], $6::text[], $7::bigint[])
    AS t (schedule_id, scheduled_at, until_at, count, result, reason, run_id)
