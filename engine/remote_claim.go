package engine

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/internal/service"
	"github.com/ax-run/ax/internal/store"
)

const (
	// claimBatch is how many attempts are taken for remote workers at once.
	claimBatch = 500
	// claimRest is the least time between two looks, so that a busy queue does not make the looks busy, and what falls due together travels together.
	claimRest = 10 * time.Millisecond
)

// remotes hands queued attempts to remote workers: to those that poll here, and to those that are pushed to.
//
// River knows nothing of them. An attempt is taken out of the queue and becomes a held row that reads as running, in one transaction under the
// locks of its run and of its worker's row, so that a worker never has more than its capacity whichever servers give to it. From then on
// nothing in this process remembers it: it ends by a result, by a cancel, at its deadline, or with its worker.
//
// One loop takes for all who would take the same kinds from the same queues at once: what falls due together travels together, and is spread
// by who has most room.
type remotes struct {
	engine *Engine
	config *RemoteConfig
	loop   *service.Loop
	ears   context.CancelFunc
	deaf   sync.WaitGroup
	// wanted means that the last look found somebody to give to.
	wanted atomic.Bool
	last   time.Time

	// giving is held while a round takes and delivers: a poll whose wait is over lets it end first, so that nothing is taken for one that has gone.
	giving  sync.Mutex
	mu      sync.Mutex
	waiting map[*receiver]bool

	// base is the context of pushes; it ends with the service.
	base    context.Context
	cancel  context.CancelFunc
	pushing sync.WaitGroup
}

// receiver is somebody who would take attempts: a poll that waits, or a worker that is pushed to.
type receiver struct {
	store.Receiver
	lane *store.RemoteLane
	// got takes what a poll is given, once; nil for one that is pushed to.
	got chan []store.Claimed
}

func newRemotes(e *Engine, config RemoteConfig) *remotes {
	r := &remotes{engine: e, config: config.withDefaults(), waiting: make(map[*receiver]bool)}
	r.base, r.cancel = context.WithCancel(context.Background())
	r.loop = service.NewLoop(service.LoopConfig{Name: "remotes", Logger: e.log, Round: e.patiently("remote workers", r.round)})
	return r
}

// Start implements service.Service.
func (r *remotes) Start(ctx context.Context) error {
	if err := r.loop.Start(ctx); err != nil {
		return err
	}
	ctx, r.ears = context.WithCancel(context.WithoutCancel(ctx))
	r.deaf.Go(func() {
		r.engine.store.Listen(ctx, []string{RiverSchema + ".river_insert", store.ChannelWorkers}, func(channel, _ string) {
			if channel == store.ChannelWorkers || r.wanted.Load() {
				r.loop.Wake()
			}
		})
	})
	return nil
}

// Stop gives nothing more. Requests that wait for their answer are given up: what they carried is run again.
func (r *remotes) Stop(ctx context.Context) error {
	if r.ears != nil {
		r.ears()
		r.deaf.Wait()
	}
	err := r.loop.Stop(ctx)
	r.cancel()
	r.pushing.Wait()
	return err
}

// round gives to everybody what there is.
func (r *remotes) round(ctx context.Context) (time.Duration, error) {
	if rest := claimRest - time.Since(r.last); rest > 0 {
		return rest, nil
	}
	r.last = time.Now()
	r.giving.Lock()
	defer r.giving.Unlock()
	groups, err := r.groups(ctx)
	if err != nil {
		return 0, err
	}
	r.wanted.Store(len(groups) > 0)
	next := r.engine.timings.Look
	for _, group := range groups {
		given, err := r.engine.claim(ctx, group)
		if err != nil {
			return 0, err
		}
		for _, member := range group {
			if claims := given[member.Incarnation]; len(claims) > 0 {
				r.deliver(member, claims)
				delete(given, member.Incarnation)
				next = 0
			}
		}
	}
	return next, nil
}

