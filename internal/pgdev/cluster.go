package pgdev

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
)

// cluster is a data folder and the programs that serve it.
type cluster struct {
	dir       string
	socketDir string
	programs  programs
	owner     account
	settings  map[string]string
	log       *slog.Logger
}

// dataDir is one folder per major version: another version's data is left alone, never deleted.
func (c cluster) dataDir() string { return dataDir(c.dir, c.programs.major) }

func dataDir(dir string, major int) string {
	return filepath.Join(dir, "pg"+strconv.Itoa(major))
}

func (c cluster) logFile() string { return filepath.Join(c.dir, "postgres.log") }

func (c cluster) url(database string) string {
	query := url.Values{"host": {c.socketDir}, "port": {"5432"}, "sslmode": {"disable"}}
	u := url.URL{Scheme: "postgres", User: url.User(superuser), Path: "/" + database, RawQuery: query.Encode()}
	return u.String()
}

// create runs initdb when the cluster does not exist, beside its place and then renamed into it, so
// that an interrupted initdb is not taken for a cluster.
func (c cluster) create(ctx context.Context) error {
	if hasData(c.dir, c.programs.major) {
		return nil
	}
	c.warnOfOtherVersions()
	fresh := c.dataDir() + ".new"
	if err := os.RemoveAll(fresh); err != nil {
		return fmt.Errorf("remove what an interrupted initdb left: %w", err)
	}
	// --no-sync: seconds faster; what is written later is synced by the server as configured.
	initdb := c.owner.command(ctx, c.dir, c.programs.initdb(), "-D", fresh, "-U", superuser,
		"-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions")
	if output, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("run %s: %w: %s", c.programs.initdb(), err, output)
	}
	if err := os.Rename(fresh, c.dataDir()); err != nil {
		return fmt.Errorf("put new data folder in place: %w", err)
	}
	return nil
}

func (c cluster) warnOfOtherVersions() {
	others, err := filepath.Glob(filepath.Join(c.dir, "pg*", "PG_VERSION"))
	if err != nil || len(others) == 0 {
		return
	}
	c.log.Warn("data of another PostgreSQL version is kept but not used: name that version's programs to use it",
		"kept", filepath.Dir(others[0]), "new", c.dataDir())
}

func hasData(dir string, major int) bool {
	_, err := os.Stat(filepath.Join(dataDir(dir, major), "PG_VERSION"))
	return !errors.Is(err, fs.ErrNotExist)
}

// arguments are the server's command line: fixed ones, defaults, and the caller's settings, which
// win because the last one counts.
func (c cluster) arguments() []string {
	args := []string{
		"-D", c.dataDir(),
		"-c", "listen_addresses=",
		"-c", "unix_socket_directories=" + c.socketDir,
		"-c", "unix_socket_permissions=0700",
		"-c", "port=5432",
		"-c", "logging_collector=off",
		"-c", "max_connections=200",
	}
	if runtime.GOOS == "linux" {
		// Recovery would otherwise sync each file of the data folder, which takes a second.
		args = append(args, "-c", "recovery_init_sync_method=syncfs")
	}
	for _, name := range slices.Sorted(maps.Keys(c.settings)) {
		args = append(args, "-c", name+"="+c.settings[name])
	}
	return args
}
