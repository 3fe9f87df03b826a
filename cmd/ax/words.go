package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/internal/cron"
)

// stateColour is the colour of a state's word.
func stateColour(state string) colour {
	switch state {
	case "succeeded", "fired", "online", "completed":
		return green
	case "failed", "upstream_failed", "lost", "completed_with_failures":
		return red
	case "running", "queued", "expected":
		return blue
	case "retrying", "waiting", "coalesced", "suspect", "draining", "paused":
		return yellow
	case "pending", "skipped", "canceled":
		return faint
	}
	return ""
}

func stateCell(state string) cell { return cell{state, stateColour(state)} }

// millisText is a duration in milliseconds for people; nil is one that is not known.
func millisText(ms *int64) string {
	if ms == nil {
		return ""
	}
	return durationText(time.Duration(*ms) * time.Millisecond)
}

// durationText rounds to what a person wants to know.
func durationText(d time.Duration) string {
	switch {
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + "ms"
	case d < 10*time.Second:
		return strconv.FormatFloat(d.Round(10*time.Millisecond).Seconds(), 'f', 2, 64) + "s"
	case d < time.Minute:
		return strconv.FormatFloat(d.Round(100*time.Millisecond).Seconds(), 'f', 1, 64) + "s"
	}
	d = d.Round(time.Second)
	hours, minutes, seconds := int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60
	if hours == 0 {
		return fmt.Sprintf("%dm%02ds", minutes, seconds)
	}
	return fmt.Sprintf("%dh%02dm%02ds", hours, minutes, seconds)
}

// shownTime is how instants are written, with the offset of their zone.
const shownTime = "2006-01-02 15:04:05 -07:00"

func (c *call) timeText(at *time.Time) string {
	if at == nil || at.IsZero() {
		return ""
	}
	return at.In(c.zone).Format(shownTime)
}

// timeIn is an instant in a zone, which it names; in the terminal's own where the zone is not known.
func (c *call) timeIn(at *time.Time, zone string) string {
	there, err := cron.LoadZone(zone)
	if err != nil || at == nil || at.IsZero() {
		return c.timeText(at)
	}
	return at.In(there).Format(shownTime) + " " + zone
}

// maxNote is how long a note in a table may be; the rest is in the JSON.
const maxNote = 240

func shorten(text string) string {
	text = strings.TrimSpace(printable(text))
	if utf8.RuneCountInString(text) <= maxNote {
		return text
	}
	return string([]rune(text)[:maxNote-1]) + "…"
}

// counted is a number with its noun.
func counted(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + one + "s"
}

// instant reads an instant as people give it: RFC 3339, or a time from now such as -2h.
func (c *call) instant(flag, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	span, back := strings.CutPrefix(text, "-")
	d, err := dag.ParseDuration(span)
	if err != nil {
		return time.Time{}, failure(exitUsage, "--%s %q is no instant: write 2026-11-30T02:30:00+08:00, or a time from now such as -2h or 7d", flag, text)
	}
	if back {
		d = -d
	}
	return c.now().Add(time.Duration(d)), nil
}
