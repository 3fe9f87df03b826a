package planner

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/ax-run/ax/dag"
)

// encodeSpec writes a schedule as its row keeps it.
func encodeSpec(s dag.Schedule) ([]byte, error) {
	spec, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("encode schedule %q: %w", s.Name, err)
	}
	return spec, nil
}

// decodeSpec reads what encodeSpec wrote; numbers stay as they are written.
func decodeSpec(spec []byte) (dag.Schedule, error) {
	var s dag.Schedule
	d := json.NewDecoder(bytes.NewReader(spec))
	d.UseNumber()
	if err := d.Decode(&s); err != nil {
		return s, fmt.Errorf("decode schedule: %w", err)
	}
	return s, nil
}

// sameTiming reports whether two schedules have the same instants: whether changing the one into the other is no edit
// in the sense of S10.
func sameTiming(a, b dag.Schedule) bool {
	return bytes.Equal(timing(a), timing(b))
}

// timing is what decides the instants, as text; nil if it cannot be written, which equals nothing stored.
func timing(s dag.Schedule) []byte {
	s.Name, s.Late, s.Params = "", dag.Late{}, nil
	text, err := encodeSpec(s)
	if err != nil {
		return nil
	}
	return text
}

// anchorOf is where a schedule's interval is counted from (S4): its start; else where it was counted from before, if the
// interval is the same; else the second in which it is registered. A delay is never counted from the past.
func anchorOf(s dag.Schedule, before *dag.Schedule, beforeAnchor, now time.Time) time.Time {
	switch {
	case s.Delay > 0 && (s.Start == nil || s.Start.Before(now)):
		return now.Truncate(tick)
	case s.Start != nil:
		return s.Start.Truncate(tick)
	case before != nil && before.Every == s.Every && before.Cron == s.Cron:
		return beforeAnchor
	}
	return now.Truncate(time.Second)
}
