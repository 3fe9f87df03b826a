package dag

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// MaxNesting is how deep a value from outside may nest: far beyond use, well within what the database reads.
const MaxNesting = 512

// CheckValue says why a text from outside is not one JSON value that can be kept and handed on to the letter (S20), or
// returns nil.
func CheckValue(b []byte) error {
	switch {
	case !utf8.Valid(b):
		return errors.New("not valid UTF-8")
	case nesting(b) > MaxNesting:
		return fmt.Errorf("nested deeper than %d", MaxNesting)
	case !json.Valid(b):
		return errors.New("not one JSON value")
	}
	return checkEscapes(b)
}

// nesting is how deep JSON nests, strings excepted.
func nesting(b []byte) int {
	deepest, now := 0, 0
	quoted := false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			now++
			deepest = max(deepest, now)
		case c == '}' || c == ']':
			now--
		}
	}
	return deepest
}

// checkEscapes looks for characters in valid JSON that only an escape can write and nobody can keep: NUL, which the database does not
// take, and half of a surrogate pair, for which readers would silently put another character.
func checkEscapes(b []byte) error {
	for {
		_, rest, found := bytes.Cut(b, []byte(`\`))
		if !found {
			return nil
		}
		r, size := escaped(rest)
		switch {
		case r == 0:
			return errors.New("it holds the character NUL, which the database cannot keep")
		case utf16.IsSurrogate(r):
			return fmt.Errorf(`it holds \%s, half of a surrogate pair, which is no character`, rest[:size])
		}
		b = rest[size:]
	}
}

// escaped is the character that an escape in valid JSON stands for, and the escape's size behind its backslash. For the short
// escapes it is their letter.
func escaped(b []byte) (r rune, size int) {
	if b[0] != 'u' {
		return rune(b[0]), 1
	}
	r = unit(b[1:])
	if low, ok := bytes.CutPrefix(b[5:], []byte(`\u`)); ok {
		if pair := utf16.DecodeRune(r, unit(low)); pair != utf8.RuneError {
			return pair, 11
		}
	}
	return r, 5
}

// unit is the UTF-16 code unit that four digits write.
func unit(digits []byte) rune {
	code, err := strconv.ParseUint(string(digits[:4]), 16, 16)
	if err != nil {
		return utf8.RuneError // not in valid JSON
	}
	return rune(code)
}
