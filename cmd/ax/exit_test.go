package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/api"
)

func TestExitCodesOfErrors(t *testing.T) {
	for code, err := range map[int]error{
		exitDone:        nil,
		exitFailed:      errors.New("anything"),
		exitStillRuns:   fmt.Errorf("wrapped: %w", failure(exitStillRuns, "still")),
		exitPartly:      silent(exitPartly),
		exitUnreachable: fmt.Errorf("wrapped: %w", &unreachable{what: "it", err: errors.New("gone"), hint: "look"}),
		exitForbidden:   &api.Problem{Status: http.StatusUnauthorized},
	} {
		require.Equal(t, code, exitCode(err), "%v", err)
	}
}

func TestExitCodesOfStatuses(t *testing.T) {
	for status, code := range map[int]int{
		400: exitUsage, 413: exitUsage, 422: exitUsage, 401: exitForbidden, 403: exitForbidden, 404: exitNotFound, 410: exitNotFound,
		409: exitFailed, 412: exitPlanChanged, 408: exitUnreachable, 502: exitUnreachable, 503: exitUnreachable, 504: exitUnreachable, 500: exitFailed,
	} {
		require.Equal(t, code, codeOfStatus(status), status)
	}
}

// What is wrong with a call is said in a sentence, and nothing else is written.
func TestWrongCalls(t *testing.T) {
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"nope"}, `unknown command "nope"`},
		{[]string{"runs", "--nope"}, "unknown flag: --nope (`ax runs --help` shows how)"},
		{[]string{"run"}, "accepts 1 arg(s), received 0"},
		{[]string{"runs", "-o", "xml"}, `-o "xml" is unknown`},
		{[]string{"runs", "--limit", "0"}, "--limit 0 is too small"},
		{[]string{"runs", "--from", "yesterday"}, `--from "yesterday" is no instant`},
		{[]string{"runs", "--server", "localhost:1"}, "is no URL"},
		{[]string{"cron", "nope"}, `ax cron has no verb "nope"`},
		{[]string{"cron", "next", "* * * *"}, "has 4 fields"},
		{[]string{"cron", "next", "* * * * *", "--tz", "Mars"}, `time zone "Mars" is unknown`},
		{[]string{"cron", "next", "* * * * *", "-n", "0"}, "-n 0 is too small"},
		{[]string{"apply"}, "there is nothing to apply"},
		{[]string{"apply", "-f", "testdata/nowhere"}, "there is no definition at testdata/nowhere"},
		{[]string{"migrate"}, "no database is named"},
		{[]string{"server"}, "no database is named"},
		{[]string{"tokens", "delete", "x"}, "is no id of a token"},
		{[]string{"login"}, "no token was given"},
		{[]string{"server", "--database-url", "postgres:///x", "--listen", "127.0.0.1:0", "--default-timezone", "Mars"}, "Mars"},
		{[]string{"server", "--database-url", "nonsense", "--listen", "127.0.0.1:0"}, "database's address"},
		{[]string{"worker", "--database-url", "postgres:///x", "--queues", "a=0"}, "--queues a=0"},
		{[]string{"worker", "--database-url", "postgres:///x", "--capacity", "0"}, "--capacity 0"},
		{[]string{"worker", "--database-url", "postgres:///x", "--allow-http-targets", "http://x"}, "--allow-http-targets"},
		{[]string{"worker", "--database-url", "postgres:///x", "--log-format", "xml"}, "--log-format"},
		{[]string{"worker", "--database-url", "postgres:///x", "--log-level", "loud"}, "--log-level"},
		{[]string{"dev", "--workflows", "testdata/broken"}, "nothing was started"},
	} {
		d := shell{}.ax(c.args...)
		d.fails(t, exitUsage, c.says)
		require.Empty(t, d.out, c.args)
	}
}

func TestNoServerIsUnreachable(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for _, args := range [][]string{{"runs"}, {"run", "x", "--wait"}, {"logs", "x", "-f"}, {"logs", "x", "n", "-f"}, {"logs", "x", "n"}, {"apply", "testdata/good.yaml"}} {
		at(gone.URL).ax(args...).fails(t, exitUnreachable, "start one with `ax dev`")
	}
}

func TestDatabaseThatIsAway(t *testing.T) {
	d := shell{env: map[string]string{"AX_DATABASE_URL": "postgres://nobody@127.0.0.1:1/none"}}.ax("migrate")
	d.fails(t, exitUnreachable, "cannot reach the database")
}

func TestInterruptedCall(t *testing.T) {
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer slow.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()

	var out, err bytes.Buffer
	code := run(ctx, at(slow.URL).call(&out, &err), []string{"runs"})
	require.Equal(t, exitInterrupted, code)
	require.Equal(t, "ax: interrupted\n", err.String())
}

func TestHelpIsDone(t *testing.T) {
	for _, args := range [][]string{{}, {"help"}, {"run", "--help"}, {"cron"}, {"help", "exit-codes"}, {"completion", "bash"}} {
		require.NotEmpty(t, shell{}.ax(args...).good(t))
	}
}
