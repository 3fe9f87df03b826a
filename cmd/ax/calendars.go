package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ax-run/ax/api"
)

func (c *client) calendars(ctx context.Context) (api.Page[api.Calendar], error) {
	return pages[api.Calendar](ctx, c, c.path("calendars"), nil, noLimit)
}

func (c *client) calendar(ctx context.Context, name string) (got api.Calendar, err error) {
	return got, c.get(ctx, c.path("calendars", name), nil, &got)
}

func (c *client) putCalendar(ctx context.Context, name string, body api.CalendarBody) (got api.Calendar, err error) {
	return got, c.write(ctx, http.MethodPut, c.path("calendars", name), body, &got)
}

func newCalendars(c *call) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "calendars",
		Short: "Work with calendars: named sets of dates that schedules include or exclude",
		Long: "Works with calendars, named sets of dates such as public holidays. A schedule says which it goes by:\n" +
			"  calendars: [{name: holidays}]                 not on these dates\n" +
			"  calendars: [{name: workdays, mode: include}]  only on these dates",
		RunE: needVerb,
	}
	cmd.AddCommand(newCalendarsList(c), newCalendarsShow(c), newCalendarsPut(c), newCalendarsDelete(c))
	return cmd
}

func newCalendarsList(c *call) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List calendars", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, err := c.client()
			if err != nil {
				return err
			}
			page, err := client.calendars(cmd.Context())
			if err != nil {
				return err
			}
			return c.show(page, func() string {
				t := table{header: []string{"CALENDAR", "DATES", "NEXT", "TITLE", "CHANGED"}}
				for _, k := range page.Items {
					t.add(plain(k.Name), plain(strconv.Itoa(len(k.Dates))), plain(nextDate(k, c.now())), plain(shorten(k.Title)), plain(c.timeText(&k.UpdatedAt)))
				}
				return t.render(c.colour)
			})
		},
	}
}

// nextDate is the first date of a calendar from today on.
func nextDate(k api.Calendar, now time.Time) string {
	today := now.Format(time.DateOnly)
	if i := slices.IndexFunc(k.Dates, func(d string) bool { return d >= today }); i >= 0 {
		return k.Dates[i]
	}
	return ""
}

func newCalendarsShow(c *call) *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Short: "Show a calendar's dates", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := c.client()
			if err != nil {
				return err
			}
			got, err := client.calendar(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return c.show(got, func() string { return strings.Join(append(got.Dates, ""), "\n") })
		},
	}
}

func newCalendarsPut(c *call) *cobra.Command {
	var title, file string
	cmd := &cobra.Command{
		Use:   "put NAME [DATE...]",
		Short: "Make a calendar, or replace its dates",
		Long: "Makes a calendar of dates, or replaces the dates of one. They are said, or read from a file: one on a line, where what follows\n" +
			"a # is a note. Schedules go by it from now on; what was decided stays.",
		Example: "  ax calendars put holidays 2026-12-25 2026-12-26 --title \"Days off\"\n" +
			"  ax calendars put holidays --file holidays.txt",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dates, err := c.readDates(cmd.Context(), args[1:], file)
			if err != nil {
				return err
			}
			client, err := c.client()
			if err != nil {
				return err
			}
			got, err := client.putCalendar(cmd.Context(), args[0], api.CalendarBody{Title: title, Dates: dates})
			if err != nil {
				return err
			}
			return c.show(got, func() string { return fmt.Sprintf("calendar %s has %s\n", got.Name, counted(len(got.Dates), "date")) })
		},
	}
	cmd.Flags().StringVar(&title, "title", "", "what it is")
	cmd.Flags().StringVarP(&file, "file", "f", "", "a file of dates; - is standard input")
	return cmd
}

// readDates are the dates said and those of a file.
func (c *call) readDates(ctx context.Context, said []string, file string) ([]string, error) {
	dates := append([]string{}, said...)
	if file == "" {
		return dates, nil
	}
	text, err := c.readInput(ctx, file)
	if err != nil {
		if os.IsNotExist(err) {
			return nil, failure(exitUsage, "there is no file %s", file)
		}
		return nil, failure(unlessTold(err), "read dates: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line != "" {
			dates = append(dates, line)
		}
	}
	return dates, nil
}

func newCalendarsDelete(c *call) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "delete NAME", Short: "Delete a calendar that no schedule uses", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := c.client()
			if err != nil {
				return err
			}
			got, err := client.calendar(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if err := c.confirm(cmd.Context(), yes, fmt.Sprintf("delete calendar %s with its %s", got.Name, counted(len(got.Dates), "date"))); err != nil {
				return err
			}
			if err := client.remove(cmd.Context(), client.path("calendars", got.Name)); err != nil {
				return err
			}
			return c.show(got, func() string { return fmt.Sprintf("calendar %s is deleted\n", got.Name) })
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}
