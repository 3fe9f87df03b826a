package cron

import (
	"slices"
	"strconv"
	"strings"
)

// field is the grammar of one position of an expression: which numbers and names it
// takes, and which of the two dialects' liberties.
type field struct {
	name     string
	min, max int
	names    []string // names[0] means firstName, and so on
	first    int      // what names[0] stands for
	liberty  liberty
}

// liberty is what a field allows beyond lists, ranges, '*' and steps over a range.
type liberty uint8

const (
	wraps    liberty = 1 << iota // a range may run over the end: 22-2
	openStep                     // a step may follow a single value: 5/15 is 5-59/15
	sunday7                      // 7 is Sunday as 0 is, also as the end of a range
)

var (
	monthNames = []string{"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"}
	dayNames   = []string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"}
)

// values lists every number that text stands for, in the field's own numbering.
func (f *field) values(text string) ([]int, error) {
	var all []int
	for term := range strings.SplitSeq(text, ",") {
		values, err := f.term(term)
		if err != nil {
			return nil, err
		}
		all = append(all, values...)
	}
	return all, nil
}

// term expands one item of a list: '*', a value or a range, perhaps with a step.
func (f *field) term(text string) ([]int, error) {
	base, stepText, stepped := strings.Cut(text, "/")
	step := 1
	if stepped {
		var err error
		if step, err = f.step(text, stepText); err != nil {
			return nil, err
		}
	}
	first, last, err := f.span(text, base, stepped)
	if err != nil {
		return nil, err
	}
	var values []int
	for v := first; v <= last; v += step {
		values = append(values, f.fold(v))
	}
	return values, nil
}

// fold brings a number beyond the end of a wrapping range back to the start of the field.
func (f *field) fold(v int) int {
	if v > f.max {
		return v - (f.max - f.min + 1)
	}
	return v
}

func (f *field) step(term, text string) (int, error) {
	step, ok := digits(text)
	if !ok || step == 0 {
		return 0, refuse(f.name, term, "the step after '/' must be a positive number")
	}
	if step > f.max {
		return 0, refuse(f.name, term, "step %d is larger than the field (%d-%d)", step, f.min, f.max)
	}
	return step, nil
}

// span is the first and the last value of base; last may lie beyond max when it wraps.
func (f *field) span(term, base string, stepped bool) (first, last int, err error) {
	if base == "*" || base == "" && stepped && f.has(openStep) {
		return f.min, f.max, nil
	}
	if from, to, isRange := strings.Cut(base, "-"); isRange {
		return f.rangeOf(term, from, to)
	}
	if first, err = f.value(term, base); err != nil {
		return 0, 0, err
	}
	switch {
	case !stepped:
		return first, first, nil
	case f.has(openStep):
		return first, f.max, nil
	}
	return 0, 0, refuse(f.name, term, "a step needs '*' or a range before it, such as %d-%d%s", first, f.max, abridged(term[len(base):]))
}

func (f *field) rangeOf(term, from, to string) (first, last int, err error) {
	if first, err = f.value(term, from); err != nil {
		return 0, 0, err
	}
	if last, err = f.value(term, to); err != nil {
		return 0, 0, err
	}
	switch {
	case first <= last:
		return first, last, nil
	case f.has(wraps):
		return first, last + f.max - f.min + 1, nil
	case f.has(sunday7) && last == 0:
		return first, 7, nil
	}
	return 0, 0, refuse(f.name, term, "the range runs backwards")
}

// value reads one number or name.
func (f *field) value(term, text string) (int, error) {
	if i := slices.Index(f.names, text); i >= 0 {
		return f.first + i, nil
	}
	switch text {
	case "":
		return 0, refuse(f.name, term, "a value is missing")
	case "?":
		return 0, refuse(f.name, term, "'?' belongs in a day field of the quartz dialect, alone")
	}
	n, ok := digits(text)
	switch {
	case !ok && f.names != nil:
		return 0, refuse(f.name, term, "%q is neither a number nor a name such as %s", abridged(text), f.names[0])
	case !ok:
		return 0, refuse(f.name, term, "%q is not a number", abridged(text))
	case n < f.min || n > f.max:
		return 0, refuse(f.name, term, "%s is out of range %d-%d", abridged(text), f.min, f.max)
	}
	return n, nil
}

func (f *field) has(l liberty) bool { return f.liberty&l != 0 }

// digits reads an unsigned decimal number. One too long for any field reads as a number
// that is out of every range.
func digits(text string) (n int, ok bool) {
	for _, c := range []byte(text) {
		if c < '0' || c > '9' {
			return 0, false
		}
	}
	if text == "" {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 1 << 30, true
	}
	return n, true
}
