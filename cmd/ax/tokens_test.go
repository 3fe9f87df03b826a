package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/internal/dbtest"
)

// A server opens to other machines only once there is a token, and then lets in nobody without one.
func TestServerForOtherMachinesTakesATokens(t *testing.T) {
	t.Parallel()
	url := dbtest.NewEmptyURL(t)
	database := "AX_DATABASE_URL=" + url
	shut := start(t, []string{database}, "there is no token yet", "server", "--listen", "0.0.0.0:0")
	require.Equal(t, exitUsage, shut.wait(), shut.said())

	admin := strings.TrimSpace(shell{}.ax("tokens", "create", "alice", "--role", "admin", "--database-url", url).good(t))
	server := start(t, []string{database}, readyLine, "server", "--listen", "0.0.0.0:0")
	at(server.url).ax("runs").fails(t, exitForbidden, "sign in with a token")
	sh := shell{env: map[string]string{"AX_SERVER": server.url, "AX_TOKEN": admin}}
	require.Contains(t, sh.ax("namespaces", "create", "team-b").good(t), "made namespace team-b")
	viewer := strings.TrimSpace(sh.ax("tokens", "create", "bob", "--role", "viewer", "--for", "team-b").good(t))
	require.Regexp(t, `bob +ax_\w+… +viewer +team-b`, sh.ax("tokens", "list").good(t))
	weak := shell{env: map[string]string{"AX_SERVER": server.url, "AX_TOKEN": viewer, "AX_NAMESPACE": "team-b"}}
	weak.ax("runs").good(t)
	weak.ax("audit").fails(t, exitForbidden, "takes the role admin")
	require.Regexp(t, `token:alice +create-token +201`, sh.ax("audit", "--all").good(t))
	server.signal(syscall.SIGTERM)
	require.Equal(t, exitDone, server.wait(), server.said())
}

func TestTheFirstTokenMayBeBrought(t *testing.T) {
	t.Parallel()
	const brought = "a-token-that-somebody-brings"
	server := start(t, []string{"AX_DATABASE_URL=" + dbtest.NewEmptyURL(t), "AX_BOOTSTRAP_TOKEN=" + brought}, readyLine, "server", "--listen", "0.0.0.0:0")
	config := filepath.Join(t.TempDir(), "ax", "config.yaml")
	sh := shell{env: map[string]string{"AX_CONFIG": config}, input: brought + "\n"}
	require.Contains(t, sh.ax("login", "--server", server.url, "--name", "work").good(t), "as token:bootstrap (admin)")
	info, err := os.Stat(config)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	sh.ax("runs").good(t)
	listed := sh.ax("context", "list").good(t)
	require.Regexp(t, `\* +work +`+regexp.QuoteMeta(server.url), listed)
	require.NotContains(t, listed, brought)
	sh.ax("context", "use", "home").fails(t, exitNotFound, `there is no context "home"`)
	require.NotContains(t, server.said(), brought)
	server.signal(syscall.SIGTERM)
	require.Equal(t, exitDone, server.wait(), server.said())
}
