package api

import (
	"context"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/internal/store"
)

// nodeFacts is what is stored of one node of a run, or of one of its shards.
type nodeFacts struct {
	shard   int
	history []store.NodeRecord // by generation and number
	live    *store.LiveNode
	// splits are the expansions of a split node, by generation; shards is what is stored of each shard it ever had.
	splits []store.Expansion
	shards map[int]*nodeFacts
	// above is what was last begun anew of the nodes before this one.
	above ancestor
}

// nodeFacts reads what is stored of some nodes.
func (a *API) nodeFacts(ctx context.Context, run store.RunID, g *dag.Graph, positions []int, outputs int) (map[string]*nodeFacts, error) {
	names := make([]string, len(positions))
	facts := make(map[string]*nodeFacts, len(positions))
	for i, p := range positions {
		names[i] = g.At(p).Name
		facts[names[i]] = &nodeFacts{shard: store.WholeNode}
	}
	if len(names) == 0 {
		return facts, nil
	}
	stored, err := a.Store.NodeFacts(ctx, run, names, outputs)
	if err != nil {
		return nil, err
	}
	for _, r := range stored.History {
		if f := facts[r.Attempt.Node].at(r.Attempt.Shard); f != nil {
			f.history = append(f.history, r)
		}
	}
	for i := range stored.Live {
		if f := facts[stored.Live[i].Attempt.Node].at(stored.Live[i].Attempt.Shard); f != nil {
			f.live = &stored.Live[i]
		}
	}
	for _, e := range stored.Splits {
		if f := facts[e.Node]; f != nil {
			f.splits = append(f.splits, e)
		}
	}
	above := newestAbove(g, stored.Begun)
	for i, p := range positions {
		facts[names[i]].above = above[p]
	}
	return facts, nil
}

// at is the place for the facts of one shard, or of the node itself; nil stays nil.
func (f *nodeFacts) at(shard int) *nodeFacts {
	if f == nil || shard == store.WholeNode {
		return f
	}
	if f.shards == nil {
		f.shards = make(map[int]*nodeFacts)
	}
	if f.shards[shard] == nil {
		f.shards[shard] = &nodeFacts{shard: shard}
	}
	return f.shards[shard]
}

// generation is the newest there is anything of; 0 for none.
func (f *nodeFacts) generation() int {
	newest := 0
	if n := len(f.history); n > 0 {
		newest = f.history[n-1].Attempt.Generation
	}
	if f.live != nil {
		newest = max(newest, f.live.Attempt.Generation)
	}
	if n := len(f.splits); n > 0 {
		newest = max(newest, f.splits[n-1].Generation)
	}
	return newest
}

// of keeps what belongs to one generation; 0 is the newest there is.
func (f *nodeFacts) of(generation int) nodeFacts {
	if generation == 0 {
		generation = max(f.generation(), 1)
	}
	only := f.between(generation, generation)
	if generation == f.generation() {
		only.above = f.above
	}
	for _, e := range f.splits {
		if e.Generation == generation {
			only.splits = []store.Expansion{e}
			only.shards = f.shards
		}
	}
	return only
}

// between keeps what belongs to some generations, of attempts only.
func (f *nodeFacts) between(first, last int) nodeFacts {
	only := nodeFacts{shard: f.shard}
	for _, r := range f.history {
		if g := r.Attempt.Generation; first <= g && g <= last {
			only.history = append(only.history, r)
		}
	}
	if f.live != nil && first <= f.live.Attempt.Generation && f.live.Attempt.Generation <= last {
		only.live = f.live
	}
	return only
}

func (f *nodeFacts) newest() nodeFacts { return f.of(0) }

func (f *nodeFacts) empty() bool { return len(f.history) == 0 && f.live == nil && len(f.splits) == 0 }

// started counts the attempts of the newest generation in history that began to run.
func (f *nodeFacts) started() int {
	count := 0
	for _, r := range f.history {
		if r.StartedAt != nil && r.Attempt.Generation == f.generation() {
			count++
		}
	}
	return count
}
