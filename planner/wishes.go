package planner

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/internal/store"
)

// keyText is how a key is stored.
func keyText(k store.TermKey) string {
	if k.At.IsZero() {
		return k.Date
	}
	return k.At.UTC().Format(time.RFC3339Nano)
}

// concerns reports whether a completion may change what a term sees. The end of a run, and a slot without one, concern its nodes too.
func concerns(t store.Term, c store.Completion) bool {
	return t.Upstream == c.Workflow && (c.Node == "" || c.Node == t.Node)
}

// keyOf is the key under which a workflow's terms meet for a completion; false where all of them match the latest.
func keyOf(d *store.Downstream, c store.Completion) (store.TermKey, bool) {
	for _, t := range d.Terms {
		switch t.Match {
		case matchLatest:
		case matchTime:
			return store.TermKey{At: c.ScheduledAt}, true
		default:
			return store.TermKey{Date: c.LogicalDate}, true
		}
	}
	return store.TermKey{}, false
}

// wish gathers the sets of a workflow that a completion gives reason to look at.
func (u *upstream) wish(ctx context.Context, tx pgx.Tx, d *store.Downstream, c store.Completion) error {
	key, keyed := keyOf(d, c)
	for _, t := range d.Terms {
		if !concerns(t, c) {
			continue
		}
		var err error
		switch {
		case !keyed:
			u.add(&wish{down: d, text: latestKey, by: c})
		case t.Match == matchLatest:
			err = u.wishWaiting(ctx, tx, d, c)
		default:
			err = u.wishKey(ctx, tx, d, key, c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (u *upstream) add(w *wish) {
	k, by := wishKey{w.down.Workflow, w.text}, w.by
	if known := u.wishes[k]; known != nil {
		w = known
	}
	u.wishes[k] = w
	if n := len(w.come); n == 0 || w.come[n-1].ID != by.ID {
		w.come = append(w.come, by)
	}
}

// wishKey wishes for the set of a key; where a term takes each run of it, for a set for each run.
func (u *upstream) wishKey(ctx context.Context, tx pgx.Tx, d *store.Downstream, key store.TermKey, c store.Completion) error {
	i := slices.IndexFunc(d.Terms, func(t store.Term) bool { return t.Take == takeEach && t.Match != matchLatest })
	if i < 0 {
		u.add(&wish{down: d, key: key, text: keyText(key), by: c})
		return nil
	}
	runs, err := u.store.RunsOfKey(ctx, tx, d.Terms[i], key, maxEach)
	if err != nil {
		return err
	}
	for _, r := range runs {
		if concerns(d.Terms[i], c) && c.Run != r.Run && c.Run != 0 {
			continue // one run's end says nothing of the others
		}
		u.add(&wish{down: d, key: key, each: r.Run, text: keyText(key) + "#" + r.Run.String(), by: c})
	}
	if len(runs) == 0 {
		u.add(&wish{down: d, key: key, text: keyText(key), by: c})
	}
	return nil
}

// wishWaiting wishes for all sets that wait.
func (u *upstream) wishWaiting(ctx context.Context, tx pgx.Tx, d *store.Downstream, c store.Completion) error {
	sets, err := u.store.WaitingSets(ctx, tx, d.Workflow, maxEach)
	if err != nil {
		return err
	}
	for _, set := range sets {
		key, each, err := readKey(set.Key)
		if err != nil {
			return err
		}
		u.add(&wish{down: d, key: key, each: each, text: set.Key, by: c})
	}
	return nil
}

// readKey reads what keyText wrote, with the run that it may be about.
func readKey(text string) (key store.TermKey, each store.RunID, err error) {
	text, run, about := strings.Cut(text, "#")
	if about {
		if each, err = store.ParseRunID(run); err != nil {
			return key, each, err
		}
	}
	if len(text) == len(time.DateOnly) {
		return store.TermKey{Date: text}, each, nil
	}
	key.At, err = time.Parse(time.RFC3339Nano, text)
	return key, each, err
}
