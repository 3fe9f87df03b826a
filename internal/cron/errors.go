package cron

import (
	"fmt"
	"strings"
)

// ParseError says why an expression or an option was refused.
type ParseError struct {
	Expr  string // the expression as it was given
	Field string // the field or option at fault, such as "hour" or "dst_gap"
	Token string // the part of it at fault; may be empty
	Msg   string // what is wrong and what to write
}

// Error is one sentence for the person who wrote the expression.
func (e *ParseError) Error() string {
	where := e.Field
	if e.Token != "" {
		where += fmt.Sprintf(" %q", abridged(e.Token))
	}
	return fmt.Sprintf("cron %q: %s: %s", abridged(e.Expr), where, e.Msg)
}

// refuse makes the error of one field; Parse adds the expression.
func refuse(field, token, format string, args ...any) error {
	return &ParseError{Field: field, Token: token, Msg: fmt.Sprintf(format, args...)}
}

// abridged keeps a hostile expression from filling a log.
func abridged(s string) string {
	const most = 100
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// ZoneError says that a name is not a time zone.
type ZoneError struct {
	Name string
	Near string // the zone probably meant; may be empty
}

// Error is one sentence for the person who wrote the name.
func (e *ZoneError) Error() string {
	switch {
	case e.Name == "" || e.Name == "Local":
		return fmt.Sprintf("time zone %q names no place: write an IANA name such as Asia/Shanghai or UTC", e.Name)
	case e.Near != "":
		return fmt.Sprintf("time zone %q is unknown: did you mean %s?", abridged(e.Name), e.Near)
	}
	return fmt.Sprintf("time zone %q is unknown: write an IANA name such as Asia/Shanghai or UTC", abridged(e.Name))
}
