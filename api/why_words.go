package api

import (
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/internal/cron"
)

// clock tells times in one zone, as short as they can be beside the time that the answer is about.
type clock struct {
	zone *time.Location
	// base is what the answer is about.
	base time.Time
}

// at tells an instant in full: 02:30 on Mon 30 Nov 2026 (Europe/Berlin). Where the clocks show it twice, it says which one it is.
func (c clock) at(t time.Time) string {
	t = t.In(c.zone)
	return fmt.Sprintf("%s on %s (%s)", c.hour(t), t.Format("Mon 2 Jan 2006"), c.zone)
}

// brief tells an instant with no more than it needs beside the base.
func (c clock) brief(t time.Time) string {
	t, base := t.In(c.zone), c.base.In(c.zone)
	switch {
	case t.Format(time.DateOnly) == base.Format(time.DateOnly):
		return c.hour(t)
	case t.Year() == base.Year():
		return c.hour(t) + " on " + t.Format("Mon 2 Jan")
	}
	return c.hour(t) + " on " + t.Format("Mon 2 Jan 2006")
}

// day tells an instant like brief, and says so where it is of the day of the base.
func (c clock) day(t time.Time) string {
	text := c.brief(t)
	if !strings.Contains(text, " on ") {
		text += " that day"
	}
	return text
}

func (c clock) hour(t time.Time) string {
	form := "15:04"
	if t.Second() != 0 {
		form = "15:04:05"
	}
	if twice, _ := cron.Instants(cron.Wall(t), t.Location()); len(twice) > 1 {
		form += " -07:00"
	}
	return t.Format(form)
}

// lasting tells a duration with two units at most.
func lasting(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < time.Hour:
		return units(d, time.Minute, "min", time.Second, "s")
	case d < 48*time.Hour:
		return units(d, time.Hour, "h", time.Minute, "min")
	}
	return units(d, 24*time.Hour, "d", time.Hour, "h")
}

func units(d, large time.Duration, one string, small time.Duration, other string) string {
	text := fmt.Sprintf("%d %s", d/large, one)
	if rest := d % large / small; rest > 0 {
		text += fmt.Sprintf(" %d %s", rest, other)
	}
	return text
}

// reading says how a schedule is read.
func reading(s dag.Schedule) string {
	text := ""
	switch {
	case s.Cron != "":
		text = fmt.Sprintf("cron %s in %s", s.Cron, s.Timezone)
	case s.Every > 0:
		text = "every " + lasting(time.Duration(s.Every))
	case s.Delay > 0:
		text = lasting(time.Duration(s.Delay)) + " after the end of each run"
	case s.At != nil:
		text = "once at " + s.At.Format(time.RFC3339)
	}
	return text
}

const mostErrorText = 240

// oneLine is a text as part of a sentence.
func oneLine(text string) string {
	text = strings.TrimRight(strings.Join(strings.Fields(text), " "), ".")
	if utf8.RuneCountInString(text) > mostErrorText {
		return string([]rune(text)[:mostErrorText-1]) + "…"
	}
	return text
}

// troubleWord is in a line of a log that says what went wrong.
var troubleWord = regexp.MustCompile(`(?i)\b(error|panic|fatal|exception|traceback|failed|denied)\b`)

// troubleLine is the line of a log that says most likely what went wrong: the first that says so, else the last on stderr, else the
// last; -1 for none.
func troubleLine(lines []LogLine) int {
	stderr := len(lines) - 1
	for i, l := range lines {
		if troubleWord.MatchString(l.Text) {
			return i
		}
		if l.Stream == "stderr" {
			stderr = i
		}
	}
	return stderr
}

// names lists a few things in a sentence.
func names(list []string, last string) string {
	const most = 5
	if more := len(list) - most; more > 0 {
		list = append(list[:most:most], fmt.Sprintf("%d more", more))
	}
	if n := len(list); n > 1 {
		return strings.Join(list[:n-1], ", ") + " " + last + " " + list[n-1]
	}
	return strings.Join(list, "")
}

// plural is a number with its noun.
func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}
