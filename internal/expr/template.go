package expr

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	opening = "${{"
	closing = "}}"
)

// HasTemplate tells whether a string has an expression in it.
func HasTemplate(src string) bool { return strings.Contains(src, opening) }

// Template is a string with ${{ expressions }} in it. It is immutable and safe
// for concurrent use.
type Template struct {
	source string
	parts  []part
	reads  reads
}

// part is a stretch of text, or an expression.
type part struct {
	text    string
	program *Program
}

// CompileTemplate checks every expression in a string. What is wrong is one
// *Error, or several joined, with places in the whole string. A literal ${{ is
// written ${{ "${{" }}.
func CompileTemplate(src string, sc Scope) (*Template, error) {
	c := &compiler{scope: sc}
	t, problems := c.template(src)
	if len(problems) > 0 {
		return nil, join(problems)
	}
	return t, nil
}

// Nodes are the nodes whose output the template reads, sorted.
func (t *Template) Nodes() []string { return slices.Clone(t.reads.nodes) }

// Params are the parameters the template reads, sorted.
func (t *Template) Params() []string { return slices.Clone(t.reads.params) }

// Eval gives the template's value as JSON. A string that is exactly one ${{ }}
// has the expression's value (S15); any other is a string in which the strings
// stand as they are and other values as JSON text. Errors are Program.Eval's.
func (t *Template) Eval(ctx context.Context, v Vars) (json.RawMessage, error) {
	if len(t.parts) == 1 && t.parts[0].program != nil {
		return t.parts[0].program.Eval(ctx, v)
	}
	var e encoder
	if err := t.interpolate(ctx, v, &e); err != nil {
		return nil, err
	}
	var quoted encoder
	if err := quoted.text(e.buf.String()); err != nil {
		return nil, &EvalError{Source: t.source, Err: err}
	}
	return quoted.buf.Bytes(), nil
}

func (t *Template) interpolate(ctx context.Context, v Vars, e *encoder) error {
	for _, p := range t.parts {
		text := p.text
		if p.program != nil {
			raw, err := p.program.Eval(ctx, v)
			if err != nil {
				return err
			}
			if text, err = plainText(raw); err != nil {
				return &EvalError{Source: t.source, Err: err}
			}
		}
		if err := e.write(text); err != nil {
			return &EvalError{Source: t.source, Err: err}
		}
	}
	return nil
}

// plainText is a JSON string's content, or any other value's compact JSON.
func plainText(raw json.RawMessage) (string, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) > 0 && raw[0] == '"' {
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return "", fmt.Errorf("decode string: %w", err)
		}
		return s, nil
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil {
		return "", fmt.Errorf("write value as text: %w", err)
	}
	return compact.String(), nil
}

func (c *compiler) template(src string) (*Template, []*Error) {
	t := &Template{source: src}
	pieces, problem := split(src)
	if problem != nil {
		return t, []*Error{problem}
	}
	var problems []*Error
	for _, piece := range pieces {
		if !piece.expression {
			t.parts = append(t.parts, part{text: piece.text})
			continue
		}
		program, wrong := c.compile(piece.text, place{text: src, offset: piece.offset})
		if wrong != nil {
			problems = append(problems, wrong...)
			continue
		}
		t.parts = append(t.parts, part{program: program})
		t.reads.merge(program.reads)
	}
	return t, problems
}

// piece is a stretch of a template's source, without its ${{ and }}.
type piece struct {
	text       string
	offset     int
	expression bool
}

// split cuts a template into text and expressions.
func split(src string) ([]piece, *Error) {
	whole := place{text: src}
	if len(src) > maxText {
		return nil, whole.locate(1, 0, fmt.Sprintf("the string has %d bytes; with ${{ }} in it, at most %d are allowed", len(src), maxText))
	}
	if !utf8.ValidString(src) {
		return nil, whole.locate(1, 0, "the string is not valid UTF-8")
	}
	var pieces []piece
	expressions := 0
	for at := 0; at < len(src); {
		length := strings.Index(src[at:], opening)
		if length < 0 {
			return append(pieces, piece{text: src[at:], offset: at}), nil
		}
		if length > 0 {
			pieces = append(pieces, piece{text: src[at : at+length], offset: at})
		}
		begin := at + length + len(opening)
		size := scan(src[begin:])
		if size < 0 {
			return nil, place{src, at + length}.locate(1, 0, "this ${{ has no }}")
		}
		if expressions++; expressions > maxExpressions {
			return nil, place{src, at + length}.locate(1, 0, fmt.Sprintf("a string may have at most %d expressions", maxExpressions))
		}
		pieces = append(pieces, piece{text: src[begin : begin+size], offset: begin, expression: true})
		at = begin + size + len(closing)
	}
	return pieces, nil
}
