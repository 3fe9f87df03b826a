package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/ax-run/ax/internal/store/internal/db"
)

// LogMark is a place in the log of a node run: after Line lines of chunk Seq of an attempt.
type LogMark struct{ Attempt, Seq, Line int }

// MarkedLine is a line of a node run's log: the attempt it is of, and the place after it.
type MarkedLine struct {
	LogLine
	Attempt int
	Mark    LogMark
}

// logChunksAtOnce bounds what one query of a log brings. The first brings one row, which mostly is all that a page needs, the next twice as
// many, and so on.
const logChunksAtOnce = 64

// Logs reads at most limit lines of a node run's log, all its attempts one after another, from a place on. Of
// the attempt only its node run counts, not its number.
func (s *Store) Logs(ctx context.Context, of Attempt, from LogMark, limit int) ([]MarkedLine, error) {
	var lines []MarkedLine
	for at, most := from, 1; ; most = min(2*most, logChunksAtOnce) {
		rows, err := db.New(s.pool).LogChunks(ctx, db.LogChunksParams{
			RunID: int64(of.Run), Node: of.Node, Shard: int32(of.Shard), Generation: int32(of.Generation),
			Attempt: int32(at.Attempt), Seq: int32(at.Seq), Most: int32(most)})
		if err != nil {
			return nil, fmt.Errorf("read log of %s: %w", of.ExecutionID(), err)
		}
		for _, r := range rows {
			if lines, err = appendLines(lines, r, from); err != nil {
				return nil, fmt.Errorf("read log of %s: %w", of.ExecutionID(), err)
			}
			if len(lines) >= limit {
				return lines[:limit], nil
			}
		}
		if len(rows) < most {
			return lines, nil
		}
		last := rows[len(rows)-1]
		at = LogMark{Attempt: int(last.Attempt), Seq: int(last.Seq) + 1}
	}
}

// appendLines adds the lines of a chunk that come after a place.
func appendLines(lines []MarkedLine, chunk db.LogChunksRow, from LogMark) ([]MarkedLine, error) {
	var got []LogLine
	if err := json.Unmarshal(chunk.Lines, &got); err != nil {
		return nil, err
	}
	attempt, seq := int(chunk.Attempt), int(chunk.Seq)
	for i, line := range got {
		if attempt == from.Attempt && seq == from.Seq && i < from.Line {
			continue
		}
		lines = append(lines, MarkedLine{LogLine: line, Attempt: attempt, Mark: LogMark{attempt, seq, i + 1}})
	}
	return lines, nil
}
