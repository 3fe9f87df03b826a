package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/ax-run/ax/internal/store"
)

// Calendar is a named set of dates that schedules include or exclude, such as public holidays.
type Calendar struct {
	Name      string    `json:"name"`
	Title     string    `json:"title,omitempty"`
	Dates     []string  `json:"dates" nullable:"false" doc:"In order, such as 2026-12-25."`
	UpdatedAt time.Time `json:"updated_at"`
	UpdatedBy string    `json:"updated_by"`
}

// CalendarBody is what a calendar is to be.
type CalendarBody struct {
	Title string   `json:"title,omitempty" maxLength:"200"`
	Dates []string `json:"dates" nullable:"false" maxItems:"10000" doc:"Dates such as 2026-12-25, in any order."`
}

// OfCalendar is the path of one calendar.
type OfCalendar struct {
	InNamespace
	Name string `path:"name" pattern:"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$" example:"holidays"`
}

type putCalendarInput struct {
	OfCalendar
	Body CalendarBody
}

type listCalendarsInput struct {
	InNamespace
	PageInput
}

type calendarMark string

func (a *API) calendarRoutes() {
	handle(a, op(http.MethodGet, ns+"/calendars", "list-calendars", "calendars"), "List calendars by name", a.listCalendars)
	handle(a, op(http.MethodGet, ns+"/calendars/{name}", "get-calendar", "calendars"), "Show one calendar", a.getCalendar)
	handle(a, op(http.MethodPut, ns+"/calendars/{name}", "put-calendar", "calendars"),
		"Make or replace a calendar; what is decided from then on goes by it", a.putCalendar)
	remove := op(http.MethodDelete, ns+"/calendars/{name}", "delete-calendar", "calendars")
	remove.DefaultStatus = http.StatusNoContent
	handle(a, remove, "Delete a calendar that no schedule uses", a.deleteCalendar)
}

func (a *API) listCalendars(ctx context.Context, in *listCalendarsInput) (*body[Page[Calendar]], error) {
	after, err := readCursor(in.Cursor, calendarMark(""))
	if err != nil {
		return nil, err
	}
	namespace, err := a.namespace(ctx, in.Namespace)
	if err != nil {
		return nil, err
	}
	rows, err := a.Store.Calendars(ctx, namespace, string(after), in.Limit+1)
	if err != nil {
		return nil, err
	}
	return answerOf(paged(rows, in.Limit, calendarView, func(c store.Calendar) calendarMark { return calendarMark(c.Name) }))
}

func (a *API) getCalendar(ctx context.Context, in *OfCalendar) (*body[Calendar], error) {
	namespace, err := a.namespace(ctx, in.Namespace)
	if err != nil {
		return nil, err
	}
	c, err := a.Store.Calendar(ctx, namespace, in.Name)
	return answerOf(calendarView(c), err)
}

func (a *API) putCalendar(ctx context.Context, in *putCalendarInput) (*body[Calendar], error) {
	dates, err := readDates(in.Body.Dates)
	if err != nil {
		return nil, err
	}
	namespace, err := a.namespace(ctx, in.Namespace)
	if err != nil {
		return nil, err
	}
	c := store.Calendar{Name: in.Name, Title: in.Body.Title, Dates: dates, UpdatedBy: actor(ctx)}
	if err := a.Store.PutCalendar(ctx, namespace, c); err != nil {
		return nil, err
	}
	return a.getCalendar(ctx, &in.OfCalendar)
}

// readDates reads dates, and says of all that are none that they are not.
func readDates(texts []string) ([]time.Time, error) {
	var dates []time.Time
	var wrong []ProblemDetail
	for i, text := range texts {
		at, err := time.Parse(time.DateOnly, text)
		if err != nil || at.Year() < 1 {
			wrong = append(wrong, ProblemDetail{Location: fmt.Sprintf("body.dates[%d]", i), Message: "want a date such as 2026-12-25", Value: short(text)})
			continue
		}
		dates = append(dates, at)
	}
	if wrong != nil {
		return nil, problem(http.StatusUnprocessableEntity, "the request is not valid").with(wrong...)
	}
	slices.SortFunc(dates, time.Time.Compare)
	return slices.Compact(dates), nil
}

func (a *API) deleteCalendar(ctx context.Context, in *OfCalendar) (*struct{}, error) {
	namespace, err := a.namespace(ctx, in.Namespace)
	if err != nil {
		return nil, err
	}
	return nil, a.Store.DeleteCalendar(ctx, namespace, in.Name)
}

func calendarView(c store.Calendar) Calendar {
	v := Calendar{Name: c.Name, Title: c.Title, Dates: make([]string, len(c.Dates)), UpdatedAt: utc(c.UpdatedAt), UpdatedBy: c.UpdatedBy}
	for i, d := range c.Dates {
		v.Dates[i] = d.Format(time.DateOnly)
	}
	return v
}
