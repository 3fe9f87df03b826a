package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/ax-run/ax/migrations"
)

// migrationView is a migration as -o json writes it.
type migrationView struct {
	Set       string     `json:"set"`
	Version   int64      `json:"version"`
	Name      string     `json:"name"`
	Applied   bool       `json:"applied"`
	AppliedAt *time.Time `json:"applied_at,omitempty"`
	// Now says that this call applied it.
	Now bool `json:"applied_now"`
}

func newMigrate(c *call) *cobra.Command {
	var url string
	var status bool
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Bring a database's schema up to date",
		Long: "Makes or updates the schemas ax and ax_river of a database, and lists their migrations. Several may do so at once: one works, the\n" +
			"others wait. Servers and workers do the same when they start. It needs a direct connection, not one through a pooler.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := needDatabase(url); err != nil {
				return err
			}
			all, err := migrate(cmd.Context(), url, status)
			if err != nil {
				return databaseError(err)
			}
			items := struct {
				Items []migrationView `json:"items"`
			}{all}
			return c.show(items, func() string { return c.migrationsText(all) })
		},
	}
	databaseFlag(cmd, &url)
	cmd.Flags().BoolVar(&status, "status", false, "only list the migrations and which of them the database has")
	return cmd
}

func migrate(ctx context.Context, url string, onlyStatus bool) ([]migrationView, error) {
	before, err := migrations.Status(ctx, url)
	if err != nil || onlyStatus {
		return migrationViews(before, before), err
	}
	if err := migrations.Up(ctx, url); err != nil {
		return nil, err
	}
	after, err := migrations.Status(ctx, url)
	return migrationViews(before, after), err
}

func migrationViews(before, after []migrations.Migration) []migrationView {
	had := make(map[string]bool)
	key := func(m migrations.Migration) string { return string(m.Set) + strconv.FormatInt(m.Version, 10) }
	for _, m := range before {
		had[key(m)] = m.Applied
	}
	all := make([]migrationView, len(after))
	for i, m := range after {
		all[i] = migrationView{Set: string(m.Set), Version: m.Version, Name: m.Name, Applied: m.Applied, Now: m.Applied && !had[key(m)]}
		if !m.AppliedAt.IsZero() {
			all[i].AppliedAt = &m.AppliedAt
		}
	}
	return all
}

func (c *call) migrationsText(all []migrationView) string {
	t := table{header: []string{"SET", "VERSION", "STATE", "NAME"}}
	pending, fresh := 0, 0
	for _, m := range all {
		state := cell{"applied", faint}
		switch {
		case !m.Applied:
			state = cell{"pending", yellow}
			pending++
		case m.Now:
			state = cell{"applied now", green}
			fresh++
		}
		t.add(plain(m.Set), plain(strconv.FormatInt(m.Version, 10)), state, plain(m.Name))
	}
	return t.render(c.colour) + fmt.Sprintf("\n%s, %d applied now, %d pending\n", counted(len(all), "migration"), fresh, pending)
}
