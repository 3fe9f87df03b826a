package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/internal/dbtest"
	"github.com/ax-run/ax/internal/store"
)

func TestListenHearsAgainAfterItsConnectionBroke(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	ctx, stop := context.WithCancel(t.Context())
	heard, done := make(chan string, 10), make(chan struct{})
	go func() {
		defer close(done)
		store.New(pool).Listen(ctx, []string{"One", "two"}, func(channel, payload string) { heard <- channel + ":" + payload })
	}()
	hear := func(want string) {
		t.Helper()
		select {
		case got := <-heard:
			require.Equal(t, want, got)
		case <-time.After(time.Minute):
			require.FailNow(t, "nothing is heard", "missing %s", want)
		}
	}
	for range 2 {
		hear("One:")
		hear("two:")
		_, err := pool.Exec(t.Context(), "SELECT pg_notify('One', 'news')")
		require.NoError(t, err)
		hear("One:news")
		_, err = pool.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid()`)
		require.NoError(t, err)
	}
	stop()
	<-done
}
