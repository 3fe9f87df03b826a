package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"

	"github.com/ax-run/ax/examples/nightly-report/data"
)

// row is one flight as the source writes it.
type row struct {
	Date        string `json:"date"` // 2001/01/15 11:15
	Delay       int    `json:"delay"`
	Distance    int    `json:"distance"`
	Origin      string `json:"origin"`
	Destination string `json:"destination"`
}

func readRows() ([]row, error) {
	raw, err := data.Flights()
	if err != nil {
		return nil, err
	}
	var rows []row
	if err := json.Unmarshal(raw, &rows); err != nil {
		return nil, fmt.Errorf("parse flights: %w", err)
	}
	return rows, nil
}

// airport is what the report needs to know of one.
type airport struct {
	name, state string
}

// readAirports returns the airports by code.
func readAirports() (map[string]airport, error) {
	raw, err := data.Airports()
	if err != nil {
		return nil, err
	}
	lines, err := csv.NewReader(bytes.NewReader(raw)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("parse airports: %w", err)
	}
	const code, name, state = 0, 1, 3
	airports := make(map[string]airport, len(lines))
	for _, l := range lines[1:] {
		airports[l[code]] = airport{name: l[name], state: l[state]}
	}
	return airports, nil
}
