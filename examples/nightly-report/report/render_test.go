package report

import (
	"context"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestRenderEscapes(t *testing.T) {
	evil := `<script>"&'`
	page, err := Render(context.Background(), Result{
		Day: Checked{Date: "2001-01-15", Suspects: []Suspect{{Midwest, evil}}},
		Ranking: Ranking{
			Regions: []Totals{{Region: South, States: []State{{Code: evil, Flights: 1}}}},
			Worst:   []Leg{{Flight{evil, 1, 1, evil, evil}, evil, evil}},
		},
	})
	require.NoError(t, err)
	require.NotContains(t, page.HTML, "<script")
	require.Contains(t, page.HTML, "<b>Branch Midwest skipped:</b> &lt;script&gt;")
}

func TestRenderNamesASkippedBranchWithoutADirtyRecord(t *testing.T) {
	page, err := Render(context.Background(), Result{
		Day:     Checked{Date: "2001-01-15"},
		Ranking: Ranking{Regions: []Totals{{Region: South}, {Region: West}, {Region: Midwest}, {Region: Territories}}},
	})
	require.NoError(t, err)
	require.Contains(t, page.HTML, "<b>Branch Northeast skipped:</b> the branch failed; see its log in the run")
	require.Equal(t, 1, strings.Count(page.HTML, "skipped:"))
	require.Contains(t, page.HTML, "No flights in the sample departed from here.")
}

func TestRenderRefusesABadDate(t *testing.T) {
	_, err := Render(context.Background(), Result{Day: Checked{Date: "today"}})
	requireDirty(t, err, "is no date")
}

func TestChartIsWellFormed(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("testdata", fileName("2001-01-15")))
	require.NoError(t, err)
	html := string(page)
	start, end := strings.Index(html, "<svg"), strings.Index(html, "</svg>")
	d := xml.NewDecoder(strings.NewReader(html[start : end+len("</svg>")]))
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
	}
}

// Whatever the figures, bars and grid lines stay in the plot, and there are few lines.
func TestChartFits(t *testing.T) {
	state := rapid.Custom(func(t *rapid.T) State {
		n := rapid.IntRange(1, 50).Draw(t, "flights")
		return State{Code: "XX", Flights: n, Delay: n * rapid.IntRange(-maxDelay, maxDelay).Draw(t, "mean")}
	})
	rapid.Check(t, func(t *rapid.T) {
		c := newChart(rapid.SliceOfN(state, 0, 60).Draw(t, "states"))
		for _, b := range c.Bars {
			require.GreaterOrEqual(t, b.X, plotLeft)
			require.LessOrEqual(t, b.X+b.Width, plotLeft+plotWidth+1)
			require.LessOrEqual(t, b.Y+b.Height, c.Height)
		}
		require.LessOrEqual(t, len(c.Ticks), 9)
		require.GreaterOrEqual(t, len(c.Ticks), 2)
		require.Equal(t, plotLeft, c.Ticks[0].X)
		require.Equal(t, plotLeft+plotWidth, c.Ticks[len(c.Ticks)-1].X)
	})
}

func TestSteps(t *testing.T) {
	step, got := 10, []int{}
	for range 7 {
		got = append(got, step/10)
		step = nextStep(step)
	}
	require.Equal(t, []int{1, 2, 5, 10, 20, 50, 100}, got)
}

func TestNumbers(t *testing.T) {
	for _, c := range []struct{ a, b, want int }{{7, 2, 4}, {-7, 2, -4}, {5, 3, 2}, {-4, 3, -1}, {1, 0, 0}, {0, 9, 0}} {
		require.Equal(t, c.want, ratio(c.a, c.b), "%d / %d", c.a, c.b)
	}
	require.Equal(t, "7.8", tenths(78))
	require.Equal(t, "−0.5", tenths(-5))
	require.Equal(t, "−50", whole(-50))
	require.Equal(t, "33 %", percent(1, 3))
	require.Equal(t, "–", percent(0, 0))
}
