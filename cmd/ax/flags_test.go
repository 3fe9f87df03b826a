package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is asked too much, or cannot be meant, is refused before anything is done.
func TestValuesThatCannotBeMeant(t *testing.T) {
	t.Parallel()
	large := filepath.Join(t.TempDir(), "large.yaml")
	require.NoError(t, os.WriteFile(large, bytes.Repeat([]byte("# a\n"), maxInput/4+1), 0o600))
	for says, args := range map[string][]string{
		"ask for at most 100000 fires":              {"cron", "next", "* * * * *", "-n", "1000000000"},
		"it is negative":                            {"trigger", "w", "--wait", "--timeout", "-5s"},
		"versions count from 1":                     {"trigger", "w", "--version", "0"},
		"versions count from 1 ":                    {"replay", "r", "--version", "-1"},
		`--name "a/b" cannot be a worker's`:         {"worker", "--name", "a/b", "--database-url", "postgres://nobody@127.0.0.1:1/none"},
		"large.yaml is larger than the 8 MiB that ": {"trigger", "w", "--params-file", large},
	} {
		at("http://127.0.0.1:1").ax(args...).fails(t, exitUsage, says[:len(says)-1])
	}
}

// A signal ends a call that reads what never comes.
func TestReadingWhatNeverComesIsInterrupted(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "pipe.yaml")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	told, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range [][]string{{"validate", pipe}, {"trigger", "w", "--params-file", pipe}, {"import", "crontab", pipe}} {
		var out, err bytes.Buffer
		require.Equal(t, exitInterrupted, run(told, at("http://127.0.0.1:1").call(&out, &err), args), err.String())
	}
}
