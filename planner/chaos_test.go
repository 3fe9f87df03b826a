package planner_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/ax-run/ax/internal/dbtest"
	"github.com/ax-run/ax/internal/pgdev"
	"github.com/ax-run/ax/internal/store"
	"github.com/ax-run/ax/migrations"
	"github.com/ax-run/ax/planner"
)

// childVariable makes this test program a planner on the database that is its value, until it is killed; with stopVariable set it stops
// itself once, in the middle of its first launch.
const (
	childVariable = "AX_PLANNER_TEST_DB"
	stopVariable  = "AX_PLANNER_TEST_STOP"
)

func TestMain(m *testing.M) {
	if url := os.Getenv(childVariable); url != "" {
		if err := planUntilKilled(url); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}

func planUntilKilled(url string) error {
	pool, err := pgxpool.New(context.Background(), url)
	if err != nil {
		return err
	}
	s := store.New(pool)
	var l planner.Launcher = &launcher{store: s}
	if os.Getenv(stopVariable) != "" {
		l = &stopping{Launcher: l}
	}
	if err := planner.New(planner.Config{Store: s, Launcher: l}).Start(context.Background()); err != nil {
		return err
	}
	select {}
}

// stopping stops the whole process in its first launch, when the claimed schedules are locked.
type stopping struct {
	planner.Launcher
	stopped bool
}

func (s *stopping) Launch(ctx context.Context, tx pgx.Tx, triggers []store.Trigger) ([]store.Launched, error) {
	if !s.stopped {
		s.stopped = true
		if err := syscall.Kill(os.Getpid(), syscall.SIGSTOP); err != nil {
			return nil, err
		}
	}
	return s.Launcher.Launch(ctx, tx, triggers)
}

// process is a planner in a process of its own.
type process struct {
	*testing.T
	*exec.Cmd
}

func plan(t *testing.T, url string, environment ...string) *process {
	t.Helper()
	p := &process{t, exec.Command(os.Args[0])}
	p.Env = append(append(os.Environ(), childVariable+"="+url), environment...)
	p.Stderr = t.Output()
	require.NoError(t, p.Start())
	t.Cleanup(p.kill)
	return p
}

func (p *process) kill() {
	if p.ProcessState != nil {
		return
	}
	require.NoError(p, p.Process.Kill())
	require.Error(p, p.Wait(), "it works until it is killed")
}

func (p *process) signal(s syscall.Signal) { require.NoError(p, p.Process.Signal(s)) }

// A planner that stands still in the middle of a transaction, as a machine that is paused does, holds schedules: not for long, and
// what it does when it goes on has no effect.
func TestStoppedPlannerHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	url := dbtest.NewURL(t)
	h := newHouseAt(t, url)
	for i := range 20 {
		h.register(fmt.Sprintf("w%d", i), schedules("{every: 1s}"))
	}
	stuck := plan(t, url, stopVariable+"=1")
	h.until("the planner has stopped", func() bool {
		return h.holds("SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction' AND now() - state_change > '300 ms')")
	})
	defer h.start(h.planner)()
	h.firesOn("while it stands still")
	stuck.signal(syscall.SIGCONT)
	h.firesOn("when it goes on")
	require.Zero(t, one[int64](h, wrongFires))
}

// firesOn waits until every schedule has fired from now on.
func (h *house) firesOn(when string) {
	h.Helper()
	from := h.now().Add(time.Second)
	h.until("all fire "+when, func() bool { return h.holds("SELECT min(next_fire_at) > $1 FROM ax.schedules", from) })
}

// The day's chaos takes seconds, and minutes in `make soak`.
func chaosLasts() time.Duration {
	if os.Getenv("AX_SOAK") != "" {
		return 5 * time.Minute
	}
	return 25 * time.Second
}

// TestKillStopAndCutPlanners lets two hundred schedules fire while planners are killed and stopped, the database is restarted and connections
// are cut, at random, and wants the ledger to be what it would have been: computed here by arithmetic, without the planner.
func TestKillStopAndCutPlanners(t *testing.T) {
	t.Parallel()
	c := newChaos(t)
	from := c.populate()
	for range 3 {
		c.planners = append(c.planners, plan(t, c.url))
	}
	until := from.Add(chaosLasts()).Truncate(time.Second)
	stuck := plan(t, c.url, stopVariable+"=1")
	for time.Now().Before(until) {
		c.disturb()
	}
	stuck.signal(syscall.SIGCONT)
	c.until("all has been decided", func() bool {
		return c.holds("SELECT count(*) = 0 FROM ax.schedules WHERE next_fire_at <= $1", until)
	})
	for _, p := range append(c.planners, stuck) {
		p.kill()
	}
	c.compare(from, until)
}

// chaos is a database with planners in processes of their own, and what is done to them.
type chaos struct {
	*house
	config   pgdev.Config
	server   *pgdev.Server
	url      string
	planners []*process
	lines    []line
}

func newChaos(t *testing.T) *chaos {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "ax-planner-test-")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o711)) // for the account that runs PostgreSQL for root
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	c := &chaos{config: pgdev.Config{Dir: filepath.Join(dir, "db")}}
	c.server, err = pgdev.Start(t.Context(), c.config)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(t, c.server.Stop(ctx))
	})
	c.url = c.server.URL()
	require.NoError(t, migrations.Up(t.Context(), c.url))
	c.house = newHouseAt(t, c.url)
	return c
}

// disturb does one thing, and leaves some time to recover.
func (c *chaos) disturb() {
	c.Helper()
	i := rand.N(len(c.planners))
	switch p := c.planners[i]; rand.N(12) {
	case 0:
		c.restart((*pgdev.Server).Kill)
	case 1:
		c.restart(func(s *pgdev.Server) error { return s.Stop(c.Context()) })
	case 2, 3, 4:
		p.kill()
		c.planners[i] = plan(c.T, c.url)
	case 5, 6, 7:
		p.signal(syscall.SIGSTOP)
		c.rest(rand.N(time.Second))
		p.signal(syscall.SIGCONT)
	default:
		c.cut()
	}
	c.rest(rand.N(400 * time.Millisecond))
}

// restart ends the database and starts it again.
func (c *chaos) restart(end func(*pgdev.Server) error) {
	c.Helper()
	require.NoError(c, end(c.server))
	var err error
	c.server, err = pgdev.Start(c.Context(), c.config)
	require.NoError(c, err)
}

// cut ends about a third of the database's connections.
func (c *chaos) cut() {
	_, err := c.store.Pool().Exec(c.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid() AND random() < 0.3`)
	if err != nil && !store.Transient(err) {
		require.NoError(c, err)
	}
}

func (c *chaos) rest(d time.Duration) {
	select {
	case <-time.After(d):
	case <-c.Context().Done():
	}
}

// holds asks until the database answers.
func (h *house) holds(sql string, args ...any) (yes bool) {
	h.Helper()
	h.until("the database answers", func() bool {
		err := h.store.Pool().QueryRow(h.Context(), sql, args...).Scan(&yes)
		if err != nil && !store.Transient(err) {
			require.NoError(h, err)
		}
		return err == nil
	})
	return yes
}

func (h *house) until(what string, done func() bool) {
	h.Helper()
	for patience := time.After(2 * time.Minute); !done(); {
		select {
		case <-patience:
			require.FailNow(h, "it does not come to be: "+what)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (h *house) now() time.Time { return one[time.Time](h, "SELECT clock_timestamp()") }
