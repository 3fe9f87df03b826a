package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store/internal/db"
)

// NodeRecord is one row of a run's history: an attempt that ended, or a node that ended without a start.
type NodeRecord struct {
	Attempt       Attempt
	State         progress.State
	Outcome       string
	Tolerated     bool
	Worker        string
	Actor, Reason string
	// Note is what the body or a person said beside the reason.
	Note string
	Err  *progress.Error
	// Output is nil for none and where it is longer than was asked for; OutputSize is its length in bytes.
	Output              []byte
	OutputSize          int
	QueuedAt, StartedAt *time.Time
	FinishedAt          time.Time
}

// LiveNode is what is queued, running or held of a run.
type LiveNode struct {
	Attempt Attempt
	State   progress.State
	// Held is the kind of hold, "" for a job.
	Held string
	// Queue is the queue's own name, Kind the kind of job that a worker must take.
	Queue, Kind string
	// Routed means that its labels or its route say which worker may take it.
	Routed bool
	Worker string
	// Since is when the node came to its present place.
	Since               time.Time
	DueAt               *time.Time
	QueuedAt, StartedAt *time.Time
	// What a held one waits for, beside its time: its run may be held, its queue paused, its kind not be Served by any live worker, and Pools
	// are those it needs.
	RunHeld, QueuePaused, Served bool
	Pools                        []PoolAhead
}

// NodeFacts is what is stored of a run's nodes at one instant; a node of which there is nothing is pending.
type NodeFacts struct {
	// History has every attempt that ended, by node, generation and number.
	History []NodeRecord
	Live    []LiveNode
	// Splits has every expansion, by node and generation, without its items (S21).
	Splits []Expansion
	// Begun is when the newest generation of each node began that was rerun or marked, of the whole run.
	Begun map[string]time.Time
}

// NodeFacts reads the history of some nodes of a run that exists, or of all when none are named, and what is live and split of
// the whole run. Outputs longer than outputLimit bytes are left out; with 0 they are not looked at.
func (s *Store) NodeFacts(ctx context.Context, run RunID, nodes []string, outputLimit int) (NodeFacts, error) {
	var facts NodeFacts
	err := s.InSnapshot(ctx, func(tx pgx.Tx) (err error) {
		if facts.Live, err = liveNodes(ctx, tx, run); err != nil {
			return err
		}
		if facts.Splits, err = splitNodes(ctx, tx, run); err != nil {
			return err
		}
		if facts.Begun, err = nodeBegins(ctx, tx, run); err != nil {
			return err
		}
		facts.History, err = nodeHistory(ctx, tx, run, nodes, outputLimit)
		return err
	})
	if err != nil {
		return facts, fmt.Errorf("read nodes of run %s: %w", run, err)
	}
	return facts, nil
}

func splitNodes(ctx context.Context, tx pgx.Tx, run RunID) ([]Expansion, error) {
	rows, err := tx.Query(ctx, "SELECT run_id, node, generation, base, total FROM ax.expansions WHERE run_id = $1 ORDER BY node, generation", run)
	if err != nil {
		return nil, err
	}
	var splits []Expansion
	err = collect(&splits, func(e *Expansion) []any { return []any{&e.Run, &e.Node, &e.Generation, &e.Base, &e.Total} })(rows)
	return splits, err
}

func nodeBegins(ctx context.Context, tx pgx.Tx, run RunID) (map[string]time.Time, error) {
	rows, err := db.New(tx).NodeBegins(ctx, int64(run))
	if err != nil {
		return nil, err
	}
	begun := make(map[string]time.Time, len(rows))
	for _, r := range rows {
		begun[r.Node] = r.At
	}
	return begun, nil
}

func nodeHistory(ctx context.Context, tx pgx.Tx, run RunID, nodes []string, outputLimit int) ([]NodeRecord, error) {
	if nodes == nil {
		nodes = []string{}
	}
	rows, err := db.New(tx).NodeHistory(ctx, db.NodeHistoryParams{OutputLimit: int32(outputLimit), RunID: int64(run), Nodes: nodes})
	if err != nil {
		return nil, err
	}
	return mapRows(rows, func(r db.NodeHistoryRow) (NodeRecord, error) { return nodeRecord(run, r), nil })
}

