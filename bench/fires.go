package bench

import (
	"context"
	"time"
)

// Fires is how long after its instant the work of a fire starts, and whether every instant was fired exactly once.
type Fires struct {
	// Fires is how many were expected.
	Fires   int    `json:"fires"`
	DelayMS Spread `json:"delay_ms"`
	// Late are those whose work started more than a second after their instant.
	Late int `json:"late_over_1s"`
	// Lost are those of which no work started; Duplicates are the runs and starts beyond one for each.
	Lost       int `json:"lost"`
	Duplicates int `json:"duplicates"`
	// CPUMicros is what a fire costs, from being planned to the end of its run, in this process and the database together; it hangs less on
	// what else the machine does.
	CPUMicros float64 `json:"cpu_us_per_fire"`
}

// RunFires lets a crowd of schedules fire for a while, spread evenly at a rate.
func RunFires(ctx context.Context, c Config) (Fires, error) {
	every := time.Duration(float64(c.Schedules) / c.Rate * float64(time.Second)).Truncate(time.Microsecond)
	s, err := fireCrowd(ctx, c.withDefaults(), firing{every: every, spread: every, lasts: time.Duration(c.Seconds) * time.Second})
	return Fires{Fires: s.expected, DelayMS: spread(s.delays), Late: s.late, Lost: s.lost, Duplicates: s.duplicates, CPUMicros: s.cpuEach()}, err
}

// Herd is how long it takes to start the work of all schedules that are due at one instant.
type Herd struct {
	// LastStartS is when the last of them started, in seconds after the instant.
	LastStartS float64 `json:"last_start_s"`
	Lost       int     `json:"lost"`
	Duplicates int     `json:"duplicates"`
	// CPUMicros is as in Fires.
	CPUMicros float64 `json:"cpu_us_per_fire"`
}

// RunHerd lets a crowd of schedules fire at one instant.
func RunHerd(ctx context.Context, c Config) (Herd, error) {
	s, err := fireCrowd(ctx, c.withDefaults(), firing{every: 24 * time.Hour, lasts: time.Second})
	return Herd{LastStartS: spread(s.delays).Max / 1000, Lost: s.lost, Duplicates: s.duplicates, CPUMicros: s.cpuEach()}, err
}
