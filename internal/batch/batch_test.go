package batch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// gate is a flush that waits for its turn and records its batches; it answers with the items doubled.
type gate struct {
	turn    chan struct{}
	batches [][]int
}

func newGate() *gate { return &gate{turn: make(chan struct{})} }

func (g *gate) flush(ctx context.Context, items []int) ([]int, error) {
	select {
	case <-g.turn:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	g.batches = append(g.batches, slices.Clone(items))
	outs := make([]int, len(items))
	for i, item := range items {
		outs[i] = 2 * item
	}
	return outs, nil
}

// hand makes one call for each item, in order, and returns where their results will be.
func hand(ctx context.Context, b *Batcher[int, int], items ...int) []*result[int] {
	results := make([]*result[int], len(items))
	for i, item := range items {
		results[i] = &result[int]{}
		go func() { results[i].out, results[i].err = b.Do(ctx, item) }()
		synctest.Wait()
	}
	return results
}

func TestWhatGathersDuringAFlushIsTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		b := New(Config[int, int]{Flush: g.flush, Max: 3})
		early := hand(t.Context(), b, 1)
		require.NoError(t, b.Start(t.Context()))
		require.NoError(t, b.Start(t.Context()))
		synctest.Wait()
		late := hand(t.Context(), b, 2, 3, 4, 5)
		close(g.turn)
		synctest.Wait()
		require.Equal(t, [][]int{{1}, {2, 3, 4}, {5}}, g.batches)
		require.Equal(t, &result[int]{out: 2}, early[0])
		for i, r := range late {
			require.Equal(t, &result[int]{out: 2 * (i + 2)}, r)
		}
		require.NoError(t, b.Stop(t.Context()))
	})
}

func TestStopFlushesWhatWasHandedInAndRefusesTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		b := New(Config[int, int]{Flush: g.flush})
		require.NoError(t, b.Start(t.Context()))
		results := hand(t.Context(), b, 1, 2, 3)
		stopped := false
		go func() { stopped = b.Stop(context.Background()) == nil }()
		synctest.Wait()
		require.False(t, stopped)
		require.Error(t, b.Start(t.Context()), "still stopping")
		_, err := b.Do(t.Context(), 4)
		require.ErrorIs(t, err, ErrStopped)
		close(g.turn)
		synctest.Wait()
		require.True(t, stopped)
		for i, r := range results {
			require.Equal(t, &result[int]{out: 2 * (i + 1)}, r)
		}
		require.NoError(t, b.Stop(t.Context()))
		require.NoError(t, b.Start(t.Context()), "a stopped batcher may start again")
		out, err := b.Do(t.Context(), 7)
		require.NoError(t, err)
		require.Equal(t, 14, out)
		require.NoError(t, b.Stop(t.Context()))
	})
}

func TestStopThatLosesPatienceAnswersEveryone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		b := New(Config[int, int]{Flush: g.flush, Max: 1})
		require.NoError(t, b.Start(t.Context()))
		results := hand(t.Context(), b, 1, 2)
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, b.Stop(gone), context.Canceled)
		synctest.Wait()
		require.ErrorIs(t, results[0].err, context.Canceled)
		require.ErrorIs(t, results[1].err, ErrStopped)
	})
}

func TestStopOfWhatNeverRanAnswersEveryone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Config[int, int]{Flush: newGate().flush})
		results := hand(t.Context(), b, 1)
		require.NoError(t, b.Stop(t.Context()))
		synctest.Wait()
		require.ErrorIs(t, results[0].err, ErrStopped)
	})
}

func TestACallerThatGivesUpIsWithdrawnUnlessItIsBeingFlushed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		b := New(Config[int, int]{Flush: g.flush})
		require.NoError(t, b.Start(t.Context()))
		impatient, cancel := context.WithCancel(t.Context())
		inFlight := hand(impatient, b, 1)
		waiting := hand(impatient, b, 2)
		patient := hand(t.Context(), b, 3)
		cancel()
		synctest.Wait()
		require.ErrorIs(t, inFlight[0].err, ErrUnknown)
		require.ErrorIs(t, inFlight[0].err, context.Canceled)
		require.ErrorIs(t, waiting[0].err, context.Canceled)
		require.NotErrorIs(t, waiting[0].err, ErrUnknown)
		close(g.turn)
		synctest.Wait()
		require.Equal(t, [][]int{{1}, {3}}, g.batches)
		require.Equal(t, 6, patient[0].out)
		require.NoError(t, b.Stop(t.Context()))
	})
}

func TestAFaultOfOneFlushIsItsCallersErrorOnly(t *testing.T) {
	broken := errors.New("broken")
	for name, test := range map[string]struct {
		fault func() ([]int, error)
		want  string
	}{
		"error":       {func() ([]int, error) { return nil, broken }, "broken"},
		"panic":       {func() ([]int, error) { panic("dead") }, "flush panicked: dead"},
		"wrong count": {func() ([]int, error) { return []int{1, 2}, nil }, "returned 2 results for 1 items"},
	} {
		t.Run(name, func(t *testing.T) {
			b := New(Config[int, int]{Flush: func(_ context.Context, items []int) ([]int, error) {
				if items[0] == 0 {
					return test.fault()
				}
				return items, nil
			}})
			require.NoError(t, b.Start(t.Context()))
			_, err := b.Do(t.Context(), 0)
			require.ErrorContains(t, err, test.want)
			out, err := b.Do(t.Context(), 5)
			require.NoError(t, err)
			require.Equal(t, 5, out)
			require.NoError(t, b.Stop(t.Context()))
		})
	}
}

// Every caller gets its own result, once, whatever happens at the same time.
func TestBatcherUnderStress(t *testing.T) {
	var flushing atomic.Int64
	b := New(Config[int, string]{Max: 7, Flush: func(_ context.Context, items []int) ([]string, error) {
		if flushing.Add(1) != 1 {
			return nil, errors.New("two flushes at once")
		}
		defer flushing.Add(-1)
		outs := make([]string, len(items))
		for i, item := range items {
			outs[i] = fmt.Sprint(item)
		}
		return outs, nil
	}})
	require.NoError(t, b.Start(t.Context()))
	var wait sync.WaitGroup
	for caller := range 50 {
		wait.Go(func() {
			for i := range 100 {
				item := caller*1000 + i
				if out, err := b.Do(context.Background(), item); err != nil || out != fmt.Sprint(item) {
					t.Errorf("item %d: %q, %v", item, out, err)
				}
			}
		})
	}
	wait.Wait()
	require.NoError(t, b.Stop(t.Context()))
}
