package expr

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

// decode makes a CEL value of JSON text; nil is null.
func decode(raw json.RawMessage) (ref.Val, error) {
	if len(raw) == 0 {
		return types.NullValue, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("decode JSON: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("decode JSON: more than one value")
	}
	return adapt(v), nil
}

// adapt makes CEL values all the way down, once, so that measuring a value
// again costs nothing: CEL remembers the sizes of its own lists and maps.
func adapt(v any) ref.Val {
	switch v := v.(type) {
	case nil:
		return types.NullValue
	case bool:
		return types.Bool(v)
	case string:
		return types.String(v)
	case json.Number:
		return parseNumber(v.String())
	case []any:
		list := make([]ref.Val, len(v))
		for i, e := range v {
			list[i] = adapt(e)
		}
		return types.NewRefValList(types.DefaultTypeAdapter, list)
	case map[string]any:
		for k, e := range v {
			v[k] = adapt(e)
		}
		return types.NewStringInterfaceMap(types.DefaultTypeAdapter, v)
	}
	return types.NewErr("unexpected %T in JSON", v)
}

// members splits a JSON object into its values' texts; nil and null have none.
func members(raw json.RawMessage) (map[string]json.RawMessage, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var m map[string]json.RawMessage
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, fmt.Errorf("decode JSON object: %w", err)
	}
	return m, nil
}
