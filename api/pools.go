package api

import (
	"context"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
	"github.com/ax-run/ax/planner"
)

// Pool protects something downstream: so many nodes at once, and so many starts in a time (S23).
type Pool struct {
	Pool       string     `json:"pool"`
	Slots      *int       `json:"slots,omitempty" doc:"How many there are; absent for no limit."`
	Rate       string     `json:"rate,omitempty" doc:"The most starts in a time, such as 10/s; absent for no limit." example:"10/s"`
	Burst      int        `json:"burst,omitempty" doc:"How many of them may come at once after a rest."`
	MaxWaiting *int       `json:"max_waiting,omitempty" doc:"How many nodes may wait; absent for no limit."`
	Used       int        `json:"used" doc:"The slots in use: the weights of those who hold some."`
	Stopping   int        `json:"stopping,omitempty" doc:"Those of them whose attempt has ended and whose body has not stopped yet."`
	Holding    int        `json:"holding" doc:"How many node runs hold slots."`
	Waiting    int        `json:"waiting" doc:"How many node runs wait."`
	NextAt     *time.Time `json:"next_at,omitempty" doc:"When the rate lets the next one start, if that is not past."`
	Paused     *Pause     `json:"paused,omitempty" doc:"Present while nobody is let in."`
	CreatedAt  time.Time  `json:"created_at"`
	UpdatedAt  time.Time  `json:"updated_at"`
}

// PoolDetail is one pool with those who hold its slots.
type PoolDetail struct {
	Pool
	Holders []PoolHolder `json:"holders" nullable:"false" doc:"The first hundred, the longest first."`
}

// PoolHolder is a node run that holds slots.
type PoolHolder struct {
	ID       string     `json:"id" doc:"The execution id."`
	Run      string     `json:"run"`
	Node     string     `json:"node"`
	Weight   int        `json:"weight"`
	Since    time.Time  `json:"since"`
	Stopping *time.Time `json:"stopping_until,omitempty" doc:"Its attempt has ended; the slots are free when its body has stopped, at this time at the latest."`
}

// PoolBody is what a pool is to be. What is left out has no limit.
type PoolBody struct {
	Slots      *int   `json:"slots,omitempty" minimum:"1" maximum:"1000000"`
	Rate       string `json:"rate,omitempty" doc:"A whole number and s, m, h or d." example:"10/s"`
	Burst      int    `json:"burst,omitempty" minimum:"1" maximum:"1000000" doc:"How many starts may come at once after a rest; 1 when left out."`
	MaxWaiting *int   `json:"max_waiting,omitempty" minimum:"0" maximum:"1000000" doc:"Beyond so many that wait, a node fails at once with pool_full."`
}

// OfPool is the path of one pool.
type OfPool struct {
	InNamespace
	Pool string `path:"pool" pattern:"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$" example:"erp"`
}

type listPoolsInput struct {
	InNamespace
	PageInput
}

type putPoolInput struct {
	OfPool
	Body PoolBody
}

type putPoolOutput struct {
	Status int
	Body   PoolDetail
}

type deletePoolInput struct {
	OfPool
	DryRun
	Plan string `query:"plan" maxLength:"100" doc:"The token of a plan: do exactly that, or answer 409 with what is different by now."`
}

type switchPoolInput struct {
	OfPool
	DryRun
	Body *SwitchBody
}

// SwitchBody says why something is paused or resumed.
type SwitchBody struct {
	ReasonBody
	PlanToken
}

type poolMark string

func (a *API) poolRoutes() {
	handle(a, op(http.MethodGet, ns+"/pools", "list-pools", "pools"), "List pools by name, with what they have in use", a.listPools)
	handle(a, op(http.MethodGet, ns+"/pools/{pool}", "get-pool", "pools"), "Show one pool, and who holds its slots", a.getPool)
	handle(a, op(http.MethodPut, ns+"/pools/{pool}", "put-pool", "pools"), "Make or replace a pool; those who hold slots keep them", a.putPool)
	handle(a, op(http.MethodDelete, ns+"/pools/{pool}", "delete-pool", "pools"), "Delete a pool that nobody uses", a.deletePool)
	handle(a, op(http.MethodPost, ns+"/pools/{pool}/pause", "pause-pool", "pools"), "Let nobody more into a pool", a.pausePool)
	handle(a, op(http.MethodPost, ns+"/pools/{pool}/resume", "resume-pool", "pools"), "Let nodes into a paused pool again", a.resumePool)
}

func (a *API) listPools(ctx context.Context, in *listPoolsInput) (*body[Page[Pool]], error) {
	after, err := readCursor(in.Cursor, poolMark(""))
	if err != nil {
		return nil, err
	}
	namespace, err := a.namespace(ctx, in.Namespace)
	if err != nil {
		return nil, err
	}
	rows, err := a.Store.Pools(ctx, namespace, string(after), in.Limit+1)
	if err != nil {
		return nil, err
	}
	now, err := a.Store.Now(ctx)
	if err != nil {
		return nil, err
	}
	return answerOf(paged(rows, in.Limit, func(p store.Pool) Pool { return poolView(&p, now) }, func(p store.Pool) poolMark { return poolMark(p.Name) }))
}

