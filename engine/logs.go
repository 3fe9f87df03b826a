package engine

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/ax-run/ax/internal/store"
)

const (
	// logFlushBytes and logFlushEvery bound how much of a log waits in memory, and how long.
	logFlushBytes = 32 << 10
	logFlushEvery = 250 * time.Millisecond
	// maxLogLine and maxLogBytes bound one line and one attempt's log; what is beyond is cut and said to be.
	maxLogLine  = 16 << 10
	maxLogBytes = 16 << 20
)

// LogWriter captures an attempt's log, line by line (M15). It is safe for concurrent use.
type LogWriter struct {
	attempt store.Attempt
	write   func(ctx context.Context, chunk store.LogChunk) error

	// flushing is held while a chunk is stored, so that the last flush waits for one under way.
	flushing sync.Mutex

	mu      sync.Mutex
	lines   []store.LogLine
	bytes   int
	total   int
	seq     int
	flusher *time.Timer
}

// Print adds one line of a stream such as stdout, stderr or log.
func (w *LogWriter) Print(stream, line string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.total > maxLogBytes {
		return
	}
	line = cutLine(line)
	w.total += len(line)
	if w.total > maxLogBytes {
		line = fmt.Sprintf("(the log is cut here: an attempt may write %d MiB)", maxLogBytes>>20)
	}
	w.lines = append(w.lines, store.LogLine{Time: time.Now().UTC(), Stream: stream, Text: cleanText(line)})
	w.bytes += len(line)
	if w.flusher == nil {
		w.flusher = time.AfterFunc(logFlushEvery, w.flushSoon)
	}
	if w.bytes >= logFlushBytes {
		w.flusher.Reset(0)
	}
}

// cutLine keeps a line within its bound.
func cutLine(line string) string {
	if len(line) > maxLogLine {
		return line[:maxLogLine] + fmt.Sprintf(" … (%d bytes cut)", len(line)-maxLogLine)
	}
	return line
}

func (w *LogWriter) flushSoon() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := w.Flush(ctx); err != nil {
		slog.Warn("some lines of a log were not stored", slog.String("execution", w.attempt.ExecutionID()), slog.Any("error", err))
	}
}

// Flush stores what was printed so far.
func (w *LogWriter) Flush(ctx context.Context) error {
	w.flushing.Lock()
	defer w.flushing.Unlock()
	w.mu.Lock()
	lines := w.lines
	w.lines, w.bytes = nil, 0
	if w.flusher != nil {
		w.flusher.Stop()
		w.flusher = nil
	}
	w.seq++
	chunk := store.LogChunk{Attempt: w.attempt, Seq: w.seq, Lines: lines}
	w.mu.Unlock()
	if len(lines) == 0 {
		return nil
	}
	return w.write(ctx, chunk)
}

// Stream returns a writer that splits what a program writes into lines of one stream. Close adds the last line when it has no end.
func (w *LogWriter) Stream(name string) *LineWriter { return &LineWriter{log: w, stream: name} }

// LineWriter is one stream of a LogWriter.
type LineWriter struct {
	log    *LogWriter
	stream string
	rest   []byte
}

// Write implements io.Writer; it never fails.
func (l *LineWriter) Write(p []byte) (int, error) {
	n := len(p)
	for {
		line, after, found := bytes.Cut(p, []byte("\n"))
		if !found {
			break
		}
		l.log.Print(l.stream, string(bytes.TrimSuffix(append(l.rest, line...), []byte("\r"))))
		l.rest, p = nil, after
	}
	if l.rest = append(l.rest, p...); len(l.rest) > 2*maxLogLine {
		l.log.Print(l.stream, string(l.rest))
		l.rest = nil
	}
	return n, nil
}

// Close adds the last line.
func (l *LineWriter) Close() error {
	if len(l.rest) > 0 {
		l.log.Print(l.stream, string(l.rest))
		l.rest = nil
	}
	return nil
}
