package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/internal/dbtest"
)

// The pages are those that workflow.yaml and a single process make, byte for byte.
func TestReportsAreTheGoldenPages(t *testing.T) {
	url, folder := dbtest.NewEmptyURL(t), t.TempDir()
	dates := []string{"2001-01-15", "2001-02-14", "2001-03-12"}
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), append([]string{"--database-url", url, "--folder", folder}, dates...), &out))
	said := ""
	for _, date := range dates {
		name := "flights-" + date + ".html"
		want, err := os.ReadFile(filepath.Join("..", "..", "report", "testdata", name))
		require.NoError(t, err)
		got, err := os.ReadFile(filepath.Join(folder, name))
		require.NoError(t, err)
		require.Equal(t, string(want), string(got))
		said += date + " " + filepath.Join(folder, name) + "\n"
	}
	require.Equal(t, said, out.String())
	require.Equal(t, "2001-03-12 midwest wrong_data 1", ask(t, url, `SELECT concat_ws(' ', r.logical_date, n.node, n.error_code, r.warnings)
		FROM ax.node_runs n JOIN ax.runs r ON r.id = n.run_id WHERE n.tolerated`), "the only failure, and it is tolerated")
	require.Contains(t, ask(t, url, `SELECT lines::text FROM ax.logs WHERE node = 'extract' ORDER BY run_id LIMIT 1`), "212 flights departed on 2001-01-15")

	err := run(t.Context(), []string{"--database-url", url, "--folder", folder, "2026-01-01"}, &out)
	require.ErrorContains(t, err, "report of 2026-01-01: run ")
	require.ErrorContains(t, err, " failed")
}

func ask(t *testing.T, url, sql string) (answer string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(context.WithoutCancel(t.Context()))) }()
	require.NoError(t, conn.QueryRow(t.Context(), sql).Scan(&answer))
	return answer
}

// The chain is that of workflow.yaml: only what carries a node out, and the names of its inputs, are its own.
func TestTheChainIsThatOfTheFile(t *testing.T) {
	text, err := os.ReadFile("../../workflow.yaml")
	require.NoError(t, err)
	written, problems := dag.Load(text, dag.BuildOptions{})
	require.NoError(t, problems.Err())
	def, err := workflow().Definition()
	require.NoError(t, err)
	declared, problems := dag.Build(def, dag.BuildOptions{})
	require.NoError(t, problems.Err())
	want, got := *written.Definition(), *declared.Definition()
	require.Equal(t, len(want.Nodes), len(got.Nodes))
	for name, n := range want.Nodes {
		require.Equal(t, bare(n), bare(got.Nodes[name]), name)
		require.Len(t, got.Nodes[name].Inputs, len(n.Inputs), name)
	}
	want.Nodes, got.Nodes = nil, nil
	want.Workflow, want.Params = got.Workflow, got.Params // two workflows, whose places to publish are by default not the same
	require.Equal(t, want, got)
}

// bare is a node without its work and inputs.
func bare(n *dag.Node) dag.Node {
	b := *n
	b.Work, b.Inputs = dag.Work{}, nil
	return b
}

func TestWrongCallsSayWhatToDo(t *testing.T) {
	t.Setenv("AX_DATABASE_URL", "")
	for want, args := range map[string][]string{
		"say where PostgreSQL is":     {"2001-01-15"},
		`"yesterday" is no date`:      {"--database-url", "postgres://x", "yesterday"},
		"read the database's address": {"--database-url", "?"},
	} {
		require.ErrorContains(t, run(t.Context(), args, &bytes.Buffer{}), want)
	}
}

func TestItRunsUntilItIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, run(ctx, []string{"--database-url", dbtest.NewURL(t)}, &bytes.Buffer{}))
}
