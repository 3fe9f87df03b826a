package sdk

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
)

// Handler carries out attempts of a node: JSON in, one JSON value out. Its errors say what to do next: see Error and
// SkipError; any other is a fault that may pass.
type Handler func(ctx context.Context, call Call) (json.RawMessage, error)

// Call is one attempt handed to a Handler.
type Call struct {
	Attempt
	// Params and Inputs are JSON objects.
	Params, Inputs json.RawMessage
	// Logger writes into the attempt's log. Nil: slog.Default.
	Logger *slog.Logger
}

// The codes of errors that handlers make by themselves.
const (
	// CodeInvalidInput says that parameters or inputs do not fit the function.
	CodeInvalidInput = "invalid_input"
	// CodeInvalidOutput says that the function's result cannot be written as JSON.
	CodeInvalidOutput = "invalid_output"
)

// handle makes a Handler of a typed function.
func handle[In, T any](read func(Call) (In, error), fn func(context.Context, In) (T, error)) Handler {
	return func(ctx context.Context, call Call) (json.RawMessage, error) {
		in, err := read(call)
		if err != nil {
			return nil, PermanentCode(CodeInvalidInput, err)
		}
		out, err := fn(withCall(ctx, &call), in)
		if err != nil {
			return nil, err
		}
		return encode(out)
	}
}

func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, PermanentCode(CodeInvalidOutput, fmt.Errorf("encode output: %w", err))
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// decode reads JSON; numbers keep their digits where the target leaves their type open.
func decode(text json.RawMessage, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode(into)
}

func decodeParams[P any](c Call) (p P, err error) {
	if len(c.Params) == 0 {
		return p, nil
	}
	if err := decode(c.Params, &p); err != nil {
		return p, fmt.Errorf("read parameters: %w", err)
	}
	return p, nil
}

// input reads one input.
func (c Call) input(name string, into any) error {
	given, err := c.given()
	if err != nil {
		return err
	}
	text, ok := given[name]
	if !ok {
		return fmt.Errorf("read input %s: it is missing", name)
	}
	return readInput(name, text, reflect.ValueOf(into))
}

func (c Call) given() (map[string]json.RawMessage, error) {
	given := make(map[string]json.RawMessage)
	if len(c.Inputs) == 0 {
		return given, nil
	}
	if err := decode(c.Inputs, &given); err != nil {
		return nil, fmt.Errorf("read inputs: %w", err)
	}
	return given, nil
}

// readInput decodes an input. Null, which encoding/json leaves out in silence, is refused where it would read as a value.
func readInput(name string, text json.RawMessage, into reflect.Value) error {
	if missing(text) && !nullable(into.Type().Elem()) {
		return fmt.Errorf("read input %s: it is null, and %s cannot hold null", name, into.Type().Elem())
	}
	if err := decode(text, into.Interface()); err != nil {
		return fmt.Errorf("read input %s: %w", name, err)
	}
	return nil
}

func missing(text json.RawMessage) bool { return bytes.Equal(bytes.TrimSpace(text), []byte("null")) }

// decodeInputs reads the inputs of NodeIn.
func decodeInputs[In any](c Call) (in In, err error) {
	given, err := c.given()
	if err != nil {
		return in, err
	}
	for _, f := range fieldsOf(reflect.TypeFor[In]()) {
		text, ok := given[f.name]
		if !ok && !f.optional {
			return in, fmt.Errorf("read input %s: it is missing", f.name)
		}
		if ok && missing(text) && !nullable(f.typ) {
			return in, fmt.Errorf("read input %s: it is null, and %s cannot hold null", f.name, f.typ)
		}
	}
	if len(given) == 0 {
		return in, nil
	}
	if err := decode(c.Inputs, &in); err != nil {
		return in, fmt.Errorf("read inputs: %w", err)
	}
	return in, nil
}
