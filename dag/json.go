package dag

import (
	"bytes"
	"encoding/json"
	"errors"
	"unicode/utf16"
	"unicode/utf8"
)

// jsonReader turns JSON text into a tree: like encoding/json, but with the place of every value,
// duplicate keys kept and numbers exact. encoding/json has found the text valid before, so that it
// only has to be cut up.
type jsonReader struct {
	data []byte
	i    int
	// last is the place of offset, where the counting of lines goes on.
	last    pos
	offset  int
	refusal string // why the text cannot be read after all
}

func readJSON(data []byte, c *collector) *tree {
	r := &jsonReader{data: data, last: pos{1, 1}}
	var whole json.RawMessage
	if err := json.Unmarshal(data, &whole); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			r.i = int(syntax.Offset) - 1
		}
		c.addAt(r.pos(r.i), nil, CodeUnparsable, "the document is not valid JSON: %v", err)
		return nil
	}
	t := r.value(0)
	if r.refusal != "" {
		c.addAt(r.pos(r.i), nil, CodeUnparsable, "%s", r.refusal)
		return nil
	}
	return t
}

// next skips white space and separators and returns the byte that follows.
func (r *jsonReader) next() byte {
	for {
		switch b := r.data[r.i]; b {
		case ' ', '\t', '\r', '\n', ',', ':':
			r.i++
		default:
			return b
		}
	}
}

func (r *jsonReader) value(depth int) *tree {
	first := r.next()
	t := &tree{pos: r.pos(r.i)}
	if depth > maxDepth {
		r.refusal = errDepth
	}
	if r.refusal != "" {
		return t
	}
	switch first {
	case '"':
		t.kind, t.text = kindText, r.text()
	case '[':
		t.kind = kindList
		for r.i++; r.next() != ']' && r.refusal == ""; {
			t.items = append(t.items, r.value(depth+1))
		}
		r.i++
	case '{':
		t.kind = kindObject
		for r.i++; r.next() != '}' && r.refusal == ""; {
			f := field{pos: r.pos(r.i), name: r.text()}
			f.value = r.value(depth + 1)
			t.fields = append(t.fields, f)
		}
		r.i++
	default:
		r.word(t)
	}
	return t
}

// word reads a number, true, false or null.
func (r *jsonReader) word(t *tree) {
	end := bytes.IndexAny(r.data[r.i:], " \t\r\n,:]}")
	if end < 0 {
		end = len(r.data) - r.i
	}
	t.text = string(r.data[r.i : r.i+end])
	r.i += end
	switch t.text {
	case "null":
		t.kind = kindNull
	case "true", "false":
		t.kind = kindBool
	default:
		t.kind = kindNumber
	}
}

// text reads the string that begins here.
func (r *jsonReader) text() string {
	start := r.i
	plain := true
	for r.i++; r.data[r.i] != '"'; r.i++ {
		if r.data[r.i] == '\\' {
			plain = false
			r.i++
		}
	}
	r.i++
	quoted := r.data[start:r.i]
	if plain {
		return string(quoted[1 : len(quoted)-1])
	}
	if at := loneSurrogate(quoted); at >= 0 {
		r.i = start + at
		r.refusal = errSurrogate
		return ""
	}
	var s string
	if err := json.Unmarshal(quoted, &s); err != nil {
		r.i, r.refusal = start, err.Error()
	}
	return s
}

// pos counts on from where it stopped the last time, so that one long line costs no more than many short ones.
func (r *jsonReader) pos(offset int) pos {
	passed := r.data[r.offset:min(max(offset, r.offset), len(r.data))]
	if lines := bytes.Count(passed, []byte("\n")); lines > 0 {
		r.last = pos{r.last.line + lines, 1}
		passed = passed[bytes.LastIndexByte(passed, '\n')+1:]
	}
	r.last.column += utf8.RuneCount(passed)
	r.offset = max(offset, r.offset)
	return r.last
}

const (
	errDepth     = "the document nests deeper than 100 levels"
	errSurrogate = "a \\u escape is half of a surrogate pair, which no text can hold"
)

// loneSurrogate finds an escape that encoding/json would silently replace, or returns -1.
func loneSurrogate(quoted []byte) int {
	for i := 0; i < len(quoted); i++ {
		if quoted[i] != '\\' {
			continue
		}
		first, ok := escapedRune(quoted, i)
		if !ok || !utf16.IsSurrogate(first) {
			i++
			continue
		}
		second, _ := escapedRune(quoted, i+6)
		if utf16.DecodeRune(first, second) == utf8.RuneError {
			return i
		}
		i += 11
	}
	return -1
}

// escapedRune reads the \uXXXX at i, if there is one.
func escapedRune(data []byte, i int) (rune, bool) {
	if i+6 > len(data) || data[i] != '\\' || data[i+1] != 'u' {
		return 0, false
	}
	var n rune
	for _, c := range data[i+2 : i+6] {
		switch {
		case c >= '0' && c <= '9':
			n = n<<4 | rune(c-'0')
		default:
			n = n<<4 | rune(c|0x20-'a'+10)
		}
	}
	return n, true
}
