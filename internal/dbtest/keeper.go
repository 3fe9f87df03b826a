package dbtest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/ax-run/ax/internal/pgdev"
)

// The keeper is a test program started once more, detached, to own the server: test programs come
// and go, in parallel and one after the other, and the server must outlive each and end after the
// last, also when they are killed. It tries to lock the file "clients", which every test program
// holds a shared lock on; when that succeeded for the whole of linger, nobody is there. It ends the
// server while holding that lock, so that a program that arrives meanwhile waits and then starts a
// keeper of its own.

const (
	// keeperVariable makes a test program a keeper; its value is the home folder.
	keeperVariable = "AX_DBTEST_KEEPER"
	// lingerVariable is how long the keeper waits for the next test program (a duration).
	lingerVariable = "AX_DBTEST_LINGER"
	defaultLinger  = 10 * time.Second
	lookEvery      = 200 * time.Millisecond
)

// init and not a function that tests call: a keeper must branch off before the tests begin, in each
// test program that imports this package, without a TestMain in all of them.
func init() {
	place := os.Getenv(keeperVariable)
	if place == "" {
		return
	}
	if err := runAsKeeper(home(place)); err != nil {
		slog.Error("keeper of the test server", "error", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func runAsKeeper(h home) error {
	word := os.NewFile(3, "word")
	syscall.CloseOnExec(3) // else the server would hold the pipe open
	server, err := h.startServer()
	if err != nil {
		_, writeErr := word.WriteString(err.Error())
		return errors.Join(err, writeErr, word.Close())
	}
	if err := word.Close(); err != nil {
		return err
	}
	alone, err := h.awaitLeave(server)
	if err != nil {
		return err
	}
	return errors.Join(h.endServer(server), alone.Close())
}

// testSettings trade durability, which no test needs, for speed.
var testSettings = map[string]string{
	"fsync": "off", "full_page_writes": "off", "max_connections": "400", "max_wal_size": "4GB",
}

// startServer starts a server on fresh data and writes where it is found.
func (h home) startServer() (*pgdev.Server, error) {
	if err := h.clean(); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(string(h), "db-")
	if err != nil {
		return nil, fmt.Errorf("make folder of the test server: %w", err)
	}
	config := pgdev.Config{Dir: dir, Settings: testSettings, Logger: slog.Default()}
	server, err := pgdev.Start(context.Background(), config)
	if err != nil {
		return nil, fmt.Errorf("start test server: %w", err)
	}
	text := server.URL() + "\n" + strings.Join(server.CommandLine(), " ") + "\n"
	if err := os.WriteFile(h.path("server"), []byte(text), 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("write where the test server is: %w", err), server.Stop(context.Background()))
	}
	return server, nil
}

// clean removes what an earlier keeper left: kept databases, or everything when it was killed.
func (h home) clean() error {
	left, err := filepath.Glob(h.path("db-*"))
	if err != nil {
		return fmt.Errorf("look for an earlier test server: %w", err)
	}
	for _, path := range append(left, h.path("kept"), h.path("server")) {
		// pgdev makes the folder a link where the server's account cannot reach it.
		target, err := filepath.EvalSymlinks(path)
		if err != nil {
			target = path
		}
		if err := errors.Join(os.RemoveAll(target), os.RemoveAll(path)); err != nil {
			return fmt.Errorf("remove an earlier test server: %w", err)
		}
	}
	return nil
}

// awaitLeave returns when no test program was there for the linger time, with the lock that keeps
// new ones waiting; a server that ended by itself is an error.
func (h home) awaitLeave(server *pgdev.Server) (*os.File, error) {
	linger, err := time.ParseDuration(os.Getenv(lingerVariable))
	if err != nil {
		linger = defaultLinger
	}
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for seen := time.Now(); ; {
		select {
		case <-server.Done():
			// Nothing is touched: the next test program cleans up, and may be doing so.
			return nil, errors.New("the server ended by itself")
		case <-look.C:
		}
		alone, err := lockFile(h.path("clients"), syscall.LOCK_EX|syscall.LOCK_NB)
		if errors.Is(err, syscall.EWOULDBLOCK) {
			seen = time.Now()
			continue
		}
		if err != nil || time.Since(seen) >= linger {
			return alone, err
		}
		if err := alone.Close(); err != nil {
			return nil, err
		}
	}
}

// endServer stops the server and removes its data, unless a failed test asked to keep it.
func (h home) endServer(server *pgdev.Server) error {
	if err := os.Remove(h.path("server")); err != nil {
		return err
	}
	if err := server.Stop(context.Background()); err != nil {
		return err
	}
	if _, err := os.Stat(h.path("kept")); err == nil {
		return nil
	}
	return h.clean()
}
