package planner

import (
	"context"
	"fmt"
	"hash"
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/internal/store"
)

const (
	// walkStep is how many instants are read at a time.
	walkStep = 500
	// maxPreviewed is how many instants a preview lists.
	maxPreviewed = 1000
)

// BackfillPreview says what a backfill would do.
type BackfillPreview struct {
	// Fingerprint changes whenever the backfill would do anything else.
	Fingerprint string
	// Total is how many instants it is about, Counts what becomes of them.
	Total  int
	Counts map[Verdict]int
	// Reasons counts why nothing is made of those of VerdictNone.
	Reasons map[string]int
	// Slots are the first ones, in the backfill's order.
	Slots []PreviewSlot
}

// PreviewSlot is an instant and what would become of it.
type PreviewSlot struct {
	Schedule string
	// At is in the schedule's zone.
	At time.Time
	// Run is its newest run, 0 for none, and State that run's, or what the ledger says; "" where the instant is not in it.
	Run     store.RunID
	State   string
	Verdict Verdict
	// Why says why nothing is made; "" where something is.
	Why string
}

// PreviewBackfill says what StartBackfill would do, without doing it. It is refused in the same way.
func PreviewBackfill(ctx context.Context, s *store.Store, r Backfilling) (BackfillPreview, error) {
	var out BackfillPreview
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		p, err := planBackfill(ctx, s, tx, r, "")
		if err == nil {
			out, err = p.preview(ctx)
		}
		return err
	})
	return out, err
}

func (p *backfillPlan) preview(ctx context.Context) (BackfillPreview, error) {
	out := BackfillPreview{Total: p.b.Counts.Total, Counts: make(map[Verdict]int), Reasons: make(map[string]int)}
	print := fnv.New64a()
	for {
		slots := p.walk.next(walkStep)
		if len(slots) == 0 {
			break
		}
		some, err := weighAll(ctx, p.store, p.tx, p.b.Reprocess, slots)
		if err != nil {
			return out, err
		}
		for i := range some {
			out.add(&some[i], print)
		}
		p.walk.pass(slots)
	}
	out.Fingerprint = fmt.Sprintf("%d:%016x", p.now.UnixMicro(), print.Sum64())
	return out, nil
}

func (out *BackfillPreview) add(w *weighed, print hash.Hash) {
	fmt.Fprintf(print, "%d %d %s %d %s;", w.schedule, w.at.UnixMicro(), w.verdict, w.fact.Run, w.why) //nolint:errcheck // a hash takes everything
	out.Counts[w.verdict]++
	if w.verdict == VerdictNone {
		out.Reasons[w.why]++
	}
	if len(out.Slots) == maxPreviewed {
		return
	}
	s := PreviewSlot{Schedule: w.name, At: w.at, Run: w.fact.Run, Verdict: w.verdict, Why: w.why, State: string(w.fact.State)}
	if s.Run == 0 && w.fact.Result != "" && w.fact.Filled == 0 {
		s.State = string(w.fact.Result)
		if w.fact.Reason != "" && w.fact.Result == store.SkippedFire {
			s.State += " (" + w.fact.Reason + ")"
		}
	}
	out.Slots = append(out.Slots, s)
}

// seenAt is when the preview of a fingerprint was made.
func seenAt(fingerprint string) (time.Time, bool) {
	text, _, ok := strings.Cut(fingerprint, ":")
	us, err := strconv.ParseInt(text, 10, 64)
	return time.UnixMicro(us), ok && err == nil
}
