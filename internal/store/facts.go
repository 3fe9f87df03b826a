package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// RunFacts are what never changes of a run, as an attempt needs them.
type RunFacts struct {
	ID                                 RunID
	NamespaceID, WorkflowID, VersionID int64
	Namespace, Workflow, Trigger       string
	Limited                            bool
	// Priority is the run's.
	Priority int
	// Unclean means that the run was not clean when this was read, and so never will be.
	Unclean bool
	// Awaited means that an attempt of another run waits for this one.
	Awaited             bool
	Params              []byte
	ScheduledAt         time.Time
	PreviousScheduledAt *time.Time
	LogicalDate         string
}

// RunFacts reads the facts of some runs; a run that does not exist is absent.
func (s *Store) RunFacts(ctx context.Context, runs []RunID) ([]RunFacts, error) {
	rows, err := s.pool.Query(ctx, `SELECT r.id, r.namespace_id, r.workflow_id, r.version_id, n.name, w.code, r.trigger, r.limited, r.parent IS NOT NULL, NOT r.clean, r.priority,
			r.params, r.scheduled_at, r.previous_scheduled_at, to_char(r.logical_date, 'YYYY-MM-DD')
		FROM ax.runs r JOIN ax.workflows w ON w.id = r.workflow_id JOIN ax.namespaces n ON n.id = r.namespace_id
		WHERE r.id = ANY ($1::bigint[])`, ids(runs))
	if err != nil {
		return nil, fmt.Errorf("read %d runs: %w", len(runs), err)
	}
	facts, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (RunFacts, error) {
		var f RunFacts
		return f, row.Scan(&f.ID, &f.NamespaceID, &f.WorkflowID, &f.VersionID, &f.Namespace, &f.Workflow, &f.Trigger, &f.Limited, &f.Awaited, &f.Unclean, &f.Priority,
			&f.Params, &f.ScheduledAt, &f.PreviousScheduledAt, &f.LogicalDate)
	})
	if err != nil {
		return nil, fmt.Errorf("read %d runs: %w", len(runs), err)
	}
	return facts, nil
}

// NodeOutput is what a node of a run produced; Output is nil for null.
type NodeOutput struct {
	Run    RunID
	Node   string
	Output []byte
}

// Outputs reads the newest outputs of nodes of runs, pairwise; what has not succeeded is absent. The output of a split node is the list of
// its shards' outputs, null for those without one.
func (s *Store) Outputs(ctx context.Context, runs []RunID, nodes []string) ([]NodeOutput, error) {
	return s.outputs(ctx, s.pool, runs, nodes)
}

// OutputsIn is Outputs as a transaction sees them.
func (s *Store) OutputsIn(ctx context.Context, tx pgx.Tx, run RunID, nodes []string) ([]NodeOutput, error) {
	runs := make([]RunID, len(nodes))
	for i := range runs {
		runs[i] = run
	}
	return s.outputs(ctx, tx, runs, nodes)
}

type queryer interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

func (s *Store) outputs(ctx context.Context, q queryer, runs []RunID, nodes []string) ([]NodeOutput, error) {
	rows, err := q.Query(ctx, moves["outputs"], ids(runs), nodes)
	if err != nil {
		return nil, fmt.Errorf("read outputs of %d nodes: %w", len(nodes), err)
	}
	outs, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (NodeOutput, error) {
		var o NodeOutput
		return o, row.Scan(&o.Run, &o.Node, &o.Output)
	})
	if err != nil {
		return nil, fmt.Errorf("read outputs of %d nodes: %w", len(nodes), err)
	}
	return outs, nil
}

// ShardOutputs reads the outputs of a split node's shards that have succeeded since it was split last, by shard.
func (s *Store) ShardOutputs(ctx context.Context, tx pgx.Tx, run RunID, node string, total int) ([]json.RawMessage, error) {
	out := make([]json.RawMessage, total)
	rows, err := tx.Query(ctx, `SELECT DISTINCT ON (shard) shard, CASE state WHEN 'succeeded' THEN output END FROM ax.node_runs
		WHERE run_id = $1 AND node = $2 AND shard BETWEEN 0 AND $3 AND generation >= (
			SELECT base FROM ax.expansions e WHERE e.run_id = $1 AND e.node = $2 ORDER BY e.generation DESC LIMIT 1)
		ORDER BY shard, generation DESC, attempt DESC`, run, node, total-1)
	if err != nil {
		return nil, fmt.Errorf("read the shards' outputs of %s: %w", node, err)
	}
	var shard int
	var output []byte
	if _, err := pgx.ForEachRow(rows, []any{&shard, &output}, func() error {
		out[shard] = slices.Clone(output)
		return nil
	}); err != nil {
		return nil, fmt.Errorf("read the shards' outputs of %s: %w", node, err)
	}
	return out, nil
}

// Items returns the list a generation of a node was split over, or nil when its shards are only numbered, and how many there are.
func (s *Store) Items(ctx context.Context, run RunID, node string, shardGeneration int) (e Expansion, err error) {
	err = s.pool.QueryRow(ctx, `SELECT run_id, node, generation, base, total, items FROM ax.expansions
		WHERE run_id = $1 AND node = $2 AND base <= $3 ORDER BY generation DESC LIMIT 1`, run, node, shardGeneration).
		Scan(&e.Run, &e.Node, &e.Generation, &e.Base, &e.Total, &e.Items)
	if err != nil {
		return e, fmt.Errorf("read the shards of %s: %w", node, err)
	}
	return e, nil
}

