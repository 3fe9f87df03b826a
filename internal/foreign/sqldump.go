package foreign

import (
	"fmt"
	"strings"
)

// sqlRows reads the rows that a dump inserts into a table, by column. Rows of an INSERT without a list of columns have those of the
// table's CREATE TABLE in the same dump.
func sqlRows(text, table string) ([]map[string]string, error) {
	r := &sqlReader{text: text}
	var rows []map[string]string
	var made []string
	for r.skipToStatement() {
		switch {
		case r.words("CREATE", "TABLE"):
			r.words("IF", "NOT", "EXISTS")
			if r.name() == table {
				made = r.columnsMade()
			}
		case r.words("INSERT", "INTO"), r.words("INSERT", "IGNORE", "INTO"), r.words("REPLACE", "INTO"):
			if r.name() != table {
				continue
			}
			columns := made
			if r.peek() == '(' {
				columns = r.list()
			}
			if !r.words("VALUES") && !r.words("VALUE") {
				return nil, fmt.Errorf("line %d: want VALUES after INSERT INTO %s", r.line(), table)
			}
			got, err := r.values(columns)
			if err != nil {
				return nil, err
			}
			rows = append(rows, got...)
		}
	}
	return rows, nil
}

// sqlReader reads MySQL's dialect as far as dumps use it.
type sqlReader struct {
	text string
	at   int
	// begun is set within the first statement.
	begun bool
}

func (r *sqlReader) line() int { return 1 + strings.Count(r.text[:r.at], "\n") }

// space skips blanks and comments.
func (r *sqlReader) space() {
	for r.at < len(r.text) {
		rest := r.text[r.at:]
		switch {
		case strings.ContainsRune(" \t\r\n", rune(rest[0])):
			r.at++
		case strings.HasPrefix(rest, "-- "), strings.HasPrefix(rest, "--\n"), rest[0] == '#':
			r.skipTo("\n")
		case strings.HasPrefix(rest, "/*"):
			r.skipTo("*/")
		default:
			return
		}
	}
}

func (r *sqlReader) skipTo(end string) {
	if i := strings.Index(r.text[r.at:], end); i >= 0 {
		r.at += i + len(end)
		return
	}
	r.at = len(r.text)
}

// skipToStatement moves to the begin of the next statement: past the end of the one it is in, if in any.
func (r *sqlReader) skipToStatement() bool {
	for r.begun && r.peek() != 0 && r.peek() != ';' {
		r.token()
	}
	if r.begun {
		r.at = min(r.at+1, len(r.text))
	}
	r.begun = true
	r.space()
	return r.at < len(r.text)
}

func (r *sqlReader) peek() byte {
	r.space()
	if r.at < len(r.text) {
		return r.text[r.at]
	}
	return 0
}

// token reads a quoted text, a word, or one character; quoted tells the first.
func (r *sqlReader) token() (text string, quoted bool) {
	switch c := r.peek(); {
	case c == 0:
		return "", false
	case c == '\'' || c == '"' || c == '`':
		return r.quoted(c), true
	case strings.IndexByte("(),;", c) >= 0:
		r.at++
		return string(c), false
	}
	from := r.at
	for r.at < len(r.text) && strings.IndexByte(" \t\r\n(),;'\"`", r.text[r.at]) < 0 {
		r.at++
	}
	return r.text[from:r.at], false
}

func (r *sqlReader) quoted(quote byte) string {
	var b strings.Builder
	for r.at++; r.at < len(r.text); r.at++ {
		switch c := r.text[r.at]; {
		case c == '\\' && quote != '`' && r.at+1 < len(r.text):
			r.at++
			b.WriteString(unescape(r.text[r.at]))
		case c == quote && r.at+1 < len(r.text) && r.text[r.at+1] == quote:
			r.at++
			b.WriteByte(c)
		case c == quote:
			r.at++
			return b.String()
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

func unescape(c byte) string {
	if s, ok := map[byte]string{'n': "\n", 't': "\t", 'r': "\r", '0': "\x00", 'Z': "\x1a", 'b': "\b"}[c]; ok {
		return s
	}
	return string(c)
}

// words reads the words, if all of them come next.
func (r *sqlReader) words(all ...string) bool {
	from := r.at
	for _, want := range all {
		if got, quoted := r.token(); quoted || !strings.EqualFold(got, want) {
			r.at = from
			return false
		}
	}
	return true
}

// name reads a table's name without its database's.
func (r *sqlReader) name() string {
	for {
		text, _ := r.token()
		if r.at < len(r.text) && r.text[r.at] == '.' {
			r.at++
			continue
		}
		return text[strings.LastIndexByte(text, '.')+1:]
	}
}

// list reads a list in parentheses.
func (r *sqlReader) list() (items []string) {
	r.token()
	for r.peek() != 0 {
		text, quoted := r.token()
		if !quoted && text == ")" {
			return items
		}
		if quoted || text != "," {
			items = append(items, text)
		}
	}
	return items
}

// columnsMade reads the names of a CREATE TABLE's columns: the quoted name that begins each entry.
func (r *sqlReader) columnsMade() (names []string) {
	r.token()
	depth, begins := 1, true
	for depth > 0 && r.peek() != 0 {
		text, quoted := r.token()
		switch {
		case quoted && begins && depth == 1:
			names = append(names, text)
		case !quoted && text == "(":
			depth++
		case !quoted && text == ")":
			depth--
		}
		begins = !quoted && text == "," && depth == 1
	}
	return names
}

// values reads rows such as (1,'a',NULL),(2,'b',NULL).
func (r *sqlReader) values(columns []string) (rows []map[string]string, err error) {
	for r.peek() == '(' {
		at := r.line()
		row, n := make(map[string]string), 0
		r.token()
		for {
			text, quoted := r.token()
			if n < len(columns) && (quoted || !strings.EqualFold(text, "NULL")) {
				row[columns[n]] = text
			}
			n++
			next, _ := r.token()
			if next == ")" {
				break
			}
			if next != "," {
				return nil, fmt.Errorf("line %d: the row does not end: is the dump cut off?", at)
			}
		}
		if n != len(columns) {
			return nil, fmt.Errorf("line %d: a row of %d values for %d columns", at, n, len(columns))
		}
		rows = append(rows, row)
		if r.peek() == ',' {
			r.at++
		}
	}
	return rows, nil
}
