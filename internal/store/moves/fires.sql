-- Writes the ledger (S9).
INSERT INTO ax.fires (schedule_id, scheduled_at, until_at, count, result, reason, run_id, kind)
SELECT schedule_id, scheduled_at, until_at, count, result, reason, run_id, kind
FROM unnest($1::bigint[], $2::timestamptz[], $3::timestamptz[], $4::int[], $5::text[], $6::text[], $7::bigint[], $8::text[])
    AS t (schedule_id, scheduled_at, until_at, count, result, reason, run_id, kind)
