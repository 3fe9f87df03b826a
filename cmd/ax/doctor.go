package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/ax-run/ax/internal/store"
)

// health is how a check ended.
type health string

const (
	healthOK   health = "ok"
	healthWarn health = "warn"
	healthFail health = "fail"
)

// checkView is a check as -o json writes it.
type checkView struct {
	Check string `json:"check"`
	State health `json:"state"`
	// Found is one sentence; Advice, when not all is well, is one on what to do.
	Found  string `json:"found"`
	Advice string `json:"advice,omitempty"`
}

// doctorView is what `ax doctor` writes: the worst state, and each check.
type doctorView struct {
	State  health      `json:"state"`
	Checks []checkView `json:"checks"`
}

// doctor examines one database.
type doctor struct {
	url  string
	rows *store.Store
	now  func() time.Time
}

// doctorPatience bounds each check: a database that does not answer is not well.
const doctorPatience = 20 * time.Second

func newDoctor(c *call) *cobra.Command {
	var url string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Examine a database and what works on it",
		Long: "Examines a database and what works on it: the server's version and settings, migrations, permissions, clocks, workers, schedules, queues,\n" +
			"what the reconciler has found, and dead rows. It changes nothing and needs no server of ax. Each check is ok, warn or fail, and\n" +
			"says what to do. Exits with 0 unless a check fails (1) or the database cannot be reached (6).",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := needDatabase(url); err != nil {
				return err
			}
			return c.doctor(cmd.Context(), url)
		},
	}
	databaseFlag(cmd, &url)
	return cmd
}

func (c *call) doctor(ctx context.Context, url string) error {
	pool, err := store.Connect(ctx, url)
	if err != nil {
		return failure(exitUsage, "%w", err)
	}
	defer pool.Close()
	d := doctor{url: url, rows: store.New(pool), now: time.Now}
	reach, cancel := context.WithTimeout(ctx, doctorPatience)
	defer cancel()
	code, view := exitDone, doctorView{}
	if err := d.rows.Ping(reach); err != nil {
		code, view.State = exitUnreachable, healthFail
		view.Checks = []checkView{{"database", healthFail, err.Error(), "see that it runs and that --database-url is right"}}
	} else if view = d.examine(ctx); view.State == healthFail {
		code = exitFailed
	}
	if err := c.show(view, func() string { return c.doctorText(view) }); err != nil || code == exitDone {
		return err
	}
	return silent(code)
}

// examine makes the checks one after another. One that cannot be made has failed, and keeps nobody from the others.
func (d *doctor) examine(ctx context.Context) doctorView {
	view := doctorView{State: healthOK}
	for _, c := range []struct {
		name string
		make func(context.Context) ([]checkView, error)
	}{
		{"server", d.server}, {"migrations", d.migrations}, {"permissions", d.permissions}, {"clock", d.clock}, {"movers", d.movers},
		{"queues", d.queues}, {"findings", d.findings}, {"tables", d.tables}, {"partitions", d.partitions},
	} {
		patient, cancel := context.WithTimeout(ctx, doctorPatience)
		checks, err := c.make(patient)
		cancel()
		if err != nil {
			advice := "see that the migrations are applied and that this user has the permissions that are told above"
			if errors.Is(err, context.DeadlineExceeded) || store.Transient(err) {
				advice = "see why the database does not answer"
			}
			checks = append(checks, checkView{c.name, healthFail, "it cannot be checked: " + err.Error(), advice})
		}
		view.Checks = append(view.Checks, checks...)
	}
	for _, c := range view.Checks {
		if c.State == healthFail || c.State == healthWarn && view.State == healthOK {
			view.State = c.State
		}
	}
	return view
}

func (c *call) doctorText(view doctorView) string {
	colours := map[health]colour{healthOK: green, healthWarn: yellow, healthFail: red}
	t := table{header: []string{"CHECK", "STATE", "FOUND"}}
	counts := make(map[health]int)
	for _, check := range view.Checks {
		counts[check.State]++
		text := check.Found
		if check.Advice != "" {
			text += ": " + check.Advice
		}
		t.add(plain(check.Check), cell{string(check.State), colours[check.State]}, plain(text))
	}
	return t.render(c.colour) + "\n" + counted(len(view.Checks), "check") + ", " + counted(counts[healthWarn], "warning") + ", " + counted(counts[healthFail], "failure") + "\n"
}
