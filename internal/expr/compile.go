package expr

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"cel.dev/cel-go/cel"
)

// Program is a compiled expression. It is immutable and safe for concurrent use.
type Program struct {
	source     string
	plain      *path       // set where the expression only names a value
	cel        cel.Program // set everywhere else
	reads      reads
	paramTypes map[string]string
	bool       bool
}

// Compile checks a bare expression, such as `nodes.clean.output.rows > 0`, and
// prepares it. What is wrong is one *Error, or several joined.
func Compile(src string, sc Scope) (*Program, error) {
	c := &compiler{scope: sc}
	p, problems := c.compile(src, place{text: src})
	if len(problems) > 0 {
		return nil, join(problems)
	}
	return p, nil
}

// Nodes are the nodes whose output the expression reads, sorted.
func (p *Program) Nodes() []string { return slices.Clone(p.reads.nodes) }

// Params are the parameters the expression reads, sorted: all of the scope's
// where it reads params as a whole.
func (p *Program) Params() []string { return slices.Clone(p.reads.params) }

// Bool tells whether the expression can give true or false: it is known to, or
// its type is known only when it runs.
func (p *Program) Bool() bool { return p.bool }

// compiler compiles the expressions of one scope. Its environment is made for
// the first of them, since most values have none.
type compiler struct {
	scope    Scope
	env      *cel.Env
	compiled int
}

// check parses an expression and checks its types.
func (c *compiler) check(src string, at place) (*cel.Ast, []*Error) {
	if c.env == nil {
		env, err := newEnv(c.scope)
		if err != nil {
			return nil, []*Error{at.locate(1, 0, err.Error())}
		}
		c.env = env
	}
	checked, issues := c.env.Compile(src)
	if issues.Err() != nil {
		return nil, append(c.hyphens(src, at), c.explain(issues, at)...)
	}
	return checked, nil
}

// place is where an expression begins in the text that its errors show.
type place struct {
	text   string
	offset int // bytes
}

// locate makes an error of a position in the expression, counted from line 1
// and column 0 as CEL does.
func (at place) locate(line, column int, msg string) *Error {
	before := at.text[:at.offset]
	if line <= 1 {
		column += utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
	}
	line = max(line, 1) + strings.Count(before, "\n")
	return &Error{Source: at.text, Line: line, Column: column + 1, Msg: msg}
}

func (c *compiler) compile(src string, at place) (*Program, []*Error) {
	if problem := c.acceptable(src); problem != "" {
		return nil, []*Error{at.locate(1, 0, problem)}
	}
	checked, problems := c.check(src, at)
	if len(problems) > 0 {
		return nil, problems
	}
	tree := checked.NativeRep()
	w := newWalker(c.scope, tree.SourceInfo(), at)
	w.visit(tree.Expr())
	if len(w.problems) > 0 {
		return nil, w.problems
	}
	kind := checked.OutputType().Kind()
	p := &Program{
		source: src, plain: plainPath(tree.Expr(), c.scope), reads: w.reads(), paramTypes: c.scope.Params,
		bool: kind == cel.BoolKind || kind == cel.DynKind,
	}
	if p.plain != nil {
		return p, nil
	}
	var err error
	if p.cel, err = c.env.Program(checked, programOptions()...); err != nil {
		return nil, []*Error{at.locate(1, 0, err.Error())}
	}
	return p, nil
}

// acceptable says what is wrong with a source before it is read.
func (c *compiler) acceptable(src string) string {
	c.compiled++
	switch {
	case c.compiled > maxExpressions:
		return fmt.Sprintf("there are more than %d expressions", maxExpressions)
	case strings.TrimSpace(src) == "":
		return "the expression is empty"
	case len(src) > maxSource:
		return fmt.Sprintf("the expression has %d bytes; at most %d are allowed", len(src), maxSource)
	case !utf8.ValidString(src):
		return "the expression is not valid UTF-8"
	case brackets(src) > maxBrackets:
		return fmt.Sprintf("the expression is nested more than %d brackets deep", maxBrackets)
	}
	return ""
}
