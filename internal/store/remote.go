package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// RemoteHeld is an attempt that a remote worker has.
type RemoteHeld struct {
	Attempt   Attempt
	StartedAt time.Time
}

// Beaten is what a heartbeat found: what the worker has, and when it was heard of before.
type Beaten struct {
	Held []RemoteHeld
	// Before is the beat before this one, Now the database's clock.
	Before, Now time.Time
	// Drained means that somebody told the worker to take nothing new.
	Drained bool
}

// BeatRemote renews a remote worker's lease and finds the queues that it takes from anew; one that is lost gets ErrWorkerLost.
func (s *Store) BeatRemote(ctx context.Context, incarnation string) (b Beaten, err error) {
	batch := &pgx.Batch{}
	found := false
	batch.Queue(`WITH old AS (SELECT incarnation, beat_at, queues FROM ax.workers WHERE incarnation = $1 FOR NO KEY UPDATE), beaten AS (
			UPDATE ax.workers w SET beat_at = now(), failed_probes = 0, queues = ax.queues_of(w) FROM old
			WHERE w.incarnation = old.incarnation AND NOT ax.worker_lost(w.beat_at, w.lease, w.address)
			RETURNING old.beat_at AS before, w.drained_at IS NOT NULL AS drained, old.queues <> w.queues OR old.beat_at + w.suspect_after < now() OR old.beat_at = w.started_at AS told)
		SELECT before, drained, now(), CASE WHEN told THEN pg_notify('ax_workers', '')::text END FROM beaten`, incarnation).Query(func(rows pgx.Rows) error {
		var told *string
		_, err := pgx.ForEachRow(rows, []any{&b.Before, &b.Drained, &b.Now, &told}, func() error { found = true; return nil })
		return err
	})
	batch.Queue("SELECT run_id, node, shard, generation, attempt, started_at FROM ax.held WHERE incarnation = $1", incarnation).
		Query(collect(&b.Held, func(h *RemoteHeld) []any {
			return []any{&h.Attempt.Run, &h.Attempt.Node, &h.Attempt.Shard, &h.Attempt.Generation, &h.Attempt.Number, &h.StartedAt}
		}))
	err = s.pool.SendBatch(ctx, batch).Close()
	if err == nil && !found {
		err = ErrWorkerLost
	}
	if err != nil {
		return b, fmt.Errorf("renew lease of worker %q: %w", incarnation, err)
	}
	return b, nil
}

// Holder is who runs an attempt elsewhere: Incarnation is "" for one that is not registered.
type Holder struct {
	Worker, Incarnation string
	Deadline            time.Time
	// Ran is for how long it has run.
	Ran time.Duration
}

// HolderOf reads who has an attempt, or returns ErrNotFound when it is not current or does not run elsewhere.
func (s *Store) HolderOf(ctx context.Context, a Attempt) (h Holder, err error) {
	err = s.pool.QueryRow(ctx, `SELECT worker, COALESCE(incarnation, ''), deadline_at, now() - started_at FROM ax.held
		WHERE run_id = $1 AND node = $2 AND shard = $3 AND generation = $4 AND attempt = $5 AND kind = 'remote'`,
		a.Run, a.Node, a.Shard, a.Generation, a.Number).Scan(&h.Worker, &h.Incarnation, &h.Deadline, &h.Ran)
	return h, found(err, "attempt %d of %s", a.Number, a.ExecutionID())
}

// Extend notes that an attempt which runs elsewhere makes progress, as JSON, nil for none said. One that no registered worker has is kept
// alive by this for a lease from now on. It returns ErrNotFound when the attempt is not current.
func (s *Store) Extend(ctx context.Context, a Attempt, progress []byte, lease time.Duration) (h Holder, err error) {
	err = s.pool.QueryRow(ctx, `UPDATE ax.held SET lease_until = CASE WHEN incarnation IS NULL THEN now() + $6::interval END,
			detail = CASE WHEN $7::text IS NULL THEN detail ELSE COALESCE(detail, '{}') || jsonb_build_object('progress', $7::jsonb) END
		WHERE run_id = $1 AND node = $2 AND shard = $3 AND generation = $4 AND attempt = $5 AND kind = 'remote'
		RETURNING worker, COALESCE(incarnation, ''), deadline_at`,
		a.Run, a.Node, a.Shard, a.Generation, a.Number, lease, jsonText(progress)).Scan(&h.Worker, &h.Incarnation, &h.Deadline)
	return h, found(err, "attempt %d of %s", a.Number, a.ExecutionID())
}

