package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/dag/progress"
)

// Copy is a node of a new run that does not run: it takes over its state, and its output, from elsewhere.
type Copy struct {
	Node   string
	State  progress.State
	Reason progress.Reason
	// From is the run whose output the node has, unless Output is given; 0 is none.
	From   RunID
	Output []byte
}

// Origin is where a run comes from that does not begin with nothing.
type Origin struct {
	// ReplayOf is the run that it repeats, or 0; OnlyNodes are the nodes that a test run is about.
	ReplayOf  RunID
	OnlyNodes []string
	Copies    []Copy
}

// queueOrigin writes what a run takes over. Such a run is not clean: what starts first is for the general path to say.
func queueOrigin(b *pgx.Batch, r *NewRun) {
	o := r.Origin
	b.Queue("UPDATE ax.runs SET clean = false, replay_of = $2, only_nodes = $3 WHERE id = $1", r.ID, orNull(o.ReplayOf), o.OnlyNodes)
	if len(o.Copies) == 0 {
		return
	}
	b.Queue("WITH got (run_id, node, output) AS ("+moves["outputs"]+") "+moves["copy"],
		column(o.Copies, func(c *Copy) int64 { return int64(c.From) }),
		column(o.Copies, func(c *Copy) string { return c.Node }),
		r.ID, r.Actor,
		column(o.Copies, func(c *Copy) string { return string(c.State) }),
		column(o.Copies, func(c *Copy) string { return string(c.Reason) }),
		column(o.Copies, func(c *Copy) *string { return c.note() }),
		column(o.Copies, func(c *Copy) *string { return jsonText(c.Output) }))
}

func (c *Copy) note() *string {
	if c.From == 0 {
		return nil
	}
	return new("from run " + c.From.String())
}

// NewestSuccess finds the newest run of a workflow that succeeded and was no test, or 0.
func (s *Store) NewestSuccess(ctx context.Context, workflow int64) (run RunID, err error) {
	err = s.pool.QueryRow(ctx, `SELECT id FROM ax.runs WHERE workflow_id = $1 AND state = 'succeeded' AND trigger <> 'test'
		ORDER BY id DESC LIMIT 1`, workflow).Scan(&run)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("find the newest success: %w", err)
	}
	return run, nil
}