// ErrNotFound says that what was asked for does not exist.
var ErrNotFound = errors.New("not found")

// VersionSource is a stored version: the canonical definition and whose it is.
type VersionSource struct {
	Workflow, Namespace int64
	Code, NamespaceName string
	Number              int
	Definition          []byte
}

// VersionSource reads a version by its id. A version never changes, so it may be kept for ever.
func (s *Store) VersionSource(ctx context.Context, version int64) (VersionSource, error) {
	got, err := s.VersionSources(ctx, []int64{version})
	if err != nil {
		return VersionSource{}, err
	}
	source, ok := got[version]
	if !ok {
		return source, fmt.Errorf("version %d: %w", version, ErrNotFound)
	}
	return source, nil
}

// VersionSources reads those among some versions that exist, by their ids.
func (s *Store) VersionSources(ctx context.Context, versions []int64) (map[int64]VersionSource, error) {
	rows, err := s.pool.Query(ctx, `SELECT v.id, v.workflow_id, w.namespace_id, w.code, n.name, v.number, v.definition
		FROM ax.versions v JOIN ax.workflows w ON w.id = v.workflow_id JOIN ax.namespaces n ON n.id = w.namespace_id
		WHERE v.id = ANY ($1::bigint[])`, versions)
	if err != nil {
		return nil, fmt.Errorf("read %d versions: %w", len(versions), err)
	}
	got := make(map[int64]VersionSource, len(versions))
	var id int64
	var v VersionSource
	_, err = pgx.ForEachRow(rows, []any{&id, &v.Workflow, &v.Namespace, &v.Code, &v.NamespaceName, &v.Number, &v.Definition}, func() error {
		v.Definition = slices.Clone(v.Definition)
		got[id] = v
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read %d versions: %w", len(versions), err)
	}
	return got, nil
}

// Committed tells which jobs' results are in history: after a commit whose outcome is unknown, theirs was carried out.
func (s *Store) Committed(ctx context.Context, claims []Claim) (map[int64]bool, error) {
	rows, err := s.pool.Query(ctx, `SELECT n.job_id FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::int[], $5::int[], $6::int[])
			t (job_id, run_id, node, shard, generation, attempt)
		JOIN ax.node_runs n ON n.run_id = t.run_id AND n.node = t.node AND n.shard = t.shard AND n.generation = t.generation
			AND n.attempt = t.attempt AND n.job_id = t.job_id
			AND n.outcome NOT IN ('canceled', 'lost') -- others end attempts so`,
		append([]any{column(claims, func(c *Claim) int64 { return c.Job.ID })},
			attemptNumbers(claims, func(c *Claim) *Attempt { return &c.Attempt })...)...)
	return idSet(rows, err, "look for committed results")
}

// Queues returns the River names of a namespace's queues by their own names.
func (s *Store) Queues(ctx context.Context, namespace int64) (map[string]string, error) {
	rows, err := s.pool.Query(ctx, "SELECT name, id FROM ax.queues WHERE namespace_id = $1", namespace)
	if err != nil {
		return nil, fmt.Errorf("list queues: %w", err)
	}
	queues := make(map[string]string)
	var name string
	var id int64
	if _, err := pgx.ForEachRow(rows, []any{&name, &id}, func() error {
		queues[name] = fmt.Sprintf("q%d", id)
		return nil
	}); err != nil {
		return nil, fmt.Errorf("list queues: %w", err)
	}
	return queues, nil
}

// EnsureQueues makes the named queues of a namespace exist.
func (s *Store) EnsureQueues(ctx context.Context, namespace int64, names []string) error {
	_, err := s.pool.Exec(ctx, `INSERT INTO ax.queues (namespace_id, name) SELECT $1, unnest($2::text[]) ON CONFLICT DO NOTHING`, namespace, names)
	if err != nil {
		return fmt.Errorf("make queues: %w", err)
	}
	return nil
}

// Current tells which jobs are still running rows of the attempts that claim them.
func (s *Store) Current(ctx context.Context, claims []Claim) (map[int64]bool, error) {
	rows, err := s.pool.Query(ctx, `SELECT j.id FROM unnest($1::bigint[], $2::smallint[]) t (id, attempt)
		JOIN ax_river.river_job j ON j.id = t.id AND j.attempt = t.attempt AND j.state = 'running'`,
		column(claims, func(c *Claim) int64 { return c.Job.ID }), column(claims, func(c *Claim) int16 { return int16(c.Job.Attempt) }))
	return idSet(rows, err, "look for current attempts")
}

// idSet collects one column of ids.
func idSet(rows pgx.Rows, err error, what string) (map[int64]bool, error) {
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	set := make(map[int64]bool, len(got))
	for _, id := range got {
		set[id] = true
	}
	return set, nil
}

// Clean tells which of some runs the fast path may move.
func (s *Store) Clean(ctx context.Context, runs []RunID) (map[int64]bool, error) {
	rows, err := s.pool.Query(ctx, `SELECT r.id FROM ax.runs r WHERE r.id = ANY ($1::bigint[]) AND r.clean
		AND NOT EXISTS (SELECT FROM ax.run_intents i WHERE i.run_id = r.id)`, ids(runs))
	return idSet(rows, err, "look for clean runs")
}
