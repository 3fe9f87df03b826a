package planner

import (
	"encoding/binary"
	"hash/fnv"
	"time"
)

// offset is how long after its instant a run starts, so that schedules of one instant do not all start at once. It is the same
// whoever asks and whenever; the run's logical time stays the instant. It is shorter than the time to the next instant, so that
// their order stays.
func (t *times) offset(at time.Time) time.Duration {
	bound := t.jitter
	if bound <= 0 {
		return 0
	}
	if next, ok := t.following(at); ok {
		bound = min(bound, next.Sub(at))
	}
	h := fnv.New64a()
	var stamp [16]byte
	binary.BigEndian.PutUint64(stamp[:8], uint64(t.seed))
	binary.BigEndian.PutUint64(stamp[8:], uint64(at.UnixMicro()))
	_, _ = h.Write(stamp[:]) // a hash takes everything
	_, _ = h.Write([]byte(t.name))
	return (time.Duration(mix(h.Sum64())>>1) % bound).Truncate(tick)
}

// mix spreads a hash of similar inputs over all its bits.
func mix(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// due is when an instant's run starts.
func (t *times) due(at time.Time) time.Time { return at.Add(t.offset(at)) }

// instant is the instant whose run starts at a time that due gave.
func (t *times) instant(due time.Time) time.Time {
	if at, ok := t.newest(due); ok {
		return at
	}
	return due
}

// come is the last instant up to which everything is due at a time: of those that have come, the newest may still have to wait.
func (t *times) come(now time.Time) time.Time {
	if at, ok := t.newest(now); ok && t.due(at).After(now) {
		return at.Add(-tick)
	}
	return now
}

// newest is the last instant up to a time, as far back as an offset may be; false when there is none.
func (t *times) newest(until time.Time) (time.Time, bool) {
	if t.jitter <= 0 {
		return until, false
	}
	at, ok := t.next(t.tail(until.Add(-t.jitter-tick), until, 1))
	return at, ok && !at.After(until)
}
