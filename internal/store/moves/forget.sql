-- Removes what is left of those of some runs that do not exist; says of how many.
WITH gone AS (
    SELECT t.id FROM unnest($1::bigint[]) t (id) WHERE NOT EXISTS (SELECT FROM ax.runs r WHERE r.id = t.id)
), job AS (
    DELETE FROM ax_river.river_job j USING gone
    WHERE ax.job_run(j.args) = gone.id
      AND (j.unique_key >= int8send(gone.id) AND j.unique_key < int8send(gone.id + 1) AND j.unique_key IS NOT NULL AND j.unique_states IS NOT NULL
          AND ax_river.river_job_state_in_bitmask(j.unique_states, j.state)
        OR j.state IN ('cancelled', 'completed', 'discarded'))
), held AS (DELETE FROM ax.held h USING gone WHERE h.run_id = gone.id
), wish AS (DELETE FROM ax.run_intents i USING gone WHERE i.run_id = gone.id
), slot AS (DELETE FROM ax.slots s USING gone WHERE s.run_id = gone.id
), joins AS (DELETE FROM ax.node_joins j USING gone WHERE j.run_id = gone.id
)
SELECT count(*) FROM gone
