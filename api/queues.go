package api

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/ax-run/ax/engine"
	"github.com/ax-run/ax/internal/store"
)

// Queue is where nodes wait for workers.
type Queue struct {
	Queue      string    `json:"queue"`
	MaxWaiting *int      `json:"max_waiting,omitempty" doc:"How many nodes may wait; absent for no limit."`
	Queued     int       `json:"queued" doc:"The node runs that a worker may take."`
	Running    int       `json:"running" doc:"The node runs that a worker has."`
	Waiting    int       `json:"waiting" doc:"The node runs that are held back: no worker takes them, or the queue is paused. Who waits for a pool is not among them."`
	Workers    int       `json:"workers" doc:"The live worker processes that take from it."`
	Paused     *Pause    `json:"paused,omitempty" doc:"Present while nothing of it starts."`
	CreatedAt  time.Time `json:"created_at"`
}

// QueueBody is what a queue is to be.
type QueueBody struct {
	MaxWaiting *int `json:"max_waiting,omitempty" minimum:"0" maximum:"1000000" doc:"Beyond so many that wait, the newest node fails with queue_full; no limit when left out."`
}

// OfQueue is the path of one queue.
type OfQueue struct {
	InNamespace
	Queue string `path:"queue" pattern:"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$" example:"default"`
}

type listQueuesInput struct {
	InNamespace
	PageInput
}

type putQueueInput struct {
	OfQueue
	Body QueueBody
}

type switchQueueInput struct {
	OfQueue
	DryRun
	Body *SwitchBody
}

type queueMark string

func (a *API) queueRoutes() {
	handle(a, op(http.MethodGet, ns+"/queues", "list-queues", "queues"), "List queues by name, with what is in them", a.listQueues)
	handle(a, op(http.MethodGet, ns+"/queues/{queue}", "get-queue", "queues"), "Show one queue", a.getQueue)
	handle(a, op(http.MethodPut, ns+"/queues/{queue}", "put-queue", "queues"), "Bound how many may wait in a queue; one that does not exist is made", a.putQueue)
	handle(a, op(http.MethodPost, ns+"/queues/{queue}/pause", "pause-queue", "queues"),
		"Pause a queue: what runs goes on, what is queued is held", a.pauseQueue)
	handle(a, op(http.MethodPost, ns+"/queues/{queue}/resume", "resume-queue", "queues"), "Let a paused queue go on", a.resumeQueue)
}

func (a *API) listQueues(ctx context.Context, in *listQueuesInput) (*body[Page[Queue]], error) {
	after, err := readCursor(in.Cursor, queueMark(""))
	if err != nil {
		return nil, err
	}
	namespace, err := a.namespace(ctx, in.Namespace)
	if err != nil {
		return nil, err
	}
	rows, err := a.Store.QueueRows(ctx, namespace, string(after), in.Limit+1)
	if err != nil {
		return nil, err
	}
	return answerOf(paged(rows, in.Limit, queueView, func(q store.Queue) queueMark { return queueMark(q.Name) }))
}

func (a *API) getQueue(ctx context.Context, in *OfQueue) (*body[Queue], error) {
	return answerOf(a.queue(ctx, *in))
}

func (a *API) queue(ctx context.Context, in OfQueue) (Queue, error) {
	namespace, err := a.namespace(ctx, in.Namespace)
	if err != nil {
		return Queue{}, err
	}
	row, err := a.Store.Queue(ctx, namespace, in.Queue)
	return queueView(row), err
}

func (a *API) putQueue(ctx context.Context, in *putQueueInput) (*body[Queue], error) {
	namespace, err := a.namespace(ctx, in.Namespace)
	if err != nil {
		return nil, err
	}
	if err := a.Store.SetQueue(ctx, namespace, in.Queue, in.Body.MaxWaiting); err != nil {
		return nil, err
	}
	return answerOf(a.queue(ctx, in.OfQueue))
}

func (a *API) pauseQueue(ctx context.Context, in *switchQueueInput) (*body[Answer[Queue]], error) {
	return a.switchQueue(ctx, in, "pause", func(namespace int64) error {
		return a.Store.PauseQueue(ctx, namespace, in.Queue, actor(ctx), in.Body.reason())
	})
}

func (a *API) resumeQueue(ctx context.Context, in *switchQueueInput) (*body[Answer[Queue]], error) {
	return a.switchQueue(ctx, in, "resume", func(namespace int64) error { return a.Store.ResumeQueue(ctx, namespace, in.Queue) })
}

// switchQueue pauses or resumes a queue, or plans it.
func (a *API) switchQueue(ctx context.Context, in *switchQueueInput, act string, do func(namespace int64) error) (*body[Answer[Queue]], error) {
	fingerprint := func(q Queue) string { return fmt.Sprintf("%t", q.Paused != nil) }
	return perform(ctx, a, planned[Queue]{
		order: order{in.InNamespace, in.DryRun, in.Body.token()}, act: []string{act, "queue", in.Queue},
		plan: func(ctx context.Context) (Plan, string, error) {
			q, err := a.queue(ctx, in.OfQueue)
			plan := Plan{Title: act + " queue " + in.Queue, Warnings: []string{
				fmt.Sprintf("%d node runs are queued in it, %d run and %d are held back", q.Queued, q.Running, q.Waiting)}}
			return plan, fingerprint(q), err
		},
		do: func(ctx context.Context, expect string) (Queue, error) {
			q, err := a.queue(ctx, in.OfQueue)
			switch {
			case err != nil:
				return q, err
			case expect != "" && expect != fingerprint(q):
				return q, engine.ErrChanged
			}
			namespace, err := a.namespace(ctx, in.Namespace)
			if err != nil {
				return q, err
			}
			if err := do(namespace); err != nil {
				return q, err
			}
			return a.queue(ctx, in.OfQueue)
		},
	})
}

func queueView(q store.Queue) Queue {
	v := Queue{Queue: q.Name, MaxWaiting: q.MaxWaiting, Queued: q.Queued, Running: q.Running, Waiting: q.Waiting, Workers: q.Workers, CreatedAt: utc(q.CreatedAt)}
	if q.PausedAt != nil {
		v.Paused = &Pause{At: utc(*q.PausedAt), By: q.PausedBy, Reason: q.PauseReason}
	}
	return v
}
