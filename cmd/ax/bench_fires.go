package main

import (
	"github.com/spf13/cobra"

	"github.com/ax-run/ax/bench"
)

// Bounds of what a benchmark of schedules may be asked for.
const (
	maxBenchSchedules = 1_000_000
	maxBenchRate      = 100_000
	maxBenchSeconds   = 24 * 60 * 60
)

func newBenchFires(c *call, f *benchFlags) *cobra.Command {
	cmd := measurement[bench.Fires]{"fires", "Measure how long after its instant the work of a fire starts, with many schedules",
		bench.RunFires, firesBenchText}.verb(c, f)
	benchSchedules(cmd, f, 50_000)
	cmd.Flags().Float64Var(&f.rate, "rate", 120, "how many of them fire in a second")
	cmd.Flags().IntVar(&f.seconds, "seconds", 60, "how long they fire")
	check := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return err
		}
		if f.rate <= 0 || f.rate > maxBenchRate || f.rate > float64(f.schedules) {
			return failure(exitUsage, "--rate must be above 0, at most %d, and at most one fire a second for each of --schedules", maxBenchRate)
		}
		if f.seconds < 1 || f.seconds > maxBenchSeconds {
			return failure(exitUsage, "--seconds must be from 1 to %d", maxBenchSeconds)
		}
		return nil
	}
	return cmd
}

func newBenchHerd(c *call, f *benchFlags) *cobra.Command {
	cmd := measurement[bench.Herd]{"herd", "Measure how long it takes to start what many schedules have due at one instant",
		bench.RunHerd, herdText}.verb(c, f)
	benchSchedules(cmd, f, 20_000)
	return cmd
}

// benchSchedules adds the flag of how many schedules there are.
func benchSchedules(cmd *cobra.Command, f *benchFlags, usual int) {
	var n int
	cmd.Flags().IntVar(&n, "schedules", usual, "how many schedules there are, each of a workflow of its own")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if n < 1 || n > maxBenchSchedules {
			return failure(exitUsage, "--schedules must be from 1 to %d", maxBenchSchedules)
		}
		f.schedules = n
		return nil
	}
}
