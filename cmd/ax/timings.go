package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/ax-run/ax/engine"
)

// timingFlags are the four figures of S27: when a silent worker is suspect, and when it is lost.
type timingFlags struct {
	heartbeat, probeAfter time.Duration
	misses, probes        int
}

func (f *timingFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.DurationVar(&f.heartbeat, "heartbeat", 10*time.Second, "how often a worker says that it lives")
	flags.IntVar(&f.misses, "misses", 3, "how many heartbeats in a row it may miss before it is suspect and gets nothing new")
	flags.DurationVar(&f.probeAfter, "probe-after", 15*time.Second, "how long after that it is probed, if it has an address, and else lost")
	flags.IntVar(&f.probes, "probes", 1, "how many probes in a row must fail before it is lost")
}

// maxHeartbeat bounds what --heartbeat may say.
const maxHeartbeat = time.Hour

func (f *timingFlags) timings() (engine.Timings, error) {
	switch {
	case f.heartbeat < 100*time.Millisecond || f.heartbeat > maxHeartbeat:
		return engine.Timings{}, failure(exitUsage, "--heartbeat %s: give something between 100ms and 1h", f.heartbeat)
	case f.misses < 1 || f.misses > 100:
		return engine.Timings{}, failure(exitUsage, "--misses %d: give something between 1 and 100", f.misses)
	case f.probeAfter <= 0 || f.probeAfter > maxHeartbeat:
		return engine.Timings{}, failure(exitUsage, "--probe-after %s: give something above 0 and up to 1h", f.probeAfter)
	case f.probes < 1 || f.probes > 100:
		return engine.Timings{}, failure(exitUsage, "--probes %d: give something between 1 and 100", f.probes)
	}
	return engine.Timings{Beat: f.heartbeat, Misses: f.misses, Probe: f.probeAfter, Probes: f.probes}, nil
}
