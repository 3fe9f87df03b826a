package planner

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/internal/store"
)

// Registration is a definition to become a workflow's current version.
type Registration struct {
	Namespace string
	Graph     *dag.Graph
	// Actor is who registers it.
	Actor string
	// Paused registers a new workflow paused, as paused: true in its definition does. It changes nothing for one that exists.
	Paused bool
}

// Registered is what a registration came to.
type Registered struct {
	Workflow, VersionID int64
	Version             int
	// Created is false when the content was registered before: then that version is current again.
	Created bool
	Next    []Upcoming
	// Warnings are of what only a namespace tells, such as a workflow that a node runs and that is not there.
	Warnings dag.Problems
}

// Upcoming is a schedule and its next fires, in its zone; none when it is over.
type Upcoming struct {
	Schedule string
	Fires    []time.Time
}

// upcoming is how many fires a registration answers with (S5).
const upcoming = 5

// registration is one registration at work.
type registration struct {
	Registration
	store     *store.Store
	tx        pgx.Tx
	namespace int64
	workflow  store.Registering
	problems  dag.Problems
	calendars []store.Calendar
}

// Register stores a definition and makes it its workflow's current version, with its limits, queues and schedules, all or
// nothing. It never fires for the past (S10). An unknown namespace is store.ErrNotFound; a cron expression that is over, or a
// pool that does not exist, is dag.Problems.
func Register(ctx context.Context, s *store.Store, r Registration) (Registered, error) {
	var out Registered
	code := r.Graph.Definition().Workflow
	namespace, err := s.Namespace(ctx, r.Namespace)
	if err != nil {
		return out, fmt.Errorf("register workflow %q: %w", code, err)
	}
	err = s.InTx(ctx, func(tx pgx.Tx) error {
		out, err = (&registration{Registration: r, store: s, tx: tx, namespace: namespace}).run(ctx)
		return err
	})
	if err != nil {
		return Registered{}, fmt.Errorf("register workflow %q: %w", code, err)
	}
	return out, nil
}

func (r *registration) run(ctx context.Context) (Registered, error) {
	var err error
	if r.workflow, err = r.store.LockWorkflow(ctx, r.tx, r.namespace, r.Graph.Definition().Workflow); err != nil {
		return Registered{}, err
	}
	version, def, err := r.save(ctx)
	if err != nil {
		return Registered{}, err
	}
	out := Registered{Workflow: r.workflow.ID, VersionID: version.ID, Version: version.Number, Created: version.Created}
	if r.problems, err = CheckPools(ctx, r.store, r.tx, r.namespace, def); err != nil {
		return out, err
	}
	if out.Next, err = r.schedule(ctx, def); err != nil {
		return out, err
	}
	if err := r.wire(ctx, def); err != nil {
		return out, err
	}
	if out.Warnings, err = UnknownChildren(ctx, r.store, r.tx, r.Namespace, def); err != nil {
		return out, err
	}
	return out, r.setCurrent(ctx, version.ID, def)
}

// save stores the version. The definition it returns is the stored one: of content registered before, with the zone that
// was the default then (S6).
func (r *registration) save(ctx context.Context) (store.Version, *dag.Definition, error) {
	def := r.Graph.Definition()
	text, err := dag.EncodeDefinition(def)
	if err != nil {
		return store.Version{}, nil, err
	}
	digest := r.Graph.Digest()
	version, err := r.store.SaveVersion(ctx, r.tx, store.NewVersion{
		Workflow: r.workflow.ID, Digest: digest[:], Definition: text, Actor: r.Actor,
	})
	if err != nil || version.Created {
		return version, def, err
	}
	def, err = dag.DecodeDefinition(version.Definition)
	return version, def, err
}

// setCurrent locks the workflow's row, after its schedules, and then the pools it names.
func (r *registration) setCurrent(ctx context.Context, version int64, def *dag.Definition) error {
	if err := r.store.AddQueues(ctx, r.tx, r.namespace, queuesOf(def)); err != nil {
		return err
	}
	current := store.Current{Workflow: r.workflow.ID, Version: version}
	if c := def.Concurrency; c != nil && c.MaxRuns > 0 {
		current.MaxRuns, current.Overflow = new(int32(c.MaxRuns)), new(string(c.Overflow))
		if c.MaxQueued > 0 {
			current.MaxQueued = new(int32(c.MaxQueued))
		}
	}
	if def.Retention != nil {
		current.Keep = time.Duration(def.Retention.Runs)
	}
	if err := r.store.SetCurrent(ctx, r.tx, current); err != nil {
		return err
	}
	if err := r.store.StirQueued(ctx, r.tx, r.workflow.ID); err != nil {
		return err
	}
	if err := r.keepPools(ctx, def); err != nil {
		return err
	}
	if !r.workflow.New || !r.Paused && !def.Paused {
		return nil
	}
	return r.store.PauseNew(ctx, r.tx, r.workflow.ID, r.Actor)
}

func queuesOf(def *dag.Definition) []string {
	var names []string
	seen := map[string]bool{}
	for _, n := range def.Nodes {
		if n.Queue != "" && !seen[n.Queue] {
			seen[n.Queue] = true
			names = append(names, n.Queue)
		}
	}
	return names
}
