package dag

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const day = 24 * time.Hour

// maxDuration is the longest time a definition may name: beyond ten years it is a slip.
const maxDuration = Duration(3650 * day)

var (
	errDuration     = errors.New(`write a number and a unit, such as "90s", "1h30m" or "7d"`)
	errNegative     = errors.New("a duration cannot be negative")
	errLongDuration = errors.New("the longest duration is 3650d")
)

var (
	dayPart  = regexp.MustCompile(`^([0-9]+)d`)
	timePart = regexp.MustCompile(`^[0-9.]+(ns|us|µs|ms|s|m|h)`)
)

// ParseDuration reads "90s", "1h30m", "7d", "1d12h" or a bare "0". It refuses negative durations
// and those over ten years.
func ParseDuration(s string) (Duration, error) {
	if s == "0" {
		return 0, nil
	}
	if strings.HasPrefix(s, "-") {
		return 0, errNegative
	}
	var days Duration
	rest := s
	if m := dayPart.FindStringSubmatch(s); m != nil {
		n, err := strconv.ParseInt(m[1], 10, 16)
		if err != nil {
			return 0, errLongDuration
		}
		days, rest = Duration(n)*Duration(day), s[len(m[0]):]
	}
	if rest == "" && s != "" {
		return checkLong(days)
	}
	if !timePart.MatchString(rest) {
		return 0, errDuration
	}
	d, err := time.ParseDuration(rest)
	if err != nil {
		return 0, errDuration
	}
	if d > time.Duration(maxDuration) {
		return 0, errLongDuration
	}
	return checkLong(days + Duration(d))
}

func checkLong(d Duration) (Duration, error) {
	if d > maxDuration {
		return 0, errLongDuration
	}
	return d, nil
}

// String is the shortest text that ParseDuration reads back: "90s" is "1m30s", "168h" is "7d".
func (d Duration) String() string {
	t := time.Duration(d)
	if t >= 2*day && t%day == 0 {
		return strconv.FormatInt(int64(t/day), 10) + "d"
	}
	s := t.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// MarshalText writes the duration as String does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads the duration as ParseDuration does.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("read duration %q: %w", clip(string(text)), err)
	}
	*d = parsed
	return nil
}
