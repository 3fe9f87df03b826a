package main

import (
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/ax-run/ax/api"
)

// auditFlags are what `ax audit` may be told.
type auditFlags struct {
	actor, operation, from, to string
	all                        bool
	limit                      int
}

func newAudit(c *call) *cobra.Command {
	var f auditFlags
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Show who changed what",
		Long: "Shows who changed what through the API, or tried to, the newest first; -o json shows what was asked, what was there before and what was\n" +
			"answered. It takes the role admin.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, err := c.client()
			if err != nil {
				return err
			}
			query, err := f.query(c)
			if err != nil {
				return err
			}
			page, err := pages[api.AuditRecord](cmd.Context(), client, auditPath, query, f.limit)
			if err != nil {
				return err
			}
			return c.show(page, func() string { return c.auditText(page.Items) })
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.actor, "actor", "", "only whose, such as token:deploy")
	flags.StringVar(&f.operation, "operation", "", "only one operation, such as trigger-run")
	flags.StringVar(&f.from, "from", "", "at this instant or later, or a time from now such as -24h")
	flags.StringVar(&f.to, "to", "", "before this instant")
	flags.BoolVar(&f.all, "all", false, "of all namespaces, and what is of none")
	flags.IntVarP(&f.limit, "limit", "n", 50, "how many at most")
	return cmd
}

func (f auditFlags) query(c *call) (url.Values, error) {
	query := url.Values{}
	if f.limit < 1 {
		return nil, failure(exitUsage, "-n %d is too small", f.limit)
	}
	if !f.all {
		query.Set("namespace", c.remote.namespace)
	}
	if f.actor != "" {
		query.Set("actor", f.actor)
	}
	if f.operation != "" {
		query.Set("operation", f.operation)
	}
	for name, text := range map[string]string{"from": f.from, "to": f.to} {
		at, err := c.instant(name, text)
		if err != nil {
			return nil, err
		}
		if !at.IsZero() {
			query.Set(name, at.UTC().Format("2006-01-02T15:04:05.999999999Z07:00"))
		}
	}
	return query, nil
}

func (c *call) auditText(records []api.AuditRecord) string {
	t := table{header: []string{"TIME", "WHO", "DID", "ANSWER", "PATH", "FROM"}}
	for _, r := range records {
		status := "none"
		if r.Status != nil {
			status = strconv.Itoa(int(*r.Status))
		}
		t.add(plain(c.timeText(&r.At)), plain(r.Actor), plain(r.Operation), plain(status), plain(shorten(r.Path)), plain(r.Address))
	}
	return t.render(c.colour)
}
