package progress_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/ax-run/ax/dag/progress"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// one is a waiter for one pool.
func one(pool, weight int) progress.Waiter {
	return progress.Waiter{Uses: []progress.Use{{Pool: pool, Weight: weight}}, Priority: 2, Since: noon}
}

// both is a waiter for the pools 0 and 1.
func both(weight0, weight1 int) progress.Waiter {
	w := one(0, weight0)
	w.Uses = append(w.Uses, progress.Use{Pool: 1, Weight: weight1})
	return w
}

func TestAdmit(t *testing.T) {
	urgent, old := one(0, 1), one(0, 1)
	urgent.Priority, old.Since = 1, noon.Add(-time.Minute)
	late := progress.Pool{Slots: 9, Rate: progress.Rate{Count: 10, Per: time.Second}, Next: noon.Add(30 * time.Millisecond)}
	for name, c := range map[string]struct {
		pools   []progress.Pool
		waiters []progress.Waiter
		want    []int
		later   time.Duration
	}{
		"as many as there are slots": {pools: []progress.Pool{{Slots: 2}}, waiters: []progress.Waiter{one(0, 1), one(0, 1), one(0, 1)}, want: []int{0, 1}},
		"priority, then age":         {pools: []progress.Pool{{Slots: 2}}, waiters: []progress.Waiter{one(0, 1), old, urgent}, want: []int{2, 1}},
		"weights add up":             {pools: []progress.Pool{{Slots: 5, Used: 1}}, waiters: []progress.Waiter{one(0, 3), one(0, 1), one(0, 1)}, want: []int{0, 1}},
		"the light do not pass the heavy": {
			pools: []progress.Pool{{Slots: 3, Used: 1}}, waiters: []progress.Waiter{one(0, 3), one(0, 1)}},
		"what never fits keeps nobody out": {
			pools: []progress.Pool{{Slots: 3}}, waiters: []progress.Waiter{one(0, 4), one(0, 3)}, want: []int{1}},
		"all its pools or none": {
			pools: []progress.Pool{{Slots: 1}, {Slots: 1, Used: 1}}, waiters: []progress.Waiter{both(1, 1), one(0, 1)}, want: []int{1}},
		"a full pool hides nothing of another": {
			pools:   []progress.Pool{{Slots: 1, Used: 1}, {Slots: 2}},
			waiters: []progress.Waiter{one(0, 1), both(1, 2), one(1, 1), one(1, 1)}, want: []int{2, 3}},
		"two obstacles keep nobody out": {
			pools: []progress.Pool{{Slots: 2, Used: 1}, {Slots: 2, Used: 1}}, waiters: []progress.Waiter{both(2, 2), one(0, 1), one(1, 1)}, want: []int{1, 2}},
		"a paused pool":       {pools: []progress.Pool{{Slots: 1, Paused: true}, {Slots: 1}}, waiters: []progress.Waiter{one(0, 1), both(1, 1), one(1, 1)}, want: []int{2}},
		"no such pool":        {pools: []progress.Pool{{Slots: 1}}, waiters: []progress.Waiter{both(1, 1), one(-1, 1), one(0, 1)}, want: []int{2}},
		"no limit":            {pools: []progress.Pool{{Used: 100}}, waiters: []progress.Waiter{one(0, 1000)}, want: []int{0}},
		"the rate says later": {pools: []progress.Pool{late}, waiters: []progress.Waiter{one(0, 1), one(0, 1)}, later: 30 * time.Millisecond},
		"no time to wait for where a pool is full": {
			pools: []progress.Pool{late, {Slots: 1, Used: 1}}, waiters: []progress.Waiter{both(1, 1)}},
	} {
		t.Run(name, func(t *testing.T) {
			got, later := progress.Admit(noon, c.pools, c.waiters)
			require.Equal(t, c.want, got)
			if c.later == 0 {
				require.Zero(t, later)
				return
			}
			require.Equal(t, noon.Add(c.later), later)
		})
	}
}

