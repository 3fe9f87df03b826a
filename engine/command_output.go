package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

const (
	// saidLines and saidBytes bound what of stderr becomes the reason of a failure.
	saidLines = 5
	saidBytes = 2 << 10
)

// output is the outcome of a program that succeeded: what it wrote to its output file, else the last line of its stdout if that is
// a JSON object or array, else null.
func output(space *workspace, c *capture) Outcome {
	b, err := space.written()
	if err != nil {
		return Outcome{Err: invalidOutput("the file AX_OUTPUT: " + err.Error())}
	}
	if len(b) > 0 {
		return Outcome{Output: b}
	}
	line := &c.last.last
	b = bytes.TrimSpace(line.kept)
	if len(b) == 0 || b[0] != '{' && b[0] != '[' {
		return Outcome{}
	}
	if cut := line.size - len(line.kept); cut > 0 && (line.end == '}' || line.end == ']') {
		return Outcome{Err: invalidOutput(fmt.Sprintf("the last line of stdout has %d bytes, at most %d are kept", line.size, maxOutput))}
	}
	if !json.Valid(b) {
		return Outcome{}
	}
	return Outcome{Output: b}
}

// capture takes in what a program writes: all of it into the log, of stdout also the last line, of stderr also the end.
type capture struct {
	stdout, stderr io.Writer
	last           lastLine
	end            ending
	streams        []io.Closer
}

func newCapture(log *LogWriter) *capture {
	c := &capture{}
	out, err := log.Stream("stdout"), log.Stream("stderr")
	c.stdout, c.stderr = io.MultiWriter(out, &c.last), io.MultiWriter(err, &c.end)
	c.streams = []io.Closer{out, err}
	return c
}

// close ends the last lines.
func (c *capture) close() (failed []error) {
	c.last.finish()
	for _, s := range c.streams {
		if err := s.Close(); err != nil {
			failed = append(failed, err)
		}
	}
	return failed
}

// complaint is the last lines of stderr.
func (c *capture) complaint() string {
	lines := strings.Split(strings.TrimSpace(string(c.end.kept())), "\n")
	return strings.Join(lines[max(0, len(lines)-saidLines):], "\n")
}

// lastLine keeps the last line that is not blank.
type lastLine struct{ now, last line }

// line is a line's beginning, size and end.
type line struct {
	kept []byte
	size int
	end  byte
}

// Write implements io.Writer; it never fails.
func (l *lastLine) Write(p []byte) (int, error) {
	n := len(p)
	for {
		part, rest, found := bytes.Cut(p, []byte("\n"))
		l.now.add(part)
		if !found {
			return n, nil
		}
		l.finish()
		p = rest
	}
}

func (l *lastLine) finish() {
	if len(bytes.TrimSpace(l.now.kept)) > 0 {
		l.now, l.last = l.last, l.now
	}
	l.now = line{kept: l.now.kept[:0]}
}

func (l *line) add(part []byte) {
	l.kept = append(l.kept, part[:min(len(part), maxOutput-len(l.kept))]...)
	l.size += len(part)
	if part = bytes.TrimSpace(part); len(part) > 0 {
		l.end = part[len(part)-1]
	}
}

// ending keeps the last bytes.
type ending struct{ buf []byte }

// Write implements io.Writer; it never fails.
func (e *ending) Write(p []byte) (int, error) {
	e.buf = append(e.buf, p[max(0, len(p)-saidBytes):]...)
	if len(e.buf) > 8*saidBytes {
		e.buf = append(e.buf[:0], e.kept()...)
	}
	return len(p), nil
}

func (e *ending) kept() []byte { return e.buf[max(0, len(e.buf)-saidBytes):] }
