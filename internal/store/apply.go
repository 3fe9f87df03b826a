package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/dag/progress"
)

// Record is one row of history.
type Record struct {
	Attempt             Attempt
	State               progress.State
	Outcome             string
	Tolerated           bool
	JobID               int64
	Worker              string
	Actor, Reason       string
	Err                 *progress.Error
	Output              []byte
	QueuedAt, StartedAt *time.Time
	Holds               []byte
	// Note is what the body or a person said beside the reason.
	Note string
}

// Begin is an attempt to make due: in Mode job at once, in Mode worker held until a worker is live, in Mode due after Delay.
type Begin struct {
	Attempt Attempt
	Place   Place
	Mode    Mode
	Delay   time.Duration
	// Wait is how long the attempt may wait until it runs, from when it may be taken (S17).
	Wait time.Duration
	// Limit is how long a held row may stay where it may not stay for ever.
	Limit time.Duration
	// Detail is what the held row knows more, as JSON.
	Detail []byte
	// Demand are the pools that the node needs when it starts, "" for none.
	Demand Demand
}

// The modes of held rows beside ModeWorker: an attempt waits until its delay is over; a node waits until an instant, for a person, for a
// child run, for its run to be released, for its pools, or for its queue, which is paused.
const (
	ModeDue      Mode = "due"
	ModeWait     Mode = "wait"
	ModeApproval Mode = "approval"
	ModeChild    Mode = "child"
	ModeHold     Mode = "hold"
	ModePool     Mode = "pool"
	ModeQueue    Mode = "queue"
)

// Remote is an attempt that a worker has accepted and will report later: a held row that reads as running.
type Remote struct {
	Attempt             Attempt
	Place               Place
	Worker              string
	QueuedAt, StartedAt *time.Time
	// Deadline is how long from now the attempt may still take.
	Deadline time.Duration
	// Incarnation is the registered worker that has it, "" for one that is none.
	Incarnation string
	// Holds is what held it back before, as JSON; nil for nothing.
	Holds []byte
}

// RunChange is what a moved run is now. Reason "" leaves the reason as it is.
type RunChange struct {
	ID                  RunID
	State               progress.State
	Reason              string
	Warnings            int
	Canceling, TimedOut bool
	// CanceledBy and CancelReason are kept from the first cancel on.
	CanceledBy, CancelReason string
	Held                     bool
	// Idle means that the run only waits for a person or an instant, so that its clock stands.
	Idle bool
	// Reopened begins the run's next generation, with its Timeout anew.
	Reopened bool
	Timeout  time.Duration
}

// Changes is one general commit.
type Changes struct {
	Records []Record
	// Drops are nodes whose live row goes without a result; Grace is how long the bodies of those that run may hold their slots on.
	Drops  []Attempt
	Grace  time.Duration
	Begins []Begin
	// Remotes are attempts that run elsewhere from now on.
	Remotes []Remote
	Runs    []RunChange
	// Expansions are written as they are; one with Total 0 keeps the shards of the generation before.
	Expansions []Expansion
	// Resolved are rows that begin generations anew: the open dead letters of the nodes and all their shards are answered by that.
	Resolved []Record
	// Signals tell parents of children that ended.
	Signals []Signal
	// Intents are consumed.
	Intents []Intent
}