func (a *API) getPool(ctx context.Context, in *OfPool) (*body[PoolDetail], error) {
	return answerOf(a.poolDetail(ctx, *in))
}

// maxShownHolders is how many holders of a pool its page names.
const maxShownHolders = 100

func (a *API) poolDetail(ctx context.Context, in OfPool) (PoolDetail, error) {
	key, err := a.poolKey(ctx, in)
	if err != nil {
		return PoolDetail{}, err
	}
	row, err := a.Store.PoolNamed(ctx, key)
	if err != nil {
		return PoolDetail{}, err
	}
	now, err := a.Store.Now(ctx)
	if err != nil {
		return PoolDetail{}, err
	}
	holders, err := a.Store.PoolHolders(ctx, key, maxShownHolders)
	if err != nil {
		return PoolDetail{}, err
	}
	d := PoolDetail{Pool: poolView(&row, now), Holders: make([]PoolHolder, len(holders))}
	for i, h := range holders {
		d.Holders[i] = PoolHolder{ID: h.Attempt.ExecutionID(), Run: h.Attempt.Run.String(), Node: h.Attempt.Node, Weight: h.Weight, Since: utc(h.Since),
			Stopping: utcOr(h.StoppingUntil)}
	}
	return d, nil
}

func (a *API) poolKey(ctx context.Context, in OfPool) (store.PoolKey, error) {
	namespace, err := a.namespace(ctx, in.Namespace)
	return store.PoolKey{Namespace: namespace, Name: in.Pool}, err
}

func (a *API) putPool(ctx context.Context, in *putPoolInput) (*putPoolOutput, error) {
	spec, err := in.Body.spec()
	if err != nil {
		return nil, err
	}
	key, err := a.poolKey(ctx, in.OfPool)
	if err != nil {
		return nil, err
	}
	created, err := a.Store.SetPool(ctx, key, spec)
	if err != nil {
		return nil, err
	}
	out := &putPoolOutput{Status: http.StatusOK}
	if created {
		out.Status = http.StatusCreated
	}
	out.Body, err = a.poolDetail(ctx, in.OfPool)
	return out, err
}

// spec reads the body, and says all that is wrong with it.
func (b *PoolBody) spec() (store.PoolSpec, error) {
	spec := store.PoolSpec{Slots: b.Slots, MaxWaiting: b.MaxWaiting}
	if b.Rate == "" {
		if b.Burst > 0 {
			return spec, invalid("body.burst", "burst says how many starts of a rate may come at once: give a rate, or leave it out")
		}
		return spec, nil
	}
	rate, err := progress.ParseRate(b.Rate)
	if err != nil {
		return spec, invalid("body.rate", "%s", err)
	}
	rate.Burst = max(b.Burst, 1)
	spec.Rate = rate
	return spec, nil
}

func poolView(p *store.Pool, now time.Time) Pool {
	v := Pool{Pool: p.Name, Slots: p.Slots, Rate: p.Rate.String(), Burst: p.Rate.Burst, MaxWaiting: p.MaxWaiting, Used: p.Used, Stopping: p.Stopping,
		Holding: p.Holders, Waiting: p.Waiting, CreatedAt: utc(p.CreatedAt), UpdatedAt: utc(p.UpdatedAt)}
	if p.NextAt != nil && p.NextAt.After(now) {
		v.NextAt = utcOr(p.NextAt)
	}
	if p.PausedAt != nil {
		v.Paused = &Pause{At: utc(*p.PausedAt), By: p.PausedBy, Reason: p.PauseReason}
	}
	return v
}

// fitting refuses a version of a workflow that would take more of a pool than there is: its runs could never get through.
func (a *API) fitting(ctx context.Context, in InNamespace, version int64, location string) error {
	graph, err := a.graphs.of(ctx, version)
	if err != nil {
		return err
	}
	namespace, err := a.namespace(ctx, in.Namespace)
	if err != nil {
		return err
	}
	problems, err := a.poolProblems(ctx, namespace, graph.Definition())
	if err != nil || len(problems) == 0 {
		return err
	}
	refused := conflict("this version cannot run with the pools as they are")
	for _, p := range problems {
		refused.with(ProblemDetail{Location: location, Message: p.Path + ": " + p.Message, Value: short(p.Value), Code: p.Code, Hint: p.Hint})
	}
	return refused
}

// poolProblems says what is wrong with the pools that a definition names.
func (a *API) poolProblems(ctx context.Context, namespace int64, def *dag.Definition) (problems dag.Problems, err error) {
	err = a.Store.InTx(ctx, func(tx pgx.Tx) error {
		problems, err = planner.CheckPools(ctx, a.Store, tx, namespace, def)
		return err
	})
	return problems, err
}
