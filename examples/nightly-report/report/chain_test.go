package report

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden pages anew")

// The dates of the demo; the last one meets the dirty record.
var goldenDates = []string{"2001-01-15", "2001-02-14", "2001-03-12"}

func TestPagesAreGolden(t *testing.T) {
	for _, date := range goldenDates {
		t.Run(date, func(t *testing.T) {
			page := build(t, date)
			golden := filepath.Join("testdata", fileName(date))
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(page.HTML), 0o600))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), page.HTML, "if the change is meant: go test ./examples/nightly-report/report -update")
		})
	}
}

// What data/README.md says: every origin has a region, and one destination has no state.
func TestDataHasOneDirtyRecord(t *testing.T) {
	rows, err := readRows()
	require.NoError(t, err)
	require.Len(t, rows, 20_000)
	airports, err := readAirports()
	require.NoError(t, err)
	dirty := 0
	for _, r := range rows {
		_, _, err := locate(Flight{Origin: r.Origin, Destination: r.Destination}, airports)
		require.NoError(t, err)
		if !stateKnown(airports[r.Destination].state) {
			dirty++
			require.Contains(t, r.Date, "2001/03/12")
		}
	}
	require.Equal(t, 1, dirty)
}

// build runs the whole chain in this process, as the workflow would.
func build(t *testing.T, date string) Page {
	t.Helper()
	ctx := context.Background()
	day, err := Extract(ctx, Request{Date: date})
	require.NoError(t, err)
	checked, err := Validate(ctx, day)
	require.NoError(t, err)
	ranking, err := WorstDelays(ctx, Branches{
		Northeast:   branch(t, Northeast, checked),
		Midwest:     branch(t, Midwest, checked),
		South:       branch(t, South, checked),
		West:        branch(t, West, checked),
		Territories: branch(t, Territories, checked),
	})
	require.NoError(t, err)
	page, err := Render(ctx, Result{Day: checked, Ranking: ranking})
	require.NoError(t, err)
	return page
}

// branch is nil for a branch that fails for good, as a skipped node's output is.
func branch(t *testing.T, r Region, day Checked) *Totals {
	t.Helper()
	totals, err := Aggregate(r)(context.Background(), day)
	var dirty *DataError
	if errors.As(err, &dirty) {
		return nil
	}
	require.NoError(t, err)
	return &totals
}
