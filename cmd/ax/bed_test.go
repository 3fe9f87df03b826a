package main

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestMain lets the test binary stand in for the program, so that processes run under the race detector too.
func TestMain(m *testing.M) {
	if os.Getenv("BE_AX") == "1" {
		os.Exit(launch())
	}
	os.Exit(m.Run())
}

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares with a file, or writes it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "run the test with -update to write the file")
	require.Equal(t, string(want), got)
}

// shell is somebody's environment in which ax is called inside of the test.
type shell struct {
	env   map[string]string
	input string
	// person makes input the answer of somebody at a terminal.
	person bool
}

// done is how a call of ax ended.
type done struct {
	code     int
	out, err string
}

// testNow is the present of calls inside of the test.
var testNow = time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)

func (s shell) call(out, err *bytes.Buffer) *call {
	return newCall(terminal{
		in: strings.NewReader(s.input), out: out, err: err, person: s.person, zone: time.UTC,
		now:    func() time.Time { return testNow },
		getenv: func(name string) (string, bool) { v, ok := s.env[name]; return v, ok },
	})
}

// ax calls ax inside of the test.
func (s shell) ax(args ...string) done {
	var out, err bytes.Buffer
	code := run(context.Background(), s.call(&out, &err), args)
	return done{code, out.String(), err.String()}
}

// at is a shell whose server is at a URL.
func at(url string) shell { return shell{env: map[string]string{"AX_SERVER": url}} }

// good requires that ax did what was asked, and returns what it wrote.
func (d done) good(t *testing.T) string {
	t.Helper()
	require.Equal(t, exitDone, d.code, "%s%s", d.out, d.err)
	return d.out
}

// fails requires an exit code and a part of what ax says.
func (d done) fails(t *testing.T, code int, says string) {
	t.Helper()
	require.Equal(t, code, d.code, "%s%s", d.out, d.err)
	require.Contains(t, d.err, says)
}
