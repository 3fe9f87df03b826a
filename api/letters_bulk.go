package api

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"sync"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/engine"
	"github.com/ax-run/ax/internal/store"
)

const (
	// maxLetters is how many dead letters one call takes up.
	maxLetters = 500
	// lettersAtOnce is how many runs are seen to at once.
	lettersAtOnce = 8
)

// LettersBody chooses dead letters, by their ids or by a filter.
type LettersBody struct {
	IDs    []string      `json:"ids,omitempty" nullable:"false" maxItems:"500"`
	Filter *LetterFilter `json:"filter,omitempty" doc:"All open ones that fit, the newest 500 at a time."`
	Reason string        `json:"reason,omitempty" maxLength:"1000" doc:"Why, for the record. A dismissal needs one."`
	PlanToken
}

type lettersInput struct {
	InNamespace
	DryRun
	Body LettersBody
}

// LettersDone is what became of some dead letters.
type LettersDone struct {
	Items  []LetterResult `json:"items" nullable:"false"`
	Done   int            `json:"done"`
	Failed int            `json:"failed"`
	More   bool           `json:"more,omitempty" doc:"The filter fits more than one call takes up: call again."`
}

// LetterResult is what became of one.
type LetterResult struct {
	ID     string `json:"id"`
	Run    string `json:"run"`
	Result string `json:"result" enum:"rerun,dismissed,failed"`
	Error  string `json:"error,omitempty" doc:"Why nothing was done."`
}

// chosen are the dead letters that a request is about.
type chosen struct {
	letters []store.Letter
	more    bool
}

func (a *API) choose(ctx context.Context, namespace string, b *LettersBody) (chosen, error) {
	var c chosen
	if (b.IDs == nil) == (b.Filter == nil) {
		return c, invalid("body", "say either ids or a filter")
	}
	filter := b.Filter
	if filter == nil {
		filter = &LetterFilter{}
	}
	q, err := a.letterQuery(ctx, namespace, filter)
	if err != nil {
		return c, err
	}
	for i, text := range b.IDs {
		id, err := store.ParseExecutionID(text)
		if err != nil {
			return c, invalid(fmt.Sprintf("body.ids[%d]", i), "%s", err)
		}
		q.IDs = append(q.IDs, id)
	}
	q.Limit = maxLetters + 1
	if c.letters, err = a.Store.Letters(ctx, q); err != nil {
		return c, err
	}
	if c.more = len(c.letters) > maxLetters; c.more {
		c.letters = c.letters[:maxLetters]
	}
	return c, c.complete(b.IDs)
}

// complete wants every id to be that of an open dead letter.
func (c *chosen) complete(ids []string) error {
	for i, id := range ids {
		if !slices.ContainsFunc(c.letters, func(l store.Letter) bool { return l.Attempt.ExecutionID() == id }) {
			return conflict("there is no open dead letter %.200s", id).
				with(ProblemDetail{Location: fmt.Sprintf("body.ids[%d]", i), Message: "this is no open dead letter", Value: short(id)})
		}
	}
	return nil
}

// plan says what would be done, and the fingerprint of what was chosen.
func (c *chosen) plan(verb string) (Plan, string) {
	p := Plan{Title: fmt.Sprintf("%s %d dead letters", verb, len(c.letters))}
	h := fnv.New64a()
	for _, l := range c.letters {
		id := l.Attempt.ExecutionID()
		fmt.Fprintln(h, id)
		p.Items = append(p.Items, PlanItem{Run: l.Attempt.Run.String(), Node: l.Attempt.Node, ID: id, State: string(progress.Failed), Action: verb})
	}
	if c.more {
		p.Warnings = append(p.Warnings, fmt.Sprintf("there are more: one call takes up the newest %d", maxLetters))
	}
	return p, fmt.Sprintf("%016x", h.Sum64())
}

func (a *API) replayLetters(ctx context.Context, in *lettersInput) (*body[Answer[LettersDone]], error) {
	return a.onLetters(ctx, in, "rerun", a.rerunLetters)
}

func (a *API) dismissLetters(ctx context.Context, in *lettersInput) (*body[Answer[LettersDone]], error) {
	if in.Body.Reason == "" {
		return nil, invalid("body.reason", "say why they are dismissed")
	}
	return a.onLetters(ctx, in, "dismiss", a.dismiss)
}

