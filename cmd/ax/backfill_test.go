package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/api"
	"github.com/ax-run/ax/internal/dbtest"
)

// A backfill from its plan to its end, against a server with a worker. The second date fails until its file is there.
func TestBackfill(t *testing.T) {
	t.Parallel()
	database := "AX_DATABASE_URL=" + dbtest.NewEmptyURL(t)
	server := start(t, []string{database}, readyLine, "server", "--listen", "127.0.0.1:0")
	start(t, []string{database}, "ax works", "worker", "--name", "one", "--allow-commands")
	sh, dir := at(server.url), t.TempDir()
	definition := `
workflow: test.backfill
params: {dir: {type: string, default: /nowhere}}
defaults: {retry: {max_attempts: 1}}
schedules: [{cron: "0 2 * * *", timezone: UTC}]
nodes: {look: {command: [test, -e, "${{ params.dir }}/${{ logical_date }}"]}}
`
	sh.ax("apply", "-f", write(t, definition)).good(t)
	there := func(day string) { require.NoError(t, os.WriteFile(filepath.Join(dir, day), nil, 0o644)) }
	there("2026-03-01")
	there("2026-03-03")

	create := []string{"backfill", "create", "test.backfill", "--from", "2026-03-01", "--to", "2026-03-03", "-p", "dir=" + dir}
	sh.ax("backfill", "create", "test.backfill").fails(t, exitUsage, "--from")
	sh.ax(append(create, "--reprocess", "some")...).fails(t, exitUsage, "reprocess")
	sh.ax(create...).fails(t, exitDeclined, "add --yes")
	shown := sh.ax(append(create, "--dry-run")...).good(t)
	require.Contains(t, shown, "3 runs for 3 instants")
	require.Regexp(t, `2026-03-02T02:00:00Z +default +run`, shown)
	var plan api.Plan
	require.NoError(t, json.Unmarshal([]byte(sh.ax(append(create, "--dry-run", "-o", "json")...).good(t)), &plan))
	d := sh.ax(append(create, "--plan", plan.Token, "--max-runs", "1", "--wait", "--timeout", "60s")...)
	d.fails(t, exitPartly, "1 of 3 instants failed")
	require.Regexp(t, `2026-03-02 02:00:00 \+00:00 +default +\w+ +failed`, d.out)
	sh.ax(append(create, "--plan", plan.Token)...).fails(t, exitPlanChanged, "nothing was done")

	var list api.Page[api.Backfill]
	require.NoError(t, json.Unmarshal([]byte(sh.ax("backfill", "list", "--workflow", "test.backfill", "-o", "json").good(t)), &list))
	id := list.Items[0].ID
	require.Regexp(t, id+` +test.backfill +2026-03-01 +2026-03-03 +completed_with_failures +3/3 +1`, sh.ax("backfill", "list", "--state", "completed_with_failures").good(t))
	there("2026-03-02")
	sh.ax("backfill", "retry", id, "--yes", "--wait", "--timeout", "60s").good(t)
	require.Regexp(t, `state +completed\n`, sh.ax("backfill", "show", id).good(t))
	require.Contains(t, sh.ax("fires", "test.backfill").good(t), "(made up)")
	sh.ax("backfill", "pause", id, "--yes").fails(t, exitFailed, "is completed")
	sh.ax("backfill", "show", "7zzzzzzzzzzzz").fails(t, exitNotFound, "no backfill")

	more := sh.ax("backfill", "create", "test.backfill", "--from", "2026-03-05", "--to", "2026-03-05", "--yes", "-o", "json").good(t)
	var made api.Backfill
	require.NoError(t, json.Unmarshal([]byte(more), &made))
	sh.ax("backfill", "show", made.ID, "--wait", "--timeout", "60s").fails(t, exitUnsuccess, "completed_with_failures")
}
