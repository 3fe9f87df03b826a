package progress_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/dag/progress"
)

// retry is a policy as Build completes it.
func retry(backoff dag.Backoff, delay time.Duration, jitter float64) *dag.Retry {
	d := dag.Duration(delay)
	return &dag.Retry{Backoff: backoff, Delay: &d, Jitter: &jitter}
}

func TestDelayShapes(t *testing.T) {
	list := retry(dag.BackoffList, 0, 0)
	list.Delays = []dag.Duration{0, dag.Duration(10 * time.Second), dag.Duration(time.Minute)}
	exponential := retry(dag.BackoffExponential, time.Second, 0)
	exponential.Factor, exponential.MaxDelay = 2, dag.Duration(5*time.Second)
	for _, c := range []struct {
		name  string
		retry *dag.Retry
		want  []time.Duration
	}{
		{"list, the last one again", list, []time.Duration{0, 10 * time.Second, time.Minute, time.Minute}},
		{"fixed", retry(dag.BackoffFixed, 3*time.Second, 0), []time.Duration{3 * time.Second, 3 * time.Second, 3 * time.Second}},
		{"exponential up to max_delay", exponential, []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 5 * time.Second, 5 * time.Second}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for i, want := range c.want {
				require.Equal(t, want, progress.Delay(c.retry, i+1, 0, 1), "after failure %d", i+1)
				require.Equal(t, time.Hour, progress.Delay(c.retry, i+1, time.Hour, 1), "Retry-After is honoured")
				require.Equal(t, want, progress.Delay(c.retry, i+1, want/2, 1), "a Retry-After that is sooner changes nothing")
			}
		})
	}
}

func TestDelaysStayInTheirBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		jitter := rapid.Float64Range(0, 1).Draw(t, "jitter")
		delay := time.Duration(rapid.Int64Range(0, math.MaxInt64).Draw(t, "delay"))
		r := retry(rapid.SampledFrom([]dag.Backoff{dag.BackoffFixed, dag.BackoffExponential}).Draw(t, "backoff"), delay, jitter)
		if r.Backoff == dag.BackoffExponential {
			r.Factor = rapid.Float64Range(1, 100).Draw(t, "factor")
			r.MaxDelay = dag.Duration(rapid.Int64Range(int64(delay), math.MaxInt64).Draw(t, "max_delay"))
		}
		n := rapid.IntRange(1, 1000).Draw(t, "failures")
		after := time.Duration(rapid.Int64Range(0, math.MaxInt64).Draw(t, "retry after") >> rapid.IntRange(0, 62).Draw(t, "magnitude"))
		seed := rapid.Int64().Draw(t, "seed")

		exact := *r
		none := 0.0
		exact.Jitter = &none
		shape := float64(progress.Delay(&exact, n, 0, seed))
		got := progress.Delay(r, n, 0, seed)
		require.GreaterOrEqual(t, got, time.Duration(0), "no overflow")
		slack := 1 + shape*1e-9 // of floating point
		require.GreaterOrEqual(t, float64(got), shape*(1-jitter)-slack)
		require.LessOrEqual(t, float64(got), shape*(1+jitter)+slack)
		require.Equal(t, max(got, after), progress.Delay(r, n, after, seed), "the same seed gives the same delay, Retry-After at least")
		if r.MaxDelay > 0 {
			require.LessOrEqual(t, shape, float64(r.MaxDelay)+slack)
		}
	})
}

func TestJitterSpreads(t *testing.T) {
	r := retry(dag.BackoffFixed, time.Second, 0.5)
	least, most := time.Hour, time.Duration(0)
	for seed := range int64(200) {
		d := progress.Delay(r, 1, 0, seed)
		least, most = min(least, d), max(most, d)
	}
	require.InDelta(t, 0.5, least.Seconds(), 0.05)
	require.InDelta(t, 1.5, most.Seconds(), 0.05)
	require.NotEqual(t, progress.Delay(r, 1, 0, 1), progress.Delay(r, 2, 0, 1), "each attempt has its own")
}
