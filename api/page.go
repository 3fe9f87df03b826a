package api

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
)

// PageInput is what every list takes.
type PageInput struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"50" doc:"How many items at most."`
	Cursor string `query:"cursor" maxLength:"1000" doc:"Where to go on: next_cursor of the page before. Pages neither repeat nor miss items when others are added meanwhile."`
}

// Page is one page of a list.
type Page[T any] struct {
	Items      []T    `json:"items" nullable:"false"`
	NextCursor string `json:"next_cursor,omitempty" doc:"The cursor of the next page; absent on the last one."`
}

// cursor is what the text of a cursor holds: the kind of list, and the place after the last item.
type cursor[M any] struct {
	Kind string `json:"k"`
	Mark M      `json:"m"`
}

func newCursor[M any](mark M) cursor[M] {
	return cursor[M]{Kind: fmt.Sprintf("%T", mark), Mark: mark}
}

func (c cursor[M]) text() (string, error) {
	b, err := json.Marshal(c)
	if err != nil {
		return "", fmt.Errorf("write cursor: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(b), nil
}

// readCursor returns the place that a cursor names, or first for none. Each list has its own type of mark, so that
// it refuses the cursors of others.
func readCursor[M any](text string, first M) (M, error) {
	if text == "" {
		return first, nil
	}
	var c cursor[M]
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = readJSON(raw, &c)
	}
	if err == nil && c.Kind != newCursor(first).Kind {
		err = errors.New("it is of another list")
	}
	if err != nil {
		return first, invalid("query.cursor", "this is not a cursor of this list; leave it out to begin at the top")
	}
	return c.Mark, nil
}

// paged cuts rows, of which one more than limit was asked for, to a page; mark names the place after a row.
func paged[R, T, M any](rows []R, limit int, item func(R) T, mark func(R) M) (Page[T], error) {
	p := Page[T]{Items: make([]T, 0, min(len(rows), limit))}
	for _, r := range rows[:min(len(rows), limit)] {
		p.Items = append(p.Items, item(r))
	}
	var err error
	if len(rows) > limit {
		p.NextCursor, err = newCursor(mark(rows[limit-1])).text()
	}
	return p, err
}
