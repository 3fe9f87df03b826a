package report

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Extract picks the flights that departed on the business date. A date that the data
// does not cover, or that is no date, is a *DataError.
func Extract(_ context.Context, in Request) (Day, error) {
	if err := checkDate(in.Date); err != nil {
		return Day{}, err
	}
	rows, err := readRows()
	if err != nil {
		return Day{}, err
	}
	day := Day{Date: in.Date}
	prefix := strings.ReplaceAll(in.Date, "-", "/") + " "
	for _, r := range rows {
		if at, ok := strings.CutPrefix(r.Date, prefix); ok {
			day.Flights = append(day.Flights, Flight{at, r.Delay, r.Distance, r.Origin, r.Destination})
		}
	}
	if len(day.Flights) == 0 {
		return Day{}, notCovered(in.Date, rows)
	}
	return day, nil
}

func checkDate(date string) error {
	if _, err := time.Parse(time.DateOnly, date); err != nil {
		return &DataError{Subject: date, Problems: []string{fmt.Sprintf("%q is no date; write it as 2001-01-15", date)}}
	}
	return nil
}

func notCovered(date string, rows []row) error {
	first, _, _ := strings.Cut(rows[0].Date, " ")
	last, _, _ := strings.Cut(rows[len(rows)-1].Date, " ")
	return &DataError{Subject: date, Problems: []string{fmt.Sprintf("no flights: the data covers %s to %s", first, last)}}
}
