package main

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// cell is one place of a table. Its text is whole without colour: colour only helps the eye.
type cell struct {
	text   string
	colour colour
}

// colour is how a terminal shows a text; "" is as it is.
type colour string

const (
	green  colour = "32"
	red    colour = "31"
	yellow colour = "33"
	blue   colour = "34"
	faint  colour = "2"
)

func (k colour) paint(text string, on bool) string {
	if !on || k == "" || text == "" {
		return text
	}
	return "\x1b[" + string(k) + "m" + text + "\x1b[0m"
}

// table is rows under a header.
type table struct {
	header []string
	rows   [][]cell
}

func (t *table) add(cells ...cell) { t.rows = append(t.rows, cells) }

func plain(text string) cell { return cell{text: text} }

// columnGap is between columns.
const columnGap = "  "

// render lays the table out: columns as wide as their widest text, the last one as it comes.
func (t *table) render(colours bool) string {
	rows := [][]cell{make([]cell, len(t.header))}
	for i, h := range t.header {
		rows[0][i] = plain(h)
	}
	for _, r := range t.rows {
		tidy := make([]cell, len(r))
		for i, c := range r {
			tidy[i] = cell{printable(c.text), c.colour}
		}
		rows = append(rows, tidy)
	}
	widths := make([]int, len(t.header))
	for _, r := range rows {
		for i, c := range r {
			widths[i] = max(widths[i], columns(c.text))
		}
	}
	var b strings.Builder
	for _, r := range rows {
		b.WriteString(layOut(r, widths, colours) + "\n")
	}
	return b.String()
}

func layOut(row []cell, widths []int, colours bool) string {
	var b strings.Builder
	blank := 0 // written only when something follows
	for i, c := range row {
		if c.text != "" {
			b.WriteString(strings.Repeat(" ", blank))
			b.WriteString(c.colour.paint(c.text, colours))
			blank = 0
		}
		blank += widths[i] - columns(c.text) + len(columnGap)
	}
	return b.String()
}

// fields lays out names and what they stand for; a field without a value is left out.
func fields(colours bool, pairs ...[2]cell) string {
	t := table{header: []string{"", ""}}
	for _, p := range pairs {
		if p[1].text != "" {
			t.add(p[0], p[1])
		}
	}
	_, body, _ := strings.Cut(t.render(colours), "\n")
	return body
}

func field(name string, value string) [2]cell { return [2]cell{{name, faint}, plain(value)} }

// columns is how many columns of a terminal a text takes.
func columns(text string) int {
	n := 0
	for _, r := range text {
		switch {
		case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		case isWide(r):
			n += 2
		default:
			n++
		}
	}
	return n
}

func isWide(r rune) bool {
	k := width.LookupRune(r).Kind()
	return k == width.EastAsianWide || k == width.EastAsianFullwidth
}

// printable makes one line of a text from elsewhere, without anything that could steer a terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case unicode.IsControl(r) || r == unicode.ReplacementChar:
			return -1
		case unicode.In(r, unicode.Bidi_Control):
			return -1
		}
		return r
	}, text)
}