// groups are those who would take something now, by what they take.
func (r *remotes) groups(ctx context.Context) (map[string][]*receiver, error) {
	polls := make(map[string]*receiver) // one of each worker at a time
	r.mu.Lock()
	for m := range r.waiting {
		polls[m.Incarnation] = m
	}
	r.mu.Unlock()
	lanes, err := r.engine.store.RemoteLanes(ctx, slices.Collect(maps.Keys(polls)))
	if err != nil {
		return nil, err
	}
	groups := make(map[string][]*receiver)
	for _, lane := range lanes {
		m := &receiver{Receiver: store.Receiver{Incarnation: lane.Incarnation, Most: lane.Free}}
		if lane.Address == "" {
			m = polls[lane.Incarnation]
		}
		m.lane = &lane
		key := strings.Join(lane.Queues, ",") + "|" + strings.Join(lane.Kinds, ",")
		groups[key] = append(groups[key], m)
	}
	return groups, nil
}

// deliver hands a receiver what was taken for it. What a poll that has gone would have got is handed back.
func (r *remotes) deliver(m *receiver, claims []store.Claimed) {
	for _, c := range claims {
		r.engine.metrics.NodeRunStarted(time.Since(c.QueuedAt))
	}
	if m.got == nil {
		for _, c := range claims {
			r.pushing.Go(func() { r.push(m.lane, c) })
		}
		return
	}
	r.mu.Lock()
	waits := r.waiting[m]
	delete(r.waiting, m)
	r.mu.Unlock()
	if !waits {
		r.pushing.Go(func() { r.handBack(m.Incarnation, claims) })
		return
	}
	m.got <- claims
}

func (r *remotes) handBack(worker string, claims []store.Claimed) {
	for _, c := range claims {
		r.engine.report(r.base, &finished{claim: store.Claim{Attempt: c.Attempt}, outcome: handedBack(), worker: worker})
	}
}

// claim takes queued attempts for the members of a group and notes who has which, in one transaction.
func (e *Engine) claim(ctx context.Context, group []*receiver) (map[string][]store.Claimed, error) {
	var given map[string][]store.Claimed
	err := e.store.InTx(ctx, func(tx pgx.Tx) error {
		receivers := make([]store.Receiver, len(group))
		for i, m := range group {
			receivers[i] = m.Receiver
		}
		room, err := e.store.LockReceivers(ctx, tx, receivers)
		if err != nil || len(room) == 0 {
			return err
		}
		total := 0
		for _, n := range room {
			total += n
		}
		claims, err := e.store.Claim(ctx, tx, group[0].lane.Queues, group[0].lane.Kinds, min(total, claimBatch))
		if err != nil || len(claims) == 0 {
			return err
		}
		given = spread(claims, room)
		return e.store.HoldRemotes(ctx, tx, e.remotesOf(ctx, given))
	})
	if err != nil {
		return nil, fmt.Errorf("give to remote workers: %w", err)
	}
	return given, nil
}

// spread gives each attempt to the worker that has most room left.
func spread(claims []store.Claimed, room map[string]int) map[string][]store.Claimed {
	given := make(map[string][]store.Claimed)
	names := make([]string, 0, len(room))
	for name := range room {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, c := range claims {
		best := names[0]
		for _, name := range names[1:] {
			if room[name] > room[best] {
				best = name
			}
		}
		room[best]--
		given[best] = append(given[best], c)
	}
	return given
}

// remotesOf are the held rows of what was given. How long an attempt may take is in its version; where that cannot be read, the attempt fails
// when it is made ready, and a default serves until then.
func (e *Engine) remotesOf(ctx context.Context, given map[string][]store.Claimed) []store.Remote {
	var rows []store.Remote
	for worker, claims := range given {
		for _, c := range claims {
			limit := time.Hour
			if _, p, err := e.load(ctx, c.Attempt.Run); err != nil {
				e.log.Warn("the version of an attempt cannot be read", slog.String("execution", c.Attempt.ExecutionID()), slog.Any("error", err))
			} else if at, ok := p.graph.Index(c.Attempt.Node); ok {
				limit = time.Duration(p.graph.At(at).Node.Timeout)
			}
			rows = append(rows, store.Remote{Attempt: c.Attempt, Place: c.Place, Worker: worker, Incarnation: worker, QueuedAt: &c.QueuedAt, Deadline: limit, Holds: c.Holds})
		}
	}
	return rows
}