// ProbeDue takes up the workers with an address that are silent for so long that they may be lost, and were not probed for a while.
func (s *Store) ProbeDue(ctx context.Context, every time.Duration, limit int) ([]RemoteLane, error) {
	rows, err := s.pool.Query(ctx, `UPDATE ax.workers SET probed_at = now() WHERE incarnation IN (
			SELECT incarnation FROM ax.workers WHERE address IS NOT NULL AND beat_at > '-infinity' AND beat_at + lease < now()
				AND (probed_at IS NULL OR probed_at < beat_at OR probed_at + $1::interval < now()) ORDER BY incarnation LIMIT $2 FOR NO KEY UPDATE SKIP LOCKED)
		RETURNING incarnation, address, namespace_id`, every, limit)
	if err != nil {
		return nil, fmt.Errorf("list workers to probe: %w", err)
	}
	var due []RemoteLane
	if err := collect(&due, func(w *RemoteLane) []any { return []any{&w.Incarnation, &w.Address, &w.Namespace} })(rows); err != nil {
		return nil, fmt.Errorf("list workers to probe: %w", err)
	}
	return due, nil
}

// Probed notes how a probe went, unless the worker was heard of meanwhile; it is lost when most probes in a row have failed.
func (s *Store) Probed(ctx context.Context, incarnation string, reached bool, most int) error {
	_, err := s.pool.Exec(ctx, `UPDATE ax.workers SET failed_probes = CASE WHEN $2 THEN 0 ELSE failed_probes + 1 END,
			beat_at = CASE WHEN NOT $2 AND failed_probes + 1 >= $3 THEN '-infinity' ELSE beat_at END
		WHERE incarnation = $1 AND beat_at + lease < now()`, incarnation, reached, most)
	if err != nil {
		return fmt.Errorf("note the probe of worker %q: %w", incarnation, err)
	}
	return nil
}

// LeaveWorker makes a worker take nothing more: it is forgotten when its last attempt has ended. With lost set that is at once, for they end
// as lost; the reaper does both.
func (s *Store) LeaveWorker(ctx context.Context, incarnation string, lost bool) error {
	return s.shift(ctx, "worker "+incarnation, `WITH told AS (SELECT pg_notify('ax_workers', '')) UPDATE ax.workers
		SET leaving = true, beat_at = CASE WHEN $2 THEN '-infinity' ELSE beat_at END FROM told WHERE incarnation = $1`, incarnation, lost)
}

// SigningSecrets reads what a namespace signs with, the current one first.
func (s *Store) SigningSecrets(ctx context.Context, namespace int64) ([][]byte, error) {
	var now, old []byte
	err := s.pool.QueryRow(ctx, "SELECT signing_secret, signing_secret_old FROM ax.namespaces WHERE id = $1", namespace).Scan(&now, &old)
	if err := found(err, "namespace %d", namespace); err != nil {
		return nil, err
	}
	if old == nil {
		return [][]byte{now}, nil
	}
	return [][]byte{now, old}, nil
}

const (
	// maxRemoteRows and maxRemoteBytes bound the log of an attempt that others write to, in rows and in bytes as they are stored.
	maxRemoteRows  = 10_000
	maxRemoteBytes = 16 << 20
)

// AppendRemoteLog stores lines that came from elsewhere, behind what the attempt has written so far. What does not fit any more is dropped,
// and the log's last line says so.
func (s *Store) AppendRemoteLog(ctx context.Context, a Attempt, lines []LogLine) error {
	for try := 0; len(lines) > 0; {
		row := LogRow(lines)
		chunk, full, err := s.nextRemoteRow(ctx, a)
		switch {
		case err != nil || full:
			return err
		case chunk.Lines == nil:
			chunk.Lines = row
		default:
			row = lines // all of it is dropped
		}
		stored, err := s.appendLogs(ctx, []LogChunk{chunk})
		switch {
		case err != nil:
			return err
		case stored == 1:
			lines, try = lines[len(row):], 0
		case try == maxLogTries:
			return errLogBusy
		default:
			try++
		}
	}
	return nil
}

// nextRemoteRow is where an attempt's log goes on. Where it has just become full, the row says that; later nothing is added at all.
func (s *Store) nextRemoteRow(ctx context.Context, a Attempt) (next LogChunk, full bool, err error) {
	var bytes int64
	err = s.pool.QueryRow(ctx, `SELECT COALESCE(max(seq), 0) + 1, COALESCE(sum(pg_column_size(lines)), 0),
			COALESCE(bool_or(seq > $6), false) FROM ax.logs
		WHERE run_id = $1 AND node = $2 AND shard = $3 AND generation = $4 AND attempt = $5`,
		a.Run, a.Node, a.Shard, a.Generation, a.Number, maxRemoteRows).Scan(&next.Seq, &bytes, &full)
	if err != nil {
		return next, false, fmt.Errorf("find the end of a log: %w", err)
	}
	next.Attempt = a
	if !full && (next.Seq > maxRemoteRows || bytes > maxRemoteBytes) {
		next.Seq = maxRemoteRows + 1
		next.Lines = []LogLine{{Time: time.Now().UTC(), Stream: "log", Text: fmt.Sprintf(
			"(the log is cut here: an attempt may write %d MiB; what came later was dropped)", maxRemoteBytes>>20)}}
	}
	return next, full, nil
}

// maxLogTries bounds how often one tries to be the next in a log that others write to at the same time.
const maxLogTries = 20

var errLogBusy = errors.New("too many write to the log of one attempt at once")