// Apply writes changes to runs that the caller has locked with LockRuns. It is the only place where the general path's
// rows are written.
func (s *Store) Apply(ctx context.Context, tx pgx.Tx, c Changes) error {
	b := &pgx.Batch{}
	if len(c.Drops) > 0 {
		b.Queue(moves["drop"], append(attemptKeys(c.Drops), c.Grace.Microseconds())...)
	}
	if len(c.Records) > 0 {
		b.Queue(moves["append"], recordArgs(c.Records)...)
	}
	if len(c.Begins) > 0 {
		b.Queue(moves["start"], beginArgs(c.Begins)...)
	}
	if len(c.Remotes) > 0 {
		b.Queue(moves["remote"], remoteArgs(c.Remotes)...)
	}
	if len(c.Runs) > 0 {
		b.Queue(moves["runs"], runArgs(c.Runs)...)
	}
	if len(c.Expansions) > 0 {
		b.Queue(moves["expand"], expansionArgs(c.Expansions)...)
	}
	if len(c.Resolved) > 0 {
		b.Queue(`UPDATE ax.dead_letters d SET resolved_at = now(), resolution = t.how, resolved_by = t.actor, note = t.note
			FROM unnest($1::bigint[], $2::text[], $3::int[], $4::text[], $5::text[], $6::text[]) AS t (run_id, node, shard, how, actor, note)
			WHERE d.run_id = t.run_id AND d.node = t.node AND t.shard IN (d.shard, -1) AND d.resolved_at IS NULL`, resolvedArgs(c.Resolved)...)
	}
	if len(c.Signals) > 0 {
		b.Queue(`WITH s AS (INSERT INTO ax.signals (parent, child_id) SELECT * FROM unnest($1::text[], $2::bigint[]) ON CONFLICT DO NOTHING)
			SELECT pg_notify('ax_intent', '')`,
			column(c.Signals, func(s *Signal) string { return s.Parent }), column(c.Signals, func(s *Signal) int64 { return int64(s.Child) }))
	}
	if len(c.Intents) > 0 {
		b.Queue("DELETE FROM ax.run_intents i USING unnest($1::bigint[], $2::text[]) AS t (run_id, kind) WHERE i.run_id = t.run_id AND i.kind = t.kind",
			column(c.Intents, func(i *Intent) int64 { return int64(i.Run) }), column(c.Intents, func(i *Intent) string { return string(i.Kind) }))
	}
	if b.Len() == 0 {
		return nil
	}
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return fmt.Errorf("apply changes of %d runs: %w", len(c.Runs), err)
	}
	return nil
}

// Signal tells the attempt Parent (as job arguments) that its child run has ended.
type Signal struct {
	Parent string
	Child  RunID
}

func expansionArgs(e []Expansion) []any {
	return []any{
		column(e, func(e *Expansion) int64 { return int64(e.Run) }),
		column(e, func(e *Expansion) string { return e.Node }),
		column(e, func(e *Expansion) int32 { return int32(e.Generation) }),
		column(e, func(e *Expansion) int32 { return int32(e.Total) }),
		column(e, func(e *Expansion) *string { return jsonText(e.Items) }),
	}
}

func resolvedArgs(r []Record) []any {
	return append(attemptNumbers(r, func(r *Record) *Attempt { return &r.Attempt })[:3],
		column(r, func(r *Record) string { return r.Reason }),
		column(r, func(r *Record) string { return r.Actor }),
		column(r, func(r *Record) *string { return orNull(r.Note) }))
}

func attemptKeys(a []Attempt) []any {
	return []any{
		column(a, func(k *Attempt) int64 { return int64(k.Run) }),
		column(a, func(k *Attempt) string { return k.Node }),
		column(a, func(k *Attempt) int32 { return int32(k.Shard) }),
	}
}

func recordArgs(r []Record) []any {
	failure := func(part func(*progress.Error) string) []*string {
		return column(r, func(r *Record) *string {
			if r.Err == nil {
				return nil
			}
			s := part(r.Err)
			return &s
		})
	}
	return append(attemptNumbers(r, func(r *Record) *Attempt { return &r.Attempt }),
		column(r, func(r *Record) string { return string(r.State) }),
		column(r, func(r *Record) string { return r.Outcome }),
		column(r, func(r *Record) bool { return r.Tolerated }),
		column(r, func(r *Record) *int64 { return orNull(r.JobID) }),
		column(r, func(r *Record) *string { return orNull(r.Worker) }),
		column(r, func(r *Record) string { return r.Actor }),
		column(r, func(r *Record) string { return r.Reason }),
		failure(func(e *progress.Error) string { return string(e.Class) }),
		failure(func(e *progress.Error) string { return e.Code }),
		failure(func(e *progress.Error) string { return e.Message }),
		column(r, func(r *Record) *string { return jsonText(r.Output) }),
		column(r, func(r *Record) *time.Time { return r.QueuedAt }),
		column(r, func(r *Record) *time.Time { return r.StartedAt }),
		column(r, func(r *Record) *string { return jsonText(r.Holds) }),
		column(r, func(r *Record) *string { return orNull(r.Note) }),
	)
}

