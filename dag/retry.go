package dag

// resolveRetry completes a node's retry policy from the workflow's defaults and then from the system's,
// key by key. A node that lists its own delays takes no other shape from the workflow: the list is
// meant exactly as it stands.
func resolveRetry(own, base *Retry) *Retry {
	out := Retry{}
	if own != nil {
		out = *own
	}
	if base != nil {
		out.inherit(base)
	}
	switch {
	case out.Backoff == "" && len(out.Delays) > 0:
		out.Backoff = BackoffList
	case out.Backoff == "":
		out.Backoff = BackoffExponential
	}
	out.complete()
	return &out
}

func (r *Retry) inherit(base *Retry) {
	r.MaxLost, r.On = or(r.MaxLost, base.MaxLost), or(r.On, base.On)
	if len(r.Delays) > 0 {
		return
	}
	r.MaxAttempts = or(r.MaxAttempts, base.MaxAttempts)
	r.Delay, r.Jitter = or(r.Delay, base.Delay), or(r.Jitter, base.Jitter)
	r.Factor, r.MaxDelay = or(r.Factor, base.Factor), or(r.MaxDelay, base.MaxDelay)
	if r.Backoff == "" || r.Backoff == BackoffList {
		r.Backoff, r.Delays = or(r.Backoff, base.Backoff), base.Delays
	}
	if r.MaxAttempts > 0 && len(r.Delays) >= r.MaxAttempts {
		r.Delays = r.Delays[:r.MaxAttempts-1]
	}
}

// complete writes out the system's defaults for the shape that was chosen.
func (r *Retry) complete() {
	none, exact := Duration(0), 0.0
	switch r.Backoff {
	case BackoffList:
		r.MaxAttempts = or(r.MaxAttempts, len(r.Delays)+1)
		r.Delay, r.Jitter = &none, or(r.Jitter, &exact)
		r.Factor, r.MaxDelay = 0, 0
	case BackoffFixed:
		r.MaxAttempts = or(r.MaxAttempts, DefaultMaxAttempts)
		r.Delay, r.Jitter = or(r.Delay, new(DefaultDelay)), or(r.Jitter, new(DefaultJitter))
		r.Factor, r.MaxDelay, r.Delays = 0, 0, nil
	default:
		r.MaxAttempts = or(r.MaxAttempts, DefaultMaxAttempts)
		r.Delay, r.Jitter = or(r.Delay, new(DefaultDelay)), or(r.Jitter, new(DefaultJitter))
		r.Factor = or(r.Factor, DefaultFactor)
		r.MaxDelay, r.Delays = or(r.MaxDelay, max(DefaultMaxDelay, *r.Delay)), nil
	}
	r.MaxLost = or(r.MaxLost, new(DefaultMaxLost))
}
