package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/ax-run/ax/internal/store"
)

const (
	// logFlushBytes and logFlushEvery bound how much of a log waits in memory before it is stored, and how long. At logFullBytes the body
	// waits until there is room again: one that writes faster than the database takes it slows down, and nobody else.
	logFlushBytes = 32 << 10
	logFullBytes  = 256 << 10
	logFlushEvery = 250 * time.Millisecond
	// maxLogLine bounds one line, maxLogBytes and maxLogLines one attempt's log, in bytes as they are stored. What is beyond is dropped, and
	// how much that was is the log's last line.
	maxLogLine  = 16 << 10
	maxLogBytes = 16 << 20
	maxLogLines = 100_000
)

// LogWriter captures an attempt's log, line by line (M15). It is safe for concurrent use.
type LogWriter struct {
	attempt store.Attempt
	write   func(ctx context.Context, chunk store.LogChunk) error

	// flushing is held while lines are stored, so that they are stored in order, and the last flush waits for one under way.
	flushing sync.Mutex

	mu sync.Mutex
	// lines are those to be stored, bytes is their size, and room is told when there are fewer.
	lines []store.LogLine
	bytes int
	room  *sync.Cond
	// kept and total are how many lines there are, and their bytes; from when on it is cut, no more are kept. dropped are those that were
	// not, and those that could not be stored.
	kept, total int
	cut         bool
	dropped     struct{ lines, bytes int }
	// over means that the attempt has ended: nobody waits for room any more.
	over bool
	seq  int
	// flusher flushes soon, and at once when it is urgent.
	flusher *time.Timer
	urgent  bool
}

// Print adds one line of a stream such as stdout, stderr or log. It waits while more of the log is to be stored than is kept in memory.
func (w *LogWriter) Print(stream, line string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cut || !w.fits(stream, line) {
		w.drop(1, len(line))
		return
	}
	for w.bytes >= logFullBytes && !w.over {
		w.space().Wait()
	}
}

// fits adds a line if the log has room for it; called with mu.
func (w *LogWriter) fits(stream, line string) bool {
	l := store.LogLine{Time: time.Now().UTC(), Stream: stream, Text: cleanText(cutLine(line))}
	size := l.Size()
	if w.kept++; w.kept > maxLogLines || w.total+size > maxLogBytes {
		return false
	}
	w.total += size
	w.add(l)
	return true
}

// drop counts what is not kept, and says at the first of it that the log is cut.
func (w *LogWriter) drop(lines, bytes int) {
	if !w.cut {
		w.cut = true
		w.add(store.LogLine{Time: time.Now().UTC(), Stream: "log", Text: fmt.Sprintf(
			"(the log is cut here: an attempt may write %d lines and %d MiB; its end says how much was dropped)", maxLogLines, maxLogBytes>>20)})
	}
	w.dropped.lines += lines
	w.dropped.bytes += bytes
}

// add hands a line to the next flush.
func (w *LogWriter) add(l store.LogLine) {
	w.lines = append(w.lines, l)
	w.bytes += l.Size()
	if w.flusher == nil {
		w.flusher = time.AfterFunc(logFlushEvery, w.flushSoon)
	}
	if w.bytes >= logFlushBytes && !w.urgent {
		w.urgent = true
		w.flusher.Reset(0)
	}
}

// space is where those wait who print more than there is room for; called with mu.
func (w *LogWriter) space() *sync.Cond {
	if w.room == nil {
		w.room = sync.NewCond(&w.mu)
	}
	return w.room
}

// cutLine keeps a line within its bound.
func cutLine(line string) string {
	if len(line) > maxLogLine {
		return line[:maxLogLine] + fmt.Sprintf(" … (%d bytes cut)", len(line)-maxLogLine)
	}
	return line
}

func (w *LogWriter) flushSoon() {
	// Whoever stores it gives up only when the engine stops.
	if err := w.Flush(context.Background()); err != nil {
		slog.Warn("some lines of a log were not stored", slog.String("execution", w.attempt.ExecutionID()), slog.Any("error", err))
	}
}

// Flush stores what was printed so far, row by row, so that others who store their logs come in between. Lines that could not be stored
// are dropped.
func (w *LogWriter) Flush(ctx context.Context) error {
	w.flushing.Lock()
	defer w.flushing.Unlock()
	var failed error
	for {
		chunk := w.next()
		if len(chunk.Lines) == 0 {
			return failed
		}
		err := w.write(ctx, chunk)
		w.stored(chunk.Lines, err)
		failed = errors.Join(failed, err)
	}
}

// Close ends the log of an attempt that is over: it says how much was dropped, and stores the rest. What a body prints that goes on all
// the same is stored too, but nobody waits for it.
func (w *LogWriter) Close(ctx context.Context) error {
	w.mu.Lock()
	if w.dropped.lines > 0 && !w.over {
		w.add(store.LogLine{Time: time.Now().UTC(), Stream: "log", Text: fmt.Sprintf(
			"(%d lines with %d bytes of this log were dropped)", w.dropped.lines, w.dropped.bytes)})
	}
	w.over = true
	w.space().Broadcast()
	w.mu.Unlock()
	return w.Flush(ctx)
}

// next takes the lines of one row.
func (w *LogWriter) next() store.LogChunk {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.flusher != nil {
		w.flusher.Stop()
		w.flusher = nil
	}
	w.urgent = false
	row := store.LogRow(w.lines)
	w.lines = w.lines[len(row):]
	w.seq++
	return store.LogChunk{Attempt: w.attempt, Seq: w.seq, Lines: row}
}

// stored makes room for as many lines.
func (w *LogWriter) stored(lines []store.LogLine, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range lines {
		w.bytes -= lines[i].Size()
	}
	if err != nil {
		w.dropped.lines += len(lines)
		w.dropped.bytes += store.LogSize(lines)
	}
	w.space().Broadcast()
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
