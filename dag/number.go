package dag

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
)

// The size of numbers that every part of the system keeps exactly; Postgres's numeric holds them all.
const (
	maxDigits   = 200
	maxExponent = 400
)

var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

func hugeExponent(number string) bool {
	i := strings.IndexAny(number, "eE")
	if i < 0 || !jsonNumber.MatchString(number) {
		return false
	}
	n, err := strconv.Atoi(strings.TrimPrefix(number[i+1:], "+"))
	return err != nil || n > maxExponent || n < -maxExponent
}

// integral reports whether a JSON number is written as an integer.
func integral(n json.Number) bool { return !strings.ContainsAny(string(n), ".eE") }

// typeOf names the parameter type of a value as JSON has it, "" for null or what JSON cannot hold.
func typeOf(v any) string {
	switch v := v.(type) {
	case string:
		return "string"
	case bool:
		return "boolean"
	case json.Number:
		if integral(v) {
			return "integer"
		}
		return "number"
	case int, int64, int32:
		return "integer"
	case float64, float32:
		return "number"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	return ""
}

// fits reports whether a value is of a parameter type; every integer is a number.
func fits(v any, want string) bool {
	got := typeOf(v)
	return got == want || got == "integer" && want == "number"
}
