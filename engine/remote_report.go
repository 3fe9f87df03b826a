package engine

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/ax-run/ax/internal/store"
)

// The kinds of what may come of an attempt, as refusals name them.
const (
	cameResult    = "result"
	cameHeartbeat = "heartbeat"
	cameLogs      = "logs"
)

// ReportRemote ends an attempt that runs elsewhere. ErrStale says that it is not current, or is another's: the report is refused and recorded (S18). The
// same report of the same attempt may come again, because its first answer was lost, and is accepted again.
func (e *Engine) ReportRemote(ctx context.Context, p Proof, a store.Attempt, r Report) error {
	worker, holder, err := e.holder(ctx, p, a)
	if err != nil {
		return e.refuseReport(ctx, worker, a, r, err)
	}
	if err := e.appendRemote(ctx, a, textLines(r.Log)); err != nil {
		return err
	}
	f := &finished{claim: store.Claim{Attempt: a}, outcome: r.outcome(cleanText).checked(), took: holder.Ran, worker: holder.Incarnation}
	if f.worker == "" {
		f.worker = holder.Worker
	}
	err = e.completer.finish(ctx, f).err
	if e.remotes != nil && e.remotes.wanted.Load() {
		e.remotes.loop.Wake() // its worker has room again
	}
	return e.refuseReport(ctx, worker, a, r, err)
}

// refuseReport records what was refused, and tells a report that was refused from one that came again.
func (e *Engine) refuseReport(ctx context.Context, worker string, a store.Attempt, r Report, err error) error {
	if !errors.Is(err, ErrStale) {
		return err
	}
	if outcome, by, lookErr := e.store.Ended(ctx, a); lookErr == nil && outcome == r.Status && (worker == "" || worker == by) {
		return nil
	}
	return e.refuseRemote(ctx, store.Refusal{Attempt: a, Kind: cameResult, Worker: worker, Said: r.Status})
}

// holder proves who reports an attempt, and finds who has it. It is ErrStale when that is somebody else, or nobody.
func (e *Engine) holder(ctx context.Context, p Proof, a store.Attempt) (worker string, h store.Holder, err error) {
	if worker, err = e.proveAttempt(ctx, p, a); err != nil {
		return worker, h, err
	}
	h, err = e.store.HolderOf(ctx, a)
	if errors.Is(err, store.ErrNotFound) || err == nil && worker != "" && worker != h.Incarnation {
		err = ErrStale
	}
	return worker, h, err
}

// refuseRemote records a refusal and says ErrStale.
func (e *Engine) refuseRemote(ctx context.Context, r store.Refusal) error {
	e.log.Info("a late report was refused", slog.String("kind", r.Kind), slog.String("execution", r.Attempt.ExecutionID()), slog.Int("attempt", r.Attempt.Number),
		slog.String("worker", r.Worker))
	r.Said = cleanText(r.Said)
	if err := e.store.Refuse(ctx, r); err != nil {
		return err
	}
	return ErrStale
}

// HeartbeatRemote notes that an attempt makes progress, as JSON, nil for none said, and returns its deadline. It keeps an attempt alive that no
// registered worker has: once it has beaten, it must go on.
func (e *Engine) HeartbeatRemote(ctx context.Context, p Proof, a store.Attempt, progress []byte) (deadline time.Time, err error) {
	worker, _, err := e.holder(ctx, p, a)
	if err == nil {
		var h store.Holder
		if h, err = e.store.Extend(ctx, a, progress, e.timings.lease()); err == nil {
			return h.Deadline, nil
		}
	}
	if errors.Is(err, ErrStale) || errors.Is(err, store.ErrNotFound) {
		err = e.refuseRemote(ctx, store.Refusal{Attempt: a, Kind: cameHeartbeat, Worker: worker})
	}
	return deadline, err
}

// LogRemote adds lines to the log of an attempt that runs elsewhere.
func (e *Engine) LogRemote(ctx context.Context, p Proof, a store.Attempt, lines []store.LogLine) error {
	worker, _, err := e.holder(ctx, p, a)
	if errors.Is(err, ErrStale) {
		return e.refuseRemote(ctx, store.Refusal{Attempt: a, Kind: cameLogs, Worker: worker})
	}
	if err != nil {
		return err
	}
	return e.appendRemote(ctx, a, lines)
}

// appendRemote stores lines within the bounds of a log.
func (e *Engine) appendRemote(ctx context.Context, a store.Attempt, lines []store.LogLine) error {
	if len(lines) == 0 {
		return nil
	}
	kept := make([]store.LogLine, len(lines))
	for i, l := range lines {
		if l.Time.IsZero() {
			l.Time = time.Now().UTC()
		}
		if l.Stream == "" {
			l.Stream = "log"
		}
		l.Text, l.Stream = cleanText(cutLine(l.Text)), cleanText(l.Stream)
		kept[i] = l
	}
	return e.store.AppendRemoteLog(ctx, a, kept)
}

// textLines are the lines of a text.
func textLines(text string) []store.LogLine {
	var lines []store.LogLine
	for line := range strings.Lines(text) {
		lines = append(lines, store.LogLine{Text: strings.TrimRight(line, "\r\n")})
	}
	return lines
}