func nodeRecord(run RunID, r db.NodeHistoryRow) NodeRecord {
	n := NodeRecord{
		Attempt: Attempt{Run: run, Node: r.Node, Shard: int(r.Shard), Generation: int(r.Generation), Number: int(r.Attempt)},
		State:   progress.State(r.State), Outcome: r.Outcome, Tolerated: r.Tolerated, Worker: text(r.Worker), Actor: r.Actor,
		Reason: text(r.Reason), Note: text(r.Note), Output: r.Output, OutputSize: int(r.OutputSize),
		QueuedAt: r.QueuedAt, StartedAt: r.StartedAt, FinishedAt: r.FinishedAt,
	}
	if r.ErrorClass != nil {
		n.Err = &progress.Error{Class: progress.Class(*r.ErrorClass), Code: text(r.ErrorCode), Message: text(r.ErrorMessage)}
	}
	return n
}

// liveNodes reads what is queued, running or held of a run.
func liveNodes(ctx context.Context, tx pgx.Tx, run RunID) ([]LiveNode, error) {
	jobs, err := liveJobs(ctx, tx, run)
	if err != nil {
		return nil, err
	}
	held, err := db.New(tx).HeldOfRun(ctx, int64(run))
	if err != nil {
		return nil, err
	}
	waiting := make(map[Demand][]int)
	for _, h := range held {
		jobs = append(jobs, LiveNode{
			Attempt: Attempt{Run: run, Node: h.Node, Shard: int(h.Shard), Generation: int(h.Generation), Number: int(h.Attempt)},
			State:   progress.State(h.State), Held: h.Kind, Queue: h.QueueName, Kind: h.JobKind, Worker: text(h.Worker), Since: h.Since,
			DueAt: h.DueAt, QueuedAt: h.QueuedAt, StartedAt: h.StartedAt, Routed: BaseQueue(h.Queue) != h.Queue, RunHeld: h.RunHeld, QueuePaused: h.QueuePaused, Served: h.Served,
		})
		if h.Kind == string(ModePool) {
			waiting[Demand(h.Demand)] = append(waiting[Demand(h.Demand)], len(jobs)-1)
		}
	}
	return jobs, lookAhead(ctx, tx, waiting, jobs)
}

// liveJobs finds a run's jobs in their range of River's unique index, whose predicate it therefore repeats.
func liveJobs(ctx context.Context, tx pgx.Tx, run RunID) ([]LiveNode, error) {
	rows, err := tx.Query(ctx, `SELECT j.args #>> '{}', CASE j.state WHEN 'running' THEN 'running' ELSE 'queued' END,
			COALESCE(q.name, j.queue), j.kind, j.created_at, j.attempted_at, COALESCE(j.attempted_by[cardinality(j.attempted_by)], '')
		FROM ax_river.river_job j LEFT JOIN ax.queues q ON split_part(j.queue, '-', 1) = 'q' || q.id::text
		WHERE j.unique_key >= int8send($1::bigint) AND j.unique_key < int8send($1::bigint + 1)
			AND j.unique_key IS NOT NULL AND j.unique_states IS NOT NULL AND ax_river.river_job_state_in_bitmask(j.unique_states, j.state)`, run)
	if err != nil {
		return nil, err
	}
	var live []LiveNode
	err = collect(&live, func(n *LiveNode) []any {
		return []any{&jobArgs{&n.Attempt}, &n.State, &n.Queue, &n.Kind, &n.QueuedAt, &n.StartedAt, &n.Worker}
	})(rows)
	for i := range live {
		n := &live[i]
		if n.Since = *n.QueuedAt; n.State == progress.Running && n.StartedAt != nil {
			n.Since = *n.StartedAt
		} else {
			n.StartedAt, n.Worker = nil, ""
		}
	}
	return live, err
}

// jobArgs scans a job's arguments.
type jobArgs struct{ to *Attempt }

// ScanText implements pgtype.TextScanner.
func (j *jobArgs) ScanText(v pgText) (err error) {
	*j.to, err = ParseJobArgs(v.String)
	return err
}
