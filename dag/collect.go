package dag

import "fmt"

// maxProblems bounds the answer to a document in which nearly everything is wrong.
const maxProblems = 1000

// collector gathers problems and finds their places in the text.
type collector struct {
	text  *tree // nil when the definition was not read from text
	found Problems
	more  int
}

// add notes a problem; the caller may go on to fill in Hint, Value or Severity.
func (c *collector) add(at *place, code, format string, args ...any) *Problem {
	return c.addAt(c.text.find(at), at, code, format, args...)
}

// addAt is add for a place that the caller knows better, such as that of a key.
func (c *collector) addAt(where pos, at *place, code, format string, args ...any) *Problem {
	p := Problem{
		Path: at.String(), Line: where.line, Column: where.column,
		Severity: SeverityError, Code: code, Message: fmt.Sprintf(format, args...),
	}
	if len(c.found) >= maxProblems {
		c.more++
		return &p
	}
	c.found = append(c.found, p)
	return &c.found[len(c.found)-1]
}

// count is how many problems there are so far.
func (c *collector) count() int { return len(c.found) + c.more }

// full reports whether further problems will only be counted.
func (c *collector) full() bool { return len(c.found) >= maxProblems }

func (p *Problem) hint(format string, args ...any) *Problem {
	p.Hint = fmt.Sprintf(format, args...)
	return p
}

func (p *Problem) value(v any) *Problem {
	if s, ok := v.(string); ok {
		v = clip(s)
	}
	p.Value = v
	return p
}

func (p *Problem) warn() *Problem {
	p.Severity = SeverityWarning
	return p
}

// problems returns everything found, in the order of the text.
func (c *collector) problems() Problems {
	if c.more > 0 {
		c.found = append(c.found, Problem{
			Severity: SeverityError, Code: CodeTooManyProblems,
			Message: fmt.Sprintf("and %d more problems; correct these first", c.more),
		})
		c.more = 0
	}
	return c.found.sorted()
}
