package expr

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// number is a JSON number that neither int64 nor float64 holds as written. It
// may be handed on, and compared for equality with another such number. It
// declares CEL's arithmetic traits only to refuse them with a reason.
type number string

var numberType = types.NewOpaqueType("number_beyond_float64").
	WithTraits(traits.AdderType | traits.SubtractorType | traits.MultiplierType |
		traits.DividerType | traits.ModderType | traits.NegatorType | traits.ComparerType)

// parseNumber gives the CEL value of a JSON number's text.
func parseNumber(text string) ref.Val {
	if !strings.ContainsAny(text, ".eE") {
		if i, err := strconv.ParseInt(text, 10, 64); err == nil {
			return types.Int(i)
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || decimal(text) != decimal(strconv.FormatFloat(f, 'e', -1, 64)) {
		return number(text)
	}
	return types.Double(f)
}

// decimal writes a number one way only, as digits and an exponent, so that equal
// values have equal texts: 0.10, 1e-1 and 0.1 are all 1e-1.
func decimal(text string) string {
	unsigned, negative := strings.CutPrefix(strings.ToLower(text), "-")
	mantissa, exponent, _ := strings.Cut(unsigned, "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	short := strings.TrimRight(digits, "0")
	if short == "" {
		return "0"
	}
	exp := 0
	if exponent != "" {
		var err error
		if exp, err = strconv.Atoi(exponent); err != nil {
			return text // an exponent beyond int: equal only to itself
		}
	}
	exp += len(digits) - len(short) - len(fraction)
	if negative {
		short = "-" + short
	}
	return fmt.Sprintf("%se%d", short, exp)
}

func (n number) refuse() ref.Val {
	return types.NewErr("%s is beyond what can be computed exactly; it can only be passed on", clip(string(n)))
}

// Add refuses.
func (n number) Add(ref.Val) ref.Val { return n.refuse() }

// Subtract refuses.
func (n number) Subtract(ref.Val) ref.Val { return n.refuse() }

// Multiply refuses.
func (n number) Multiply(ref.Val) ref.Val { return n.refuse() }

// Divide refuses.
func (n number) Divide(ref.Val) ref.Val { return n.refuse() }

// Modulo refuses.
func (n number) Modulo(ref.Val) ref.Val { return n.refuse() }

// Negate refuses.
func (n number) Negate() ref.Val { return n.refuse() }

// Compare refuses.
func (n number) Compare(ref.Val) ref.Val { return n.refuse() }

// Equal is true of the same number, however written. Whatever int64 or float64
// holds is another number.
func (n number) Equal(other ref.Val) ref.Val {
	o, ok := other.(number)
	return types.Bool(ok && decimal(string(n)) == decimal(string(o)))
}

// ConvertToNative refuses.
func (n number) ConvertToNative(t reflect.Type) (any, error) {
	return nil, fmt.Errorf("convert number %s to %v: it would lose digits", clip(string(n)), t)
}

// ConvertToType refuses all but the text and the type.
func (n number) ConvertToType(t ref.Type) ref.Val {
	switch t {
	case types.StringType:
		return types.String(n)
	case types.TypeType:
		return numberType
	}
	return n.refuse()
}

// Type is numberType.
func (n number) Type() ref.Type { return numberType }

// Value is the JSON text.
func (n number) Value() any { return string(n) }
