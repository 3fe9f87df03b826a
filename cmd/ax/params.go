package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/ax-run/ax/api"
)

// readParams reads a file of parameters; "" is none, and - standard input.
func (c *call) readParams(ctx context.Context, path string) (map[string]json.RawMessage, error) {
	values := make(map[string]json.RawMessage)
	if path == "" {
		return values, nil
	}
	text, err := c.readInput(ctx, path)
	if err != nil {
		return nil, failure(unlessTold(err), "read parameters: %w", err)
	}
	if !json.Valid(text) {
		if text, err = yaml.YAMLToJSON(text); err != nil {
			return nil, failure(exitUsage, "the parameters in %s are neither YAML nor JSON: %w", path, err)
		}
	}
	if err := json.Unmarshal(text, &values); err != nil || values == nil {
		return nil, failure(exitUsage, "the parameters in %s are no object: write name: value", path)
	}
	return values, nil
}

// maxInput is how much of a file is read at most.
const maxInput = 8 << 20

// readInput reads a file, or standard input for -.
func (c *call) readInput(ctx context.Context, path string) ([]byte, error) {
	return whileAllowed(ctx, func() ([]byte, error) {
		if path == "-" {
			return readBounded(c.in, "standard input")
		}
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		text, err := readBounded(f, path)
		return text, errors.Join(err, f.Close())
	})
}

var errTooLarge = fmt.Errorf("is larger than the %d MiB that are read", maxInput>>20)

func readBounded(from io.Reader, name string) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(from, maxInput+1))
	if err == nil && len(text) > maxInput {
		return nil, fmt.Errorf("%s %w", name, errTooLarge)
	}
	return text, err
}

// setParams adds what --param said. A value is read as the type that the workflow declares for it; the server says what is wrong with
// parameters that it does not declare.
func setParams(values map[string]json.RawMessage, said []string, definition api.Object) error {
	var declared struct {
		Params map[string]struct{ Type string }
	}
	if err := json.Unmarshal(definition, &declared); err != nil {
		return fmt.Errorf("read the workflow's definition: %w", err)
	}
	var wrong []string
	for _, s := range said {
		name, text, ok := strings.Cut(s, "=")
		if !ok || name == "" {
			wrong = append(wrong, fmt.Sprintf("--param %q: write it as NAME=VALUE", s))
			continue
		}
		value, err := paramValue(declared.Params[name].Type, text)
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("--param %s: %v", s, err))
			continue
		}
		values[name] = value
	}
	if len(wrong) > 0 {
		return failure(exitUsage, "%s", strings.Join(wrong, "\n"))
	}
	return nil
}

// paramValue is a text as JSON of a declared type.
func paramValue(declared, text string) (json.RawMessage, error) {
	if declared == "string" || declared == "" {
		return json.Marshal(text)
	}
	if !json.Valid([]byte(text)) {
		return nil, fmt.Errorf("it must be %s, written as in JSON", declared)
	}
	return json.RawMessage(text), nil
}

func paramsObject(values map[string]json.RawMessage) (api.Object, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(values); err != nil {
		return nil, fmt.Errorf("write parameters: %w", err)
	}
	return bytes.TrimSpace(b.Bytes()), nil
}
