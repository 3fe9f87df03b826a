package sdk

import (
	"time"

	"github.com/ax-run/ax/dag"
)

// MaxAttempts is how often the node is tried in all when it fails for a reason that may pass (S16).
func MaxAttempts(n int) NodeOption {
	return retryOption(func(r *dag.Retry) { r.MaxAttempts = n })
}

// Exponential waits delay before the second attempt, and then factor times as long each time, at most limit.
func Exponential(delay time.Duration, factor float64, limit time.Duration) NodeOption {
	return retryOption(func(r *dag.Retry) {
		r.Backoff, r.Delay, r.Factor, r.MaxDelay = dag.BackoffExponential, new(dag.Duration(delay)), factor, dag.Duration(limit)
	})
}

// Fixed waits the same delay before each further attempt.
func Fixed(delay time.Duration) NodeOption {
	return retryOption(func(r *dag.Retry) { r.Backoff, r.Delay = dag.BackoffFixed, new(dag.Duration(delay)) })
}

// Delays are the pauses before each further attempt, one by one; unless MaxAttempts says otherwise there is one
// attempt more than there are pauses.
func Delays(delays ...time.Duration) NodeOption {
	return retryOption(func(r *dag.Retry) {
		r.Backoff, r.Delays = dag.BackoffList, nil
		for _, d := range delays {
			r.Delays = append(r.Delays, dag.Duration(d))
		}
	})
}

// Retry sets the whole policy at once.
func Retry(policy dag.Retry) NodeOption {
	return retryOption(func(r *dag.Retry) { *r = policy })
}

func retryOption(set func(*dag.Retry)) NodeOption {
	return nodeOption(func(n *node) {
		if n.Retry == nil {
			n.Retry = &dag.Retry{}
		}
		set(n.Retry)
	})
}
