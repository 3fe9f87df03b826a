package store

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ax-run/ax/internal/store/internal/db"
)

// Calendar is a named set of dates, such as public holidays.
type Calendar struct {
	Name, Title string
	// Dates are midnights in UTC, in order.
	Dates     []time.Time
	UpdatedAt time.Time
	UpdatedBy string
}

func calendar(r db.ListCalendarsRow) Calendar {
	return Calendar{Name: r.Name, Title: r.Title, Dates: r.Dates, UpdatedAt: r.UpdatedAt, UpdatedBy: r.UpdatedBy}
}

// Calendars lists a namespace's calendars by name, at most limit of those after a name.
func (s *Store) Calendars(ctx context.Context, namespace int64, after string, limit int) ([]Calendar, error) {
	rows, err := db.New(s.pool).ListCalendars(ctx, db.ListCalendarsParams{NamespaceID: namespace, After: after, Most: int32(limit)})
	if err != nil {
		return nil, fmt.Errorf("list calendars: %w", err)
	}
	return mapRows(rows, func(r db.ListCalendarsRow) (Calendar, error) { return calendar(r), nil })
}

// Calendar reads one, or returns ErrNotFound.
func (s *Store) Calendar(ctx context.Context, namespace int64, name string) (Calendar, error) {
	got, err := s.CalendarsNamed(ctx, namespace, []string{name})
	if err == nil && len(got) == 0 {
		return Calendar{}, found(pgx.ErrNoRows, "calendar %q", name)
	}
	if err != nil {
		return Calendar{}, err
	}
	return got[0], nil
}

// CalendarsNamed reads those among some names that exist.
func (s *Store) CalendarsNamed(ctx context.Context, namespace int64, names []string) ([]Calendar, error) {
	if len(names) == 0 {
		return nil, nil
	}
	rows, err := db.New(s.pool).CalendarsNamed(ctx, db.CalendarsNamedParams{NamespaceID: namespace, Names: names})
	if err != nil {
		return nil, fmt.Errorf("read calendars: %w", err)
	}
	return mapRows(rows, func(r db.CalendarsNamedRow) (Calendar, error) { return calendar(db.ListCalendarsRow(r)), nil })
}

// LockCalendars reads those among some names that exist, and keeps them from being deleted until the transaction ends.
func (s *Store) LockCalendars(ctx context.Context, tx pgx.Tx, namespace int64, names []string) ([]Calendar, error) {
	if len(names) == 0 {
		return nil, nil
	}
	rows, err := db.New(tx).LockCalendars(ctx, db.LockCalendarsParams{NamespaceID: namespace, Names: names})
	if err != nil {
		return nil, fmt.Errorf("lock calendars: %w", err)
	}
	return mapRows(rows, func(r db.LockCalendarsRow) (Calendar, error) { return calendar(db.ListCalendarsRow(r)), nil })
}

// AllCalendars reads all of a namespace's calendars.
func (s *Store) AllCalendars(ctx context.Context, tx pgx.Tx, namespace int64) ([]Calendar, error) {
	rows, err := db.New(tx).ListCalendars(ctx, db.ListCalendarsParams{NamespaceID: namespace, Most: maxCalendars})
	if err != nil {
		return nil, fmt.Errorf("list calendars: %w", err)
	}
	return mapRows(rows, func(r db.ListCalendarsRow) (Calendar, error) { return calendar(r), nil })
}

// maxCalendars is more than a namespace has use for.
const maxCalendars = 10_000

// PutCalendar makes or replaces a calendar. What is decided from now on goes by it.
func (s *Store) PutCalendar(ctx context.Context, namespace int64, c Calendar) error {
	if c.Dates == nil {
		c.Dates = []time.Time{}
	}
	err := db.New(s.pool).PutCalendar(ctx, db.PutCalendarParams{NamespaceID: namespace, Name: c.Name, Title: c.Title, Dates: c.Dates, Actor: c.UpdatedBy})
	if err != nil {
		return fmt.Errorf("store calendar %q: %w", c.Name, err)
	}
	return nil
}

// CalendarInUseError names workflows whose schedules use a calendar.
type CalendarInUseError struct {
	Calendar  string
	Workflows []string
}

// Error says it.
func (e *CalendarInUseError) Error() string {
	return fmt.Sprintf("calendar %s is used by schedules of %s: register them without it first", e.Calendar, strings.Join(e.Workflows, ", "))
}

// DeleteCalendar removes a calendar that no schedule uses. ErrNotFound and *CalendarInUseError say why it was not.
func (s *Store) DeleteCalendar(ctx context.Context, namespace int64, name string) error {
	return s.InTx(ctx, func(tx pgx.Tx) error {
		q := db.New(tx)
		if _, err := q.LockCalendar(ctx, db.LockCalendarParams{NamespaceID: namespace, Name: name}); err != nil {
			return found(err, "calendar %q", name)
		}
		users, err := q.CalendarUsers(ctx, db.CalendarUsersParams{NamespaceID: namespace, Name: name})
		if err != nil {
			return fmt.Errorf("look for users of calendar %q: %w", name, err)
		}
		if len(users) > 0 {
			return &CalendarInUseError{Calendar: name, Workflows: users}
		}
		if err := q.DeleteCalendar(ctx, db.DeleteCalendarParams{NamespaceID: namespace, Name: name}); err != nil {
			return fmt.Errorf("delete calendar %q: %w", name, err)
		}
		return nil
	})
}

// readCalendars fills in the calendars of those claimed schedules that use any.
func readCalendars(ctx context.Context, tx pgx.Tx, due []DueSchedule) error {
	var users []int64
	for i := range due {
		if bytes.Contains(due[i].Spec, []byte(`"calendars"`)) {
			users = append(users, due[i].ID)
		}
	}
	if len(users) == 0 {
		return nil
	}
	rows, err := db.New(tx).CalendarsOfSchedules(ctx, users)
	if err != nil {
		return err
	}
	of := make(map[int64][]Calendar)
	for _, r := range rows {
		of[r.ScheduleID] = append(of[r.ScheduleID], Calendar{Name: r.Name, Dates: r.Dates})
	}
	for i := range due {
		due[i].Calendars = of[due[i].ID]
	}
	return nil
}