// onLetters does something with the chosen letters, or plans it.
func (a *API) onLetters(ctx context.Context, in *lettersInput, verb string, do func(context.Context, *lettersInput, chosen) (LettersDone, error)) (*body[Answer[LettersDone]], error) {
	act := []any{verb, in.Body.IDs, in.Body.Filter}
	return perform(ctx, a, planned[LettersDone]{
		order: order{in.InNamespace, in.DryRun, in.Body.PlanToken}, act: act,
		plan: func(ctx context.Context) (Plan, string, error) {
			c, err := a.choose(ctx, in.Namespace, &in.Body)
			if err != nil {
				return Plan{}, "", err
			}
			plan, fingerprint := c.plan(verb)
			return plan, fingerprint, nil
		},
		do: func(ctx context.Context, expect string) (LettersDone, error) {
			c, err := a.choose(ctx, in.Namespace, &in.Body)
			if err != nil {
				return LettersDone{}, err
			}
			if _, now := c.plan(verb); expect != "" && expect != now {
				return LettersDone{}, engine.ErrChanged
			}
			done, err := do(ctx, in, c)
			done.More = c.more
			return done, err
		},
	})
}

func (a *API) dismiss(ctx context.Context, in *lettersInput, c chosen) (LettersDone, error) {
	namespace, err := a.namespace(ctx, in.Namespace)
	if err != nil {
		return LettersDone{}, err
	}
	ids := make([]store.Attempt, len(c.letters))
	for i, l := range c.letters {
		ids[i] = l.Attempt
	}
	if _, err := a.Store.Dismiss(ctx, namespace, ids, actor(ctx), in.Body.Reason); err != nil {
		return LettersDone{}, err
	}
	return results(c.letters, "dismissed", nil), nil
}

// rerunLetters runs the nodes again, run by run. Of a split node all the shards that failed run again.
func (a *API) rerunLetters(ctx context.Context, in *lettersInput, c chosen) (LettersDone, error) {
	byRun := make(map[store.RunID]*rerunWish)
	for _, l := range c.letters {
		w := byRun[l.Attempt.Run]
		if w == nil {
			w = &rerunWish{}
			byRun[l.Attempt.Run] = w
		}
		w.add(l.Attempt)
	}
	var mu sync.Mutex
	failures := make(map[store.RunID]string)
	var together sync.WaitGroup
	slots := make(chan struct{}, lettersAtOnce)
	for run, w := range byRun {
		slots <- struct{}{}
		together.Go(func() {
			defer func() { <-slots }()
			if err := w.do(ctx, a.Operator, run, engine.Act{Actor: actor(ctx), Note: in.Body.Reason}); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failures[run] = a.problemOf(ctx, err).Detail
			}
		})
	}
	together.Wait()
	return results(c.letters, "rerun", failures), nil
}

// rerunWish is what is to run again of one run.
type rerunWish struct{ nodes, split []string }

func (w *rerunWish) add(a store.Attempt) {
	list := &w.nodes
	if a.Shard != store.WholeNode {
		list = &w.split
	}
	if !slices.Contains(*list, a.Node) {
		*list = append(*list, a.Node)
	}
}

func (w *rerunWish) do(ctx context.Context, o Operator, run store.RunID, act engine.Act) error {
	for _, r := range []engine.Rerun{{Scope: progress.ScopeNode, Nodes: w.nodes}, {Scope: progress.ScopeFailedShards, Nodes: w.split}} {
		if len(r.Nodes) == 0 {
			continue
		}
		act.Rerun = &r
		if err := o.Do(ctx, run, act); err != nil {
			return err
		}
	}
	return nil
}

func results(letters []store.Letter, good string, failures map[store.RunID]string) LettersDone {
	d := LettersDone{Items: make([]LetterResult, len(letters))}
	for i, l := range letters {
		r := LetterResult{ID: l.Attempt.ExecutionID(), Run: l.Attempt.Run.String(), Result: good}
		if why := failures[l.Attempt.Run]; why != "" {
			r.Result, r.Error = "failed", why
			d.Failed++
		} else {
			d.Done++
		}
		d.Items[i] = r
	}
	return d
}