// attemptNumbers are the five columns that name an attempt.
func attemptNumbers[T any](rows []T, of func(*T) *Attempt) []any {
	return []any{
		column(rows, func(t *T) int64 { return int64(of(t).Run) }),
		column(rows, func(t *T) string { return of(t).Node }),
		column(rows, func(t *T) int32 { return int32(of(t).Shard) }),
		column(rows, func(t *T) int32 { return int32(of(t).Generation) }),
		column(rows, func(t *T) int32 { return int32(of(t).Number) }),
	}
}

func beginArgs(b []Begin) []any {
	return append(attemptNumbers(b, func(b *Begin) *Attempt { return &b.Attempt }),
		column(b, func(b *Begin) string { return b.Place.Kind }),
		column(b, func(b *Begin) string { return b.Place.Queue }),
		column(b, func(b *Begin) int16 { return int16(b.Place.Priority) }),
		column(b, func(b *Begin) string { return string(b.Mode) }),
		column(b, func(b *Begin) int64 { return b.Delay.Microseconds() }),
		column(b, func(b *Begin) int64 { return b.Limit.Microseconds() }),
		column(b, func(b *Begin) *string { return jsonText(b.Detail) }),
		column(b, func(b *Begin) *string { return orNull(string(b.Demand)) }),
		column(b, func(b *Begin) int64 { return int64(b.Wait.Seconds()) }),
	)
}

func remoteArgs(r []Remote) []any {
	return append(attemptNumbers(r, func(r *Remote) *Attempt { return &r.Attempt }),
		column(r, func(r *Remote) string { return r.Place.Kind }),
		column(r, func(r *Remote) string { return r.Place.Queue }),
		column(r, func(r *Remote) int16 { return int16(r.Place.Priority) }),
		column(r, func(r *Remote) string { return r.Worker }),
		column(r, func(r *Remote) *time.Time { return r.QueuedAt }),
		column(r, func(r *Remote) *time.Time { return r.StartedAt }),
		column(r, func(r *Remote) int64 { return r.Deadline.Microseconds() }),
		column(r, func(r *Remote) *string { return orNull(r.Incarnation) }),
		column(r, func(r *Remote) *string { return jsonText(r.Holds) }),
	)
}

func runArgs(r []RunChange) []any {
	return []any{
		column(r, func(r *RunChange) int64 { return int64(r.ID) }),
		column(r, func(r *RunChange) string { return string(r.State) }),
		column(r, func(r *RunChange) *string { return orNull(r.Reason) }),
		column(r, func(r *RunChange) int32 { return int32(r.Warnings) }),
		column(r, func(r *RunChange) bool { return r.Canceling }),
		column(r, func(r *RunChange) bool { return r.TimedOut }),
		column(r, func(r *RunChange) *string { return orNull(r.CanceledBy) }),
		column(r, func(r *RunChange) *string { return orNull(r.CancelReason) }),
		column(r, func(r *RunChange) bool { return r.Held }),
		column(r, func(r *RunChange) bool { return r.Reopened }),
		column(r, func(r *RunChange) int64 { return r.Timeout.Microseconds() }),
		column(r, func(r *RunChange) bool { return r.Idle }),
	}
}

// orNull is SQL's null for a zero value.
func orNull[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
