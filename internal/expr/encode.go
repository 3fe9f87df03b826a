package expr

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// encoder writes JSON up to maxOutput bytes.
type encoder struct {
	buf bytes.Buffer
}

// encode gives the JSON text of a value.
func encode(val ref.Val) (json.RawMessage, error) {
	var e encoder
	if err := e.value(val, 0); err != nil {
		return nil, err
	}
	return e.buf.Bytes(), nil
}

func (e *encoder) write(text string) error {
	if e.buf.Len()+len(text) > maxOutput {
		return ErrTooCostly
	}
	e.buf.WriteString(text)
	return nil
}

func (e *encoder) value(val ref.Val, depth int) error {
	if depth > maxNesting {
		return ErrTooCostly
	}
	switch v := val.(type) {
	case traits.Lister:
		return e.list(v, depth)
	case traits.Mapper:
		return e.object(v, depth)
	case types.String:
		return e.text(string(v))
	}
	text, err := scalar(val)
	if err != nil {
		return err
	}
	return e.write(text)
}

func scalar(val ref.Val) (string, error) {
	switch v := val.(type) {
	case types.Null:
		return "null", nil
	case types.Bool:
		return strconv.FormatBool(bool(v)), nil
	case types.Int:
		return strconv.FormatInt(int64(v), 10), nil
	case types.Uint:
		return strconv.FormatUint(uint64(v), 10), nil
	case types.Double:
		return double(float64(v))
	case number:
		return string(v), nil
	case types.Bytes:
		return strconv.Quote(base64.StdEncoding.EncodeToString(v)), nil
	case types.Timestamp, types.Duration:
		if text, ok := v.ConvertToType(types.StringType).(types.String); ok {
			return strconv.Quote(string(text)), nil
		}
	}
	return "", fmt.Errorf("a %s has no JSON form; make a string, number, list or object of it", val.Type().TypeName())
}

func double(f float64) (string, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return "", fmt.Errorf("the result is %v, which is not a number that JSON has", f)
	}
	text, err := json.Marshal(f)
	return string(text), err
}

// text writes a JSON string, with <, > and & as they are.
func (e *encoder) text(s string) error {
	if e.buf.Len()+len(s) > maxOutput {
		return ErrTooCostly
	}
	enc := json.NewEncoder(&e.buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return fmt.Errorf("encode string: %w", err)
	}
	e.buf.Truncate(e.buf.Len() - 1) // the newline after a document
	return nil
}

func (e *encoder) list(l traits.Lister, depth int) error {
	separator := "["
	for it := l.Iterator(); it.HasNext() == types.True; separator = "," {
		if err := e.write(separator); err != nil {
			return err
		}
		if err := e.value(it.Next(), depth+1); err != nil {
			return err
		}
	}
	if separator == "[" {
		return e.write("[]")
	}
	return e.write("]")
}

// object writes the members in the order of their names, so that equal values
// have equal texts.
func (e *encoder) object(m traits.Mapper, depth int) error {
	var keys []types.String
	for it := m.Iterator(); it.HasNext() == types.True; {
		key, ok := it.Next().(types.String)
		if !ok {
			return fmt.Errorf("an object has a key that is not a string; write string(key)")
		}
		keys = append(keys, key)
	}
	slices.Sort(keys)
	if err := e.write("{"); err != nil {
		return err
	}
	for i, key := range keys {
		if err := e.key(i, string(key)); err != nil {
			return err
		}
		if err := e.value(m.Get(key), depth+1); err != nil {
			return err
		}
	}
	return e.write("}")
}

// key writes the name of an object's member, and what separates it from the last.
func (e *encoder) key(i int, name string) error {
	if i > 0 {
		if err := e.write(","); err != nil {
			return err
		}
	}
	if err := e.text(name); err != nil {
		return err
	}
	return e.write(":")
}