// TestAdmitNeverOverfills draws pools and waiters, and wants no pool to hold more than it has, and nobody left out who fits and whom
// nobody before him is in need of the room.
func TestAdmitNeverOverfills(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pools := make([]progress.Pool, rapid.IntRange(1, 4).Draw(t, "pools"))
		for i := range pools {
			pools[i] = progress.Pool{Slots: rapid.IntRange(0, 4).Draw(t, "slots"), Paused: rapid.IntRange(0, 9).Draw(t, "paused") == 0}
			pools[i].Used = rapid.IntRange(0, pools[i].Slots).Draw(t, "used")
		}
		waiters := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) progress.Waiter {
			w := progress.Waiter{Priority: rapid.IntRange(1, 4).Draw(t, "priority"), Since: noon.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "since")))}
			for i := range pools {
				if rapid.Bool().Draw(t, "uses") {
					w.Uses = append(w.Uses, progress.Use{Pool: i, Weight: rapid.IntRange(1, 4).Draw(t, "weight")})
				}
			}
			return w
		}), 0, 12).Draw(t, "waiters")
		before := slices.Clone(pools)
		admitted, _ := progress.Admit(noon, pools, waiters)
		used := make([]int, len(pools))
		for i := range before {
			used[i] = before[i].Used
		}
		for _, i := range admitted {
			for _, u := range waiters[i].Uses {
				used[u.Pool] += u.Weight
				require.False(t, before[u.Pool].Paused)
			}
		}
		for i, p := range pools {
			require.Equal(t, used[i], p.Used)
			require.True(t, p.Slots == 0 || p.Used <= p.Slots, "pool %d holds %d of %d", i, p.Used, p.Slots)
		}
		again, _ := progress.Admit(noon, pools, without(waiters, admitted))
		require.Empty(t, again, "a second look finds nobody more")
	})
}

func without(waiters []progress.Waiter, gone []int) (rest []progress.Waiter) {
	for i, w := range waiters {
		if !slices.Contains(gone, i) {
			rest = append(rest, w)
		}
	}
	return rest
}

// TestRateIsKept lets a pool be looked at now and then, mostly late, and counts the starts.
func TestRateIsKept(t *testing.T) {
	for _, c := range []struct {
		rate  string
		burst int
		look  time.Duration
		least int
		most  int
	}{
		{"10/s", 1, 7 * time.Millisecond, 99, 101},
		{"10/s", 5, 7 * time.Millisecond, 103, 105},
		{"100/m", 1, 20 * time.Millisecond, 16, 18},
		{"1000/s", 1, 5 * time.Millisecond, 9900, 10030},
		{"30/s", 1, 33 * time.Millisecond, 295, 302},
	} {
		t.Run(c.rate, func(t *testing.T) {
			r, err := progress.ParseRate(c.rate)
			require.NoError(t, err)
			require.Equal(t, c.rate, r.String())
			r.Burst = c.burst
			pools := []progress.Pool{{Rate: r}}
			waiters := make([]progress.Waiter, 200)
			for i := range waiters {
				waiters[i] = one(0, 1)
			}
			starts := 0
			for at := time.Duration(0); at < 10*time.Second; at += c.look {
				got, later := progress.Admit(noon.Add(at), pools, waiters)
				starts += len(got)
				require.True(t, later.After(noon.Add(at)), "others are told when")
			}
			require.GreaterOrEqual(t, starts, c.least)
			require.LessOrEqual(t, starts, c.most)
			got, _ := progress.Admit(noon.Add(time.Hour), pools, waiters)
			require.LessOrEqual(t, len(got), c.burst+int(25*time.Millisecond/(r.Per/time.Duration(r.Count))), "a rest is not made up beyond the burst")
		})
	}
}

func TestRatesThatAreNone(t *testing.T) {
	for _, text := range []string{"", "10", "10/", "/s", "0/s", "-1/s", "1.5/s", "10/w", "10 / s", "10/s/s", "1000001/s", "1e3/s"} {
		_, err := progress.ParseRate(text)
		require.ErrorContains(t, err, "10/s", text)
	}
	require.Empty(t, progress.Rate{}.String())
}
