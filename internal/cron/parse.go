package cron

import (
	"errors"
	"strings"
	"time"
)

// maxLength is the longest expression that is read, in bytes.
const maxLength = 1024

// Options is what a schedule says beside its expression. The zero value reads either
// dialect in UTC under the standard rule.
type Options struct {
	// Dialect is "unix" or "quartz"; "" decides by the number of fields (S5).
	Dialect string
	// Zone is the zone of the schedule, from LoadZone; nil is UTC. The machine's own zone is refused (S6).
	Zone *time.Location
	// DST is the rule for wall times that a zone change removes or repeats (S7); "" is Standard.
	DST DST
	// Gap refines Standard: "next" fires at the first instant after the gap, "skip" does not.
	Gap string
	// Overlap refines Standard: a repeated time fires in its "first" pass, its "second", or "both".
	Overlap string
}

// Dialects of an expression (S5).
const (
	dialectUnix   = "unix"
	dialectQuartz = "quartz"
)

// macros stand for expressions in the unix dialect, and are read in either.
var macros = map[string]string{
	"@YEARLY":   "0 0 1 1 *",
	"@ANNUALLY": "0 0 1 1 *",
	"@MONTHLY":  "0 0 1 * *",
	"@WEEKLY":   "0 0 * * 0",
	"@DAILY":    "0 0 * * *",
	"@MIDNIGHT": "0 0 * * *",
	"@HOURLY":   "0 * * * *",
}

// Parse reads a cron expression in either dialect, a macro (@hourly to @yearly) or
// "@every D" (S5). What it refuses, it refuses with a *ParseError. An expression that is
// valid but never fires is not refused; see Never.
func Parse(expr string, opt Options) (*Schedule, error) {
	s, err := parse(expr, opt)
	var refused *ParseError
	if errors.As(err, &refused) {
		refused.Expr = expr
	}
	return s, err
}

func parse(expr string, opt Options) (*Schedule, error) {
	if err := opt.check(); err != nil {
		return nil, err
	}
	if err := checkText(expr); err != nil {
		return nil, err
	}
	zone := opt.Zone
	if zone == nil {
		zone = time.UTC
	}
	texts := strings.Fields(strings.ToUpper(expr))
	if texts[0] == "@EVERY" {
		every, err := parseEvery(strings.Fields(expr)[1:])
		if err != nil {
			return nil, err
		}
		return &Schedule{zone: zone, every: every}, nil
	}
	pattern, err := parsePattern(texts, opt.Dialect)
	if err != nil {
		return nil, err
	}
	return &Schedule{
		zone:    zone,
		pattern: pattern,
		policy:  policyOf(opt, pattern.elapsed),
		table:   tableOf(zone),
	}, nil
}

// check refuses an option that has no meaning.
func (o Options) check() error {
	if o.Zone == time.Local {
		return refuse("timezone", "Local", "the machine's zone is never read: name one, such as Asia/Shanghai")
	}
	if !oneOf(o.Dialect, "", dialectUnix, dialectQuartz) {
		return refuse("dialect", o.Dialect, "write unix or quartz, or leave it out")
	}
	return o.checkDST()
}

// checkText refuses what is no expression whatever the dialect.
func checkText(expr string) error {
	if len(expr) > maxLength {
		return refuse("expression", "", "is %d bytes long; at most %d are read", len(expr), maxLength)
	}
	for _, r := range expr {
		if r >= 0x80 || r < ' ' && r != '\t' && r != '\n' && r != '\r' {
			return refuse("expression", string(r), "only ASCII characters have a meaning here")
		}
	}
	text := strings.TrimSpace(expr)
	if text == "" {
		return refuse("expression", "", "is empty")
	}
	if head := strings.Fields(text)[0]; strings.HasPrefix(head, "TZ=") || strings.HasPrefix(head, "CRON_TZ=") {
		return refuse("expression", head, "the time zone belongs in the schedule's timezone, not in its expression")
	}
	return nil
}

// parsePattern chooses the dialect by the number of fields, unless one is forced.
func parsePattern(texts []string, dialect string) (*pattern, error) {
	if strings.HasPrefix(texts[0], "@") {
		text, known := macros[strings.Join(texts, " ")]
		if !known {
			return nil, refuse("macro", strings.ToLower(texts[0]), "write @hourly, @daily, @weekly, @monthly, @yearly or @every 15m")
		}
		return parseUnix(strings.Fields(text))
	}
	n := len(texts)
	isUnix, isQuartz := n == 5, n == 6 || n == 7
	switch {
	case isUnix && dialect != dialectQuartz:
		return parseUnix(texts)
	case isQuartz && dialect != dialectUnix:
		return parseQuartz(texts)
	case dialect == dialectUnix:
		return nil, refuse("expression", "", "has %d fields; the unix dialect has 5", n)
	case dialect == dialectQuartz:
		return nil, refuse("expression", "", "has %d fields; the quartz dialect has 6 or 7", n)
	}
	return nil, refuse("expression", "", "has %d fields; write 5 (unix), or 6 or 7 (quartz)", n)
}

// parseEvery reads the duration of "@every D": whole seconds, at least one.
func parseEvery(texts []string) (time.Duration, error) {
	text := strings.Join(texts, "")
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Second || d%time.Second != 0 {
		return 0, refuse("@every", text, "needs a duration of whole seconds with its unit, such as 90s or 1h30m")
	}
	return d, nil
}
