package service

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// elapse lets the bubble's clock run and waits until all has happened.
func elapse(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// counted is a loop that sleeps next after each round, and the number of its rounds.
func counted(next time.Duration) (*Loop, *atomic.Int64) {
	var rounds atomic.Int64
	return NewLoop(LoopConfig{Name: "counter", Round: func(context.Context) time.Duration {
		rounds.Add(1)
		return next
	}}), &rounds
}

func TestLoopSleepsAndIsWoken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		loop, rounds := counted(time.Minute)
		require.NoError(t, loop.Stop(t.Context()), "stopping what never ran is no error")
		require.NoError(t, loop.Start(t.Context()))
		require.NoError(t, loop.Start(t.Context()), "starting again changes nothing")
		synctest.Wait()
		require.EqualValues(t, 1, rounds.Load(), "the first round comes at once")
		elapse(59 * time.Second)
		require.EqualValues(t, 1, rounds.Load())
		elapse(time.Second)
		require.EqualValues(t, 2, rounds.Load())
		loop.Wake()
		synctest.Wait()
		require.EqualValues(t, 3, rounds.Load())
		elapse(59 * time.Second)
		require.EqualValues(t, 3, rounds.Load(), "a wake begins the sleep anew")
		require.NoError(t, loop.Stop(t.Context()))
		elapse(time.Hour)
		require.EqualValues(t, 3, rounds.Load())

		require.NoError(t, loop.Start(t.Context()), "a stopped loop may start again")
		synctest.Wait()
		require.EqualValues(t, 4, rounds.Load())
		require.NoError(t, loop.Stop(t.Context()))
	})
}

func TestLoopUntilWokenSleepsForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		loop, rounds := counted(UntilWoken)
		require.NoError(t, loop.Start(t.Context()))
		elapse(1000 * time.Hour)
		require.EqualValues(t, 1, rounds.Load())
		loop.Wake()
		synctest.Wait()
		require.EqualValues(t, 2, rounds.Load())
		require.NoError(t, loop.Stop(t.Context()))
	})
}

func TestStopEndsTheRoundsContextAndWaitsForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := false
		loop := NewLoop(LoopConfig{Name: "slow", Round: func(ctx context.Context) time.Duration {
			<-ctx.Done()
			<-time.After(10 * time.Second) // what it must still finish
			ended = true
			return 0
		}})
		require.NoError(t, loop.Start(t.Context()))
		synctest.Wait()
		impatient, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := loop.Stop(impatient)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "stop slow")
		require.NoError(t, loop.Stop(t.Context()))
		require.True(t, ended)
	})
}

func TestTheEndOfStartsContextStopsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		loop, rounds := counted(time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		require.NoError(t, loop.Start(ctx))
		cancel()
		elapse(10*time.Second - 1)
		require.EqualValues(t, 10, rounds.Load())
		require.NoError(t, loop.Stop(t.Context()))
	})
}

func TestStartAfterAnImpatientStopWaitsForTheOldRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var began atomic.Int64
		loop := NewLoop(LoopConfig{Name: "slow", Round: func(context.Context) time.Duration {
			began.Add(1)
			<-release
			return UntilWoken
		}})
		require.NoError(t, loop.Start(t.Context()))
		synctest.Wait()
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		require.Error(t, loop.Stop(gone))
		require.NoError(t, loop.Start(t.Context()))
		synctest.Wait()
		require.EqualValues(t, 1, began.Load(), "rounds never overlap")
		close(release)
		synctest.Wait()
		require.EqualValues(t, 2, began.Load())
		require.NoError(t, loop.Stop(t.Context()))
	})
}

func TestAPanicEndsOneRoundOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rounds atomic.Int64
		var said strings.Builder
		loop := NewLoop(LoopConfig{
			Name:   "faulty",
			Logger: slog.New(slog.NewTextHandler(&said, nil)),
			Round: func(context.Context) time.Duration {
				if rounds.Add(1) == 1 {
					panic("once")
				}
				return UntilWoken
			},
		})
		require.NoError(t, loop.Start(t.Context()))
		synctest.Wait()
		require.EqualValues(t, 1, rounds.Load())
		elapse(afterPanic)
		require.EqualValues(t, 2, rounds.Load())
		require.NoError(t, loop.Stop(t.Context()))
		require.Contains(t, said.String(), "loop=faulty")
		require.Contains(t, said.String(), "panic=once")
	})
}

// Rounds never overlap and nothing runs after Stop, whoever starts, wakes and stops at once.
func TestLoopUnderStress(t *testing.T) {
	var inside atomic.Int64
	loop := NewLoop(LoopConfig{Name: "stressed", Round: func(context.Context) time.Duration {
		if inside.Add(1) != 1 {
			panic("two rounds at once")
		}
		inside.Add(-1)
		return 0
	}, Logger: slog.New(failOnLog{t})})
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 200 {
				if err := errors.Join(loop.Start(context.Background()), loop.Stop(context.Background())); err != nil {
					t.Error(err)
				}
				loop.Wake()
			}
		})
	}
	wait.Wait()
	require.NoError(t, loop.Stop(t.Context()))
}

type failOnLog struct{ t *testing.T }

func (failOnLog) Enabled(context.Context, slog.Level) bool { return true }
func (f failOnLog) WithAttrs([]slog.Attr) slog.Handler     { return f }
func (f failOnLog) WithGroup(string) slog.Handler          { return f }
func (f failOnLog) Handle(_ context.Context, record slog.Record) error {
	f.t.Error(record.Message)
	return nil
}

// traced is a member that writes its starts and stops into trace.
func traced(trace *[]string, name string, startErr, stopErr error) Member {
	return Member{Name: name, Service: Funcs{
		OnStart: func(context.Context) error { *trace = append(*trace, "+"+name); return startErr },
		OnStop:  func(context.Context) error { *trace = append(*trace, "-"+name); return stopErr },
	}}
}

func TestGroupStopsInReverseOrder(t *testing.T) {
	var trace []string
	group := NewGroup(traced(&trace, "a", nil, nil), traced(&trace, "b", nil, nil), Member{"nothing", Funcs{}})
	require.NoError(t, group.Start(t.Context()))
	require.NoError(t, group.Start(t.Context()))
	require.NoError(t, group.Stop(t.Context()))
	require.NoError(t, group.Stop(t.Context()))
	require.Equal(t, []string{"+a", "+b", "-b", "-a"}, trace)
}

func TestGroupTellsEveryErrorAndStopsAllTheSame(t *testing.T) {
	broken, stuck := errors.New("broken"), errors.New("stuck")
	var trace []string
	group := NewGroup(traced(&trace, "a", nil, stuck), traced(&trace, "b", nil, nil), traced(&trace, "c", broken, nil), traced(&trace, "d", nil, nil))
	err := group.Start(t.Context())
	require.ErrorIs(t, err, broken)
	require.ErrorIs(t, err, stuck)
	require.ErrorContains(t, err, "start c: broken")
	require.ErrorContains(t, err, "stop a: stuck")
	require.Equal(t, []string{"+a", "+b", "+c", "-b", "-a"}, trace)
	require.NoError(t, group.Stop(t.Context()), "nothing runs any more")
}
