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

	"github.com/ax-run/ax/internal/store"
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
func measure(ctx context.Context, db *store.Store, n int, f func() error) (sample, error) {
	walBefore, err := db.WALPosition(ctx)
	if err != nil {
		return sample{}, err
	}
	own, server := ownCPU(), serverCPU(ctx, db)
	began := time.Now()
	if err := f(); err != nil {
		return sample{}, err
	}
	s := sample{n: n, took: time.Since(began)}
	if after := serverCPU(ctx, db); after > 0 {
		s.cpu = ownCPU() - own + after - server
	}
	walAfter, err := db.WALPosition(ctx)
	s.wal = walAfter - walBefore
	return s, err
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
func serverCPU(ctx context.Context, db *store.Store) time.Duration {
	backend, err := db.BackendPID(ctx)
	if err != nil {
		return 0
	}
	one, err := readProcess(backend)
	if err != nil {
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
		// A process that ended meanwhile counts among the postmaster's waited-for children.
		if p, err := readProcess(pid); err == nil && (p.parent == one.parent || pid == one.parent) {
			total += p.used
		}
	}
	return total
}

// process is what the kernel tells of one: its parent, and the CPU time of it and its waited-for children.
type process struct {
	parent int
	used   time.Duration
}

// statFields are the positions in /proc/PID/stat, after the name, of the parent and of the four CPU times.
const (
	statParent   = 1
	statCPUFirst = 11
	statCPULast  = 14
)

func readProcess(pid int) (p process, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return p, err
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	if len(fields) <= statCPULast {
		return p, fmt.Errorf("process %d: the kernel tells too little", pid)
	}
	if p.parent, err = strconv.Atoi(fields[statParent]); err != nil {
		return p, err
	}
	const tick = 10 * time.Millisecond // USER_HZ is 100 on every Linux that Go runs on
	for _, f := range fields[statCPUFirst : statCPULast+1] {
		n, err := strconv.Atoi(f)
		if err != nil {
			return p, err
		}
		p.used += time.Duration(n) * tick
	}
	return p, nil
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
