package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/internal/store"
)

func TestAJobOnItsWayInIsNotLost(t *testing.T) {
	t.Parallel()
	timings := Timings{Beat: 500 * time.Millisecond, Misses: 3, Look: 50 * time.Millisecond}
	s := newSuspects(timings)
	unknown := []store.Claim{{Job: store.JobRef{ID: 7, Attempt: 1}}}
	for range 29 {
		require.Empty(t, s.look(unknown))
	}
	require.Equal(t, unknown, s.look(unknown), "unknown for as long as a lease")

	for range 29 {
		require.Empty(t, s.look(unknown), "lost once, it is another suspicion")
	}
	require.Empty(t, s.look(nil), "it has arrived")
	require.Empty(t, s.look(unknown))
	require.Equal(t, 2, newSuspects(Timings{Beat: time.Second, Misses: 3, Look: time.Minute}).enough)
}
