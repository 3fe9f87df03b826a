package store

import (
	"context"
	"fmt"
	"time"
)

// FlowSource is a workflow's current version, for a forecast.
type FlowSource struct {
	Workflow   int64
	Definition []byte
	Paused     bool
}

// FlowSources reads the current versions of a namespace's workflows, at most limit, by code.
func (s *Store) FlowSources(ctx context.Context, namespace int64, limit int) (flows []FlowSource, err error) {
	rows, err := s.pool.Query(ctx, `SELECT w.id, v.definition, w.paused_at IS NOT NULL FROM ax.workflows w JOIN ax.versions v ON v.id = w.version_id
		WHERE w.namespace_id = $1 ORDER BY w.code LIMIT $2`, namespace, limit)
	if err == nil {
		err = collect(&flows, func(f *FlowSource) []any { return []any{&f.Workflow, &f.Definition, &f.Paused} })(rows)
	}
	if err != nil {
		return nil, fmt.Errorf("read workflows to foretell: %w", err)
	}
	return flows, nil
}

// FlowSchedule is a schedule that will fire.
type FlowSchedule struct {
	Workflow int64
	ScheduleRow
}

// FlowSchedules reads the schedules of a namespace that are due before an instant.
func (s *Store) FlowSchedules(ctx context.Context, namespace int64, before time.Time) (all []FlowSchedule, err error) {
	rows, err := s.pool.Query(ctx, `SELECT s.workflow_id, s.id, s.name, s.spec, s.anchor, s.next_fire_at, s.created_at
		FROM ax.schedules s JOIN ax.workflows w ON w.id = s.workflow_id
		WHERE w.namespace_id = $1 AND w.paused_at IS NULL AND s.next_fire_at < $2 ORDER BY s.workflow_id, s.id`, namespace, before)
	if err == nil {
		err = collect(&all, func(f *FlowSchedule) []any {
			return []any{&f.Workflow, &f.ID, &f.Name, &f.Spec, &f.Anchor, &f.NextFireAt, &f.CreatedAt}
		})(rows)
	}
	if err != nil {
		return nil, fmt.Errorf("read schedules to foretell: %w", err)
	}
	return all, nil
}

// FlowDelayed is a run asked for in advance.
type FlowDelayed struct {
	Workflow           int64
	RunAt, ScheduledAt time.Time
	LogicalDate        string
}

// FlowsDelayed reads the runs asked for in advance that are due before an instant, at most limit, the earliest first.
func (s *Store) FlowsDelayed(ctx context.Context, namespace int64, before time.Time, limit int) (all []FlowDelayed, err error) {
	rows, err := s.pool.Query(ctx, `SELECT workflow_id, run_at, scheduled_at, logical_date::text FROM ax.delayed_runs
		WHERE namespace_id = $1 AND due_at < $2 ORDER BY due_at, id LIMIT $3`, namespace, before, limit)
	if err == nil {
		err = collect(&all, func(f *FlowDelayed) []any { return []any{&f.Workflow, &f.RunAt, &f.ScheduledAt, &f.LogicalDate} })(rows)
	}
	if err != nil {
		return nil, fmt.Errorf("read delayed runs to foretell: %w", err)
	}
	return all, nil
}

// QueueCapacity is how many nodes of a queue its live workers run at once.
type QueueCapacity struct {
	Name string
	// Capacity counts a worker's capacity for its queues in equal parts; 0 where no worker serves it.
	Capacity int
	Paused   bool
}

// QueueCapacities reads what a namespace's queues can take.
func (s *Store) QueueCapacities(ctx context.Context, namespace int64) (all []QueueCapacity, err error) {
	rows, err := s.pool.Query(ctx, `SELECT q.name, q.paused_at IS NOT NULL, COALESCE((SELECT sum(ceil(w.capacity::numeric / cardinality(w.queues)))
			FROM ax.workers w WHERE w.beat_at + w.lease >= now() AND NOT w.stopping AND 'q' || q.id = ANY (w.queues)), 0)::bigint
		FROM ax.queues q WHERE q.namespace_id = $1 ORDER BY q.name`, namespace)
	if err == nil {
		err = collect(&all, func(q *QueueCapacity) []any { return []any{&q.Name, &q.Paused, &q.Capacity} })(rows)
	}
	if err != nil {
		return nil, fmt.Errorf("read what queues can take: %w", err)
	}
	return all, nil
}

// NodePast is how long a node took when it succeeded.
type NodePast struct {
	Workflow int64
	Node     string
	// Sharded is of its shards, of which there were Copies in a run.
	Sharded bool
	Copies  int
	// Took are at most two hundred of its times.
	Took []time.Duration
}

// NodePasts reads how long nodes took in the last runs of each of a namespace's workflows, runs at most.
func (s *Store) NodePasts(ctx context.Context, namespace int64, runs int) (all []NodePast, err error) {
	rows, err := s.pool.Query(ctx, `SELECT w.id, n.node, n.shard >= 0, (count(*) / count(DISTINCT n.run_id))::int,
			(array_agg(GREATEST(extract(epoch FROM n.finished_at - n.started_at) * 1000000, 0)::bigint))[1:200]
		FROM ax.workflows w
		CROSS JOIN LATERAL (SELECT r.id FROM ax.runs r WHERE r.workflow_id = w.id AND r.finished_at IS NOT NULL ORDER BY r.id DESC LIMIT $2) r
		JOIN ax.node_runs n ON n.run_id = r.id
		WHERE w.namespace_id = $1 AND n.outcome = 'succeeded' AND n.started_at IS NOT NULL
		GROUP BY w.id, n.node, n.shard >= 0`, namespace, runs)
	if err != nil {
		return nil, fmt.Errorf("read how long nodes took: %w", err)
	}
	for rows.Next() {
		var p NodePast
		var us []int64
		if err := rows.Scan(&p.Workflow, &p.Node, &p.Sharded, &p.Copies, &us); err != nil {
			rows.Close()
			return nil, fmt.Errorf("read how long nodes took: %w", err)
		}
		for _, t := range us {
			p.Took = append(p.Took, time.Duration(t)*time.Microsecond)
		}
		all = append(all, p)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read how long nodes took: %w", err)
	}
	return all, nil
}
