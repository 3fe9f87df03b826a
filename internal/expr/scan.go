package expr

import "strings"

// scan gives the length of the expression that ends at the first }} which is
// neither in a string or comment nor closes braces of the expression's own, or
// -1 if there is none.
func scan(src string) int {
	braces := 0
	for i := 0; i < len(src); {
		if braces == 0 && strings.HasPrefix(src[i:], closing) {
			return i
		}
		switch src[i] {
		case '{':
			braces++
		case '}':
			braces--
		}
		size := token(src, i)
		if size < 0 {
			return -1
		}
		i += size
	}
	return -1
}

// brackets gives the deepest nesting of an expression's brackets.
func brackets(src string) int {
	depth, deepest := 0, 0
	for i := 0; i < len(src); {
		switch src[i] {
		case '(', '[', '{':
			depth++
			deepest = max(deepest, depth)
		case ')', ']', '}':
			depth--
		}
		size := token(src, i)
		if size < 0 {
			return deepest // the rest is a comment, or a mistake that CEL finds
		}
		i += size
	}
	return deepest
}

// token gives the length of the string or comment that begins at i, or of the
// one byte there; -1 if a string or comment does not end.
func token(src string, i int) int {
	rest := src[i:]
	switch {
	case rest[0] == '"' || rest[0] == '\'':
		raw := i > 0 && (src[i-1] == 'r' || src[i-1] == 'R')
		return literal(rest, raw)
	case strings.HasPrefix(rest, "//"):
		return strings.IndexByte(rest, '\n')
	}
	return 1
}

// literal gives the length of the CEL string that src begins with, quotes
// included, or -1 if it does not end.
func literal(src string, raw bool) int {
	quote := src[:1]
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(src, triple) {
		quote = triple
	}
	for i := len(quote); i < len(src); i++ {
		if src[i] == '\\' && !raw {
			i++
			continue
		}
		if strings.HasPrefix(src[i:], quote) {
			return i + len(quote)
		}
	}
	return -1
}
