package expr

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"
)

// Eval gives the expression's value as JSON. An error is an *EvalError, or wraps
// the cause of ctx's end. The result may share memory with v.
func (p *Program) Eval(ctx context.Context, v Vars) (json.RawMessage, error) {
	raw, err := p.eval(ctx, v)
	if err != nil {
		return nil, p.failure(ctx, err)
	}
	if len(raw) > maxOutput {
		return nil, p.failure(ctx, ErrTooCostly)
	}
	return raw, nil
}

func (p *Program) eval(ctx context.Context, v Vars) (json.RawMessage, error) {
	if p.plain != nil {
		return p.plain.find(v)
	}
	val, err := p.run(ctx, v)
	if err != nil {
		return nil, err
	}
	return encode(val)
}

// EvalBool gives the truth of a condition. Any value but true and false is an
// *EvalError, as is whatever Eval refuses (S15).
func (p *Program) EvalBool(ctx context.Context, v Vars) (bool, error) {
	val, err := p.run(ctx, v)
	if err != nil {
		return false, p.failure(ctx, err)
	}
	truth, ok := val.(types.Bool)
	if !ok {
		return false, p.failure(ctx, fmt.Errorf("the condition gives a value of type %s, not true or false", val.Type().TypeName()))
	}
	return bool(truth), nil
}

func (p *Program) run(ctx context.Context, v Vars) (ref.Val, error) {
	if p.plain != nil {
		raw, err := p.plain.find(v)
		if err != nil {
			return nil, err
		}
		return decode(raw)
	}
	vars, err := p.activation(v)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, evalTimeout)
	defer cancel()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	val, _, err := p.cel.ContextEval(ctx, vars)
	return val, err
}

// failure tells the caller's own cancellation from the expression's limits and
// from its mistakes.
func (p *Program) failure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("evaluate `%s`: %w", clip(p.source), context.Cause(ctx))
	}
	var cancelled interpreter.EvalCancelledError
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		err = ErrTooSlow
	case errors.As(err, &cancelled) && cancelled.Cause == interpreter.ContextCancelled:
		err = ErrTooSlow
	case errors.As(err, &cancelled):
		err = ErrTooCostly
	case strings.Contains(err.Error(), "no such overload"):
		err = fmt.Errorf("an operator or function does not fit the types of its values, or a number is beyond what can be computed exactly (%w)", err)
	}
	return &EvalError{Source: p.source, Err: err}
}
