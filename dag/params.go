package dag

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ParamError says which parameters of a trigger do not fit the definition.
type ParamError struct{ Problems []string }

// Error joins the problems into one sentence.
func (e *ParamError) Error() string { return "parameters: " + strings.Join(e.Problems, "; ") }

// ResolveParams checks the values given (a JSON object, or nothing) against the declared parameters and
// fills in the defaults. The answer is a JSON object with every parameter, its numbers to the digit as they were given.
func (d *Definition) ResolveParams(given []byte) ([]byte, error) {
	values, problems := readParams(given)
	if problems != nil {
		return nil, &ParamError{Problems: problems}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if _, ok := d.Params[name]; !ok {
			problems = append(problems, fmt.Sprintf("%q is not declared by the workflow", name))
		}
	}
	out := make(map[string]json.RawMessage, len(d.Params))
	for _, name := range slices.Sorted(maps.Keys(d.Params)) {
		value, err := d.Params[name].resolve(values[name])
		if err != nil {
			problems = append(problems, fmt.Sprintf("%q %s", name, err))
			continue
		}
		out[name] = value
	}
	if len(problems) > 0 {
		return nil, &ParamError{Problems: problems}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(out); err != nil {
		return nil, fmt.Errorf("write parameters: %w", err)
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

// readParams reads a JSON object of values that can be kept, each name once; nothing and null are an empty one.
func readParams(given []byte) (values map[string]json.RawMessage, problems []string) {
	values = make(map[string]json.RawMessage)
	given = bytes.TrimSpace(given)
	if len(given) == 0 || string(given) == "null" {
		return values, nil
	}
	if err := CheckValue(given); err != nil {
		return nil, []string{err.Error()}
	}
	d := json.NewDecoder(bytes.NewReader(given))
	if begin, err := d.Token(); err != nil || begin != json.Delim('{') {
		return nil, []string{"want a JSON object"}
	}
	for d.More() {
		token, err := d.Token()
		name := fmt.Sprint(token)
		var value json.RawMessage
		if err = errors.Join(err, d.Decode(&value)); err != nil {
			return nil, []string{err.Error()}
		}
		if values[name] != nil {
			problems = append(problems, fmt.Sprintf("%q stands there twice", name))
		}
		values[name] = value
	}
	return values, problems
}

func (p Param) resolve(given json.RawMessage) (json.RawMessage, error) {
	if given == nil {
		if p.Default == nil {
			return nil, fmt.Errorf("is required")
		}
		return json.Marshal(p.Default)
	}
	if !p.accepts(bytes.TrimSpace(given)) {
		return nil, fmt.Errorf("must be %s %s", article(p.Type), p.Type)
	}
	return given, nil
}

// accepts reports whether a JSON value is of the parameter's type.
func (p Param) accepts(v []byte) bool {
	switch p.Type {
	case "string":
		return v[0] == '"'
	case "integer":
		return isNumber(v) && !bytes.ContainsAny(v, ".eE")
	case "number":
		return isNumber(v)
	case "boolean":
		return v[0] == 't' || v[0] == 'f'
	case "object":
		return v[0] == '{'
	case "array":
		return v[0] == '['
	}
	return false
}

func isNumber(v []byte) bool { return v[0] == '-' || v[0] >= '0' && v[0] <= '9' }

func article(noun string) string {
	if strings.ContainsRune("aeiou", rune(noun[0])) {
		return "an"
	}
	return "a"
}
