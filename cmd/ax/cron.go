package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ax-run/ax/internal/cron"
)

func newCron(c *call) *cobra.Command {
	cmd := &cobra.Command{Use: "cron", Short: "Work with cron expressions, without a server", RunE: needVerb}
	cmd.AddCommand(newCronNext(c))
	return cmd
}

// maxFires is how many fires may be asked for at once.
const maxFires = 100_000

// cronFlags are how an expression is to be read.
type cronFlags struct {
	zone, from, dialect, dst string
	count                    int
}

func newCronNext(c *call) *cobra.Command {
	var f cronFlags
	cmd := &cobra.Command{
		Use:   "next EXPRESSION|-",
		Short: "Show when a cron expression fires next",
		Long: "Shows when a cron expression of either dialect fires next. With - it reads lines of an expression, a zone and an instant,\n" +
			"separated by tabs, and writes for each a line of instants in UTC, separated by tabs: END where the schedule is over,\n" +
			"ERROR: and the reason where it is invalid.",
		Example: "  ax cron next \"0 30 2 * * ?\" --tz Asia/Shanghai\n" +
			"  printf '*/5 * * * *\\tUTC\\t2026-11-30T00:00:00Z\\n' | ax cron next -",
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if f.count < 1 {
				return failure(exitUsage, "-n %d is too small: ask for one fire or more", f.count)
			}
			if f.count > maxFires {
				return failure(exitUsage, "-n %d is too large: ask for at most %d fires", f.count, maxFires)
			}
			if args[0] == "-" {
				return c.cronLines(f)
			}
			return c.cronNext(args[0], f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.zone, "tz", "UTC", "the zone of the schedule, such as Asia/Shanghai")
	flags.StringVar(&f.from, "from", "", "the instant after which to look (RFC 3339, or -2h); now when left out")
	flags.IntVarP(&f.count, "count", "n", 5, "how many fires, at most 100000")
	flags.StringVar(&f.dialect, "dialect", "", "unix or quartz; when left out, the number of fields decides")
	flags.StringVar(&f.dst, "dst", string(cron.Standard), "the rule where a zone changes its clocks: standard or quartz")
	return cmd
}

// nextFires are the next fires of an expression, as -o json writes them.
type nextFires struct {
	Expression string      `json:"expression"`
	Timezone   string      `json:"timezone"`
	Fires      []cronLocal `json:"fires"`
	// Over says that there are no more after these.
	Over bool `json:"over"`
}

// cronLocal is an instant in the schedule's zone and in UTC.
type cronLocal struct {
	Local time.Time `json:"local"`
	UTC   time.Time `json:"utc"`
}

func (c *call) cronNext(expression string, f cronFlags) error {
	from := c.now()
	if f.from != "" {
		var err error
		if from, err = c.instant("from", f.from); err != nil {
			return err
		}
	}
	schedule, err := f.parse(expression, f.zone)
	if err != nil {
		return failure(exitUsage, "%w", err)
	}
	fires, over := follow(schedule, from, f.count)
	next := nextFires{Expression: expression, Timezone: f.zone, Fires: make([]cronLocal, len(fires)), Over: over}
	for i, at := range fires {
		next.Fires[i] = cronLocal{at, at.UTC()}
	}
	return c.show(next, func() string { return cronText(next) })
}

func (f cronFlags) parse(expression, zone string) (*cron.Schedule, error) {
	location, err := cron.LoadZone(zone)
	if err != nil {
		return nil, err
	}
	return cron.Parse(expression, cron.Options{Dialect: f.dialect, Zone: location, DST: cron.DST(f.dst)})
}

// follow lists at most n fires after an instant, and whether the schedule is over with them.
func follow(s *cron.Schedule, at time.Time, n int) (fires []time.Time, over bool) {
	for len(fires) < n {
		next, ok := s.Next(at)
		if !ok {
			return fires, true
		}
		fires, at = append(fires, next), next
	}
	return fires, false
}

// cronOver stands where a schedule has no more fires.
const cronOver = "END"

func cronText(n nextFires) string {
	var b strings.Builder
	for _, at := range n.Fires {
		fmt.Fprintf(&b, "%s  %s  %s\n", at.Local.Format(time.RFC3339), at.Local.Format("Mon"), at.UTC.Format(time.RFC3339))
	}
	if n.Over {
		b.WriteString(cronOver + "\n")
	}
	return b.String()
}
