package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// sample is one measurement of moving n things.
type sample struct {
	n     int
	took  time.Duration
	wal   int64
	trips int64
	// cpu is this process's and the database's together; 0 where the database's cannot be seen from here.
	cpu time.Duration
}

func (s sample) perSecond() float64 { return float64(s.n) / s.took.Seconds() }

// measure runs f and reads clock, WAL and CPU around it.
func measure(ctx context.Context, pool *pgxpool.Pool, n int, f func() error) (sample, error) {
	walBefore, err := walPosition(ctx, pool)
	if err != nil {
		return sample{}, err
	}
	own, server := ownCPU(), serverCPU(ctx, pool)
	began := time.Now()
	if err := f(); err != nil {
		return sample{}, err
	}
	s := sample{n: n, took: time.Since(began)}
	if after := serverCPU(ctx, pool); after > 0 {
		s.cpu = ownCPU() - own + after - server
	}
	walAfter, err := walPosition(ctx, pool)
	s.wal = walAfter - walBefore
	return s, err
}

func walPosition(ctx context.Context, pool *pgxpool.Pool) (n int64, err error) {
	if err := pool.QueryRow(ctx, "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint").Scan(&n); err != nil {
		return 0, fmt.Errorf("read WAL position: %w", err)
	}
	return n, nil
}

func ownCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// serverCPU is what the database's processes have used, if they run on this machine under Linux: the postmaster's waited-for
// children and the living ones.
func serverCPU(ctx context.Context, pool *pgxpool.Pool) time.Duration {
	var backend int
	if err := pool.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&backend); err != nil {
		return 0
	}
	postmaster, _, ok := procTimes(backend)
	if !ok {
		return 0
	}
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0
	}
	var total time.Duration
	for _, f := range files {
		pid, err := strconv.Atoi(strings.Split(f, "/")[2])
		if err != nil {
			continue
		}
		if parent, used, ok := procTimes(pid); ok && (parent == postmaster || pid == postmaster) {
			total += used
		}
	}
	return total
}

// procTimes reads a process's parent and the CPU time of it and its waited-for children.
func procTimes(pid int) (parent int, used time.Duration, ok bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, false
	}
	_, rest, found := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	if !found || len(fields) < 15 {
		return 0, 0, false
	}
	if parent, err = strconv.Atoi(fields[1]); err != nil {
		return 0, 0, false
	}
	const tick = 10 * time.Millisecond // USER_HZ is 100 on every Linux that Go runs on
	for _, f := range fields[11:15] {
		n, err := strconv.Atoi(f)
		if err != nil {
			return 0, 0, false
		}
		used += time.Duration(n) * tick
	}
	return parent, used, true
}

// median picks the middle one by a measure.
func median[T any](all []T, by func(T) float64) T {
	sorted := slices.Clone(all)
	slices.SortFunc(sorted, func(a, b T) int {
		switch x, y := by(a), by(b); {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	return sorted[len(sorted)/2]
}
