package progress

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/ax-run/ax/dag"
)

// verdict is what a failed attempt leads to.
type verdict struct {
	retry  bool
	after  time.Duration
	reason Reason
}

// judge decides whether a failed attempt is repeated (S16): first its class, then the budget of its
// kind. n already counts the failure.
func judge(node *dag.Node, n *Node, err *Error, seed int64) verdict {
	switch {
	case err.Class == Permanent, node.Approval != nil:
		return verdict{reason: ReasonResult} // a person who has not decided in time is not asked again
	case node.Idempotent != nil && !*node.Idempotent:
		return verdict{reason: ReasonMayHaveRun}
	case err.Class == HandedBack, err.Class == Lost && n.Lost <= *node.Retry.MaxLost:
		return verdict{retry: true, reason: ReasonReroute}
	case err.Class == Lost || n.Failures >= node.Retry.MaxAttempts || !retryable(node.Retry.On, err.Code):
		return verdict{reason: ReasonResult}
	}
	v := verdict{retry: true, reason: ReasonRetry}
	if node.Child == nil { // a child run has delays of its own
		v.after = Delay(node.Retry, n.Failures, err.RetryAfter, seed)
	}
	return v
}

func retryable(on *dag.RetryOn, code string) bool {
	if on == nil {
		return true
	}
	for _, c := range on.Except {
		if c == code {
			return false
		}
	}
	for _, c := range on.Codes {
		if c == code {
			return true
		}
	}
	return len(on.Codes) == 0
}

// Delay is the time between the end of failed attempt number n (1 first) and the next start: the
// policy's shape, at most MaxDelay, spread by Jitter (a fraction of the delay, either way), and
// never sooner than the server's Retry-After. The seed makes it repeatable.
func Delay(r *dag.Retry, n int, retryAfter time.Duration, seed int64) time.Duration {
	d := float64(*r.Delay)
	switch r.Backoff {
	case dag.BackoffExponential:
		d *= math.Pow(r.Factor, float64(n-1))
	case dag.BackoffList:
		d = float64(r.Delays[min(n, len(r.Delays))-1])
	}
	if r.MaxDelay > 0 {
		d = min(d, float64(r.MaxDelay))
	}
	if *r.Jitter > 0 {
		rnd := rand.New(rand.NewPCG(uint64(seed), uint64(n)))
		d *= 1 + *r.Jitter*(2*rnd.Float64()-1)
	}
	return max(time.Duration(min(d, math.MaxInt64/2)), retryAfter)
}
