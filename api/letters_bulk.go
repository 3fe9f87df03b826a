package api

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
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
	IDs    []string      `json:"ids,omitempty" nullable:"false" minItems:"1" maxItems:"500"`
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
	if strings.TrimSpace(in.Body.Reason) == "" {
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
			if err == nil && in.Body.IDs != nil && done.Done == 0 {
				// Somebody else was faster: then it is as if they had been answered before the call.
				if _, err := a.choose(ctx, in.Namespace, &in.Body); err != nil {
					return LettersDone{}, err
				}
			}
			done.More = c.more
			return done, err
		},
	})
}

func (a *API) dismiss(ctx context.Context, in *lettersInput, c chosen) (LettersDone, error) {
	ids := make([]store.Attempt, len(c.letters))
	for i, l := range c.letters {
		ids[i] = l.Attempt
	}
	open, err := a.Store.Dismiss(ctx, ids, actor(ctx), in.Body.Reason)
	if err != nil {
		return LettersDone{}, err
	}
	failures := make(map[string]string)
	for _, id := range ids {
		if !slices.ContainsFunc(open, func(o store.Attempt) bool { return o.ExecutionID() == id.ExecutionID() }) {
			failures[id.ExecutionID()] = notOpen(id)
		}
	}
	return results(c.letters, "dismissed", failures), nil
}

// rerunLetters runs the nodes again, run by run. Of a split node all the shards that failed run again.
func (a *API) rerunLetters(ctx context.Context, in *lettersInput, c chosen) (LettersDone, error) {
	byRun := make(map[store.RunID]*rerunWish)
	for _, l := range c.letters {
		w := byRun[l.Attempt.Run]
		if w == nil {
			w = &rerunWish{api: a, failures: make(map[string]string)}
			byRun[l.Attempt.Run] = w
		}
		w.add(l.Attempt)
	}
	var together sync.WaitGroup
	slots := make(chan struct{}, lettersAtOnce)
	for run, w := range byRun {
		slots <- struct{}{}
		together.Go(func() {
			defer func() { <-slots }()
			act := engine.Act{Actor: actor(ctx), Note: in.Body.Reason}
			w.do(ctx, run, act, engine.Rerun{Scope: progress.ScopeNode, Letters: w.whole})
			w.do(ctx, run, act, engine.Rerun{Scope: progress.ScopeFailedShards, Letters: w.shards})
		})
	}
	together.Wait()
	failures := make(map[string]string)
	for _, w := range byRun {
		maps.Copy(failures, w.failures)
	}
	return results(c.letters, "rerun", failures), nil
}

// rerunWish is the dead letters of one run that are to be answered by running their nodes again: those of whole nodes and those of shards.
type rerunWish struct {
	api           *API
	whole, shards []store.Attempt
	// failures say why letters were not answered, by their ids.
	failures map[string]string
}

func (w *rerunWish) add(a store.Attempt) {
	if a.Shard != store.WholeNode {
		w.shards = append(w.shards, a)
		return
	}
	w.whole = append(w.whole, a)
}

// do reruns the nodes of the letters that are open. What somebody else has answered meanwhile is left out; each turn leaves some out.
func (w *rerunWish) do(ctx context.Context, run store.RunID, act engine.Act, rerun engine.Rerun) {
	for len(rerun.Letters) > 0 {
		rerun.Nodes = nodesOf(rerun.Letters)
		act.Rerun = &rerun
		err := w.api.Operator.Do(ctx, run, act)
		if err == nil {
			return
		}
		closed := rerun.Letters
		var answered *engine.AnsweredError
		if errors.As(err, &answered) {
			closed = answered.Letters
		}
		for _, l := range closed {
			w.failures[l.ExecutionID()] = notOpen(l)
			if answered == nil {
				w.failures[l.ExecutionID()] = w.api.problemOf(ctx, err).Detail
			}
		}
		rerun.Letters = slices.DeleteFunc(slices.Clone(rerun.Letters), func(l store.Attempt) bool { return slices.Contains(closed, l) })
	}
}

func notOpen(letter store.Attempt) string {
	return (&engine.AnsweredError{Letters: []store.Attempt{letter}}).Error()
}

func nodesOf(letters []store.Attempt) (nodes []string) {
	for _, l := range letters {
		if !slices.Contains(nodes, l.Node) {
			nodes = append(nodes, l.Node)
		}
	}
	return nodes
}

func results(letters []store.Letter, good string, failures map[string]string) LettersDone {
	d := LettersDone{Items: make([]LetterResult, len(letters))}
	for i, l := range letters {
		r := LetterResult{ID: l.Attempt.ExecutionID(), Run: l.Attempt.Run.String(), Result: good}
		if why := failures[r.ID]; why != "" {
			r.Result, r.Error = "failed", why
			d.Failed++
		} else {
			d.Done++
		}
		d.Items[i] = r
	}
	return d
}
