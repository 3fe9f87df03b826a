package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// LogLine is one line of an attempt's log.
type LogLine struct {
	Time   time.Time `json:"t"`
	Stream string    `json:"s"`
	Text   string    `json:"m"`
}

// LogChunk is some consecutive lines of one attempt's log.
type LogChunk struct {
	Attempt Attempt
	Seq     int
	Lines   []LogLine
}

const (
	// maxRowBytes and maxRowLines bound one row of a log, so that reading a page of it reads little more than the page.
	maxRowBytes = 64 << 10
	maxRowLines = 1000
)

// Size is how many bytes the line takes where it is stored.
func (l *LogLine) Size() int {
	b, err := json.Marshal(l)
	if err != nil {
		return len(l.Text) // its time cannot be written, and neither can the line be stored
	}
	return len(b) + 1
}

// LogSize is how many bytes lines take where they are stored.
func LogSize(lines []LogLine) (size int) {
	for i := range lines {
		size += lines[i].Size()
	}
	return size
}

// LogRow is as many of the first lines as one row takes: one line at least, if there is any.
func LogRow(lines []LogLine) []LogLine {
	size := 0
	for i := range lines {
		if size += lines[i].Size(); i > 0 && (i == maxRowLines || size > maxRowBytes) {
			return lines[:i:i]
		}
	}
	return lines
}

// AppendLogs stores chunks of any attempts in one statement and tells those who follow them.
func (s *Store) AppendLogs(ctx context.Context, chunks []LogChunk) error {
	_, err := s.appendLogs(ctx, chunks)
	return err
}

// appendLogs returns how many chunks are new.
func (s *Store) appendLogs(ctx context.Context, chunks []LogChunk) (int64, error) {
	texts := make([]string, len(chunks))
	for i := range chunks {
		b, err := json.Marshal(chunks[i].Lines)
		if err != nil {
			return 0, fmt.Errorf("write log of %s: %w", chunks[i].Attempt.ExecutionID(), err)
		}
		texts[i] = string(b)
	}
	args := append(attemptNumbers(chunks, func(c *LogChunk) *Attempt { return &c.Attempt }),
		column(chunks, func(c *LogChunk) int32 { return int32(c.Seq) }), texts)
	tag, err := s.pool.Exec(ctx, `INSERT INTO ax.logs (run_id, node, shard, generation, attempt, seq, lines)
		SELECT run_id, node, shard, generation, attempt, seq, lines::json
		FROM unnest($1::bigint[], $2::text[], $3::int[], $4::int[], $5::int[], $6::int[], $7::text[])
			AS t (run_id, node, shard, generation, attempt, seq, lines)
		ON CONFLICT DO NOTHING`, args...)
	if err != nil {
		return 0, fmt.Errorf("store %d chunks of logs: %w", len(chunks), err)
	}
	return tag.RowsAffected(), nil
}
