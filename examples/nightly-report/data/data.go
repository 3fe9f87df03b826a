// Package data holds the input of the nightly report: a sample of US domestic
// flights of early 2001 and the airports they use. README.md beside it states the
// origin and the licence.
package data

import (
	"bytes"
	"compress/gzip"
	_ "embed" // the two files below
	"fmt"
	"io"
)

//go:embed flights-20k.json.gz
var flights []byte

//go:embed airports.csv.gz
var airports []byte

// Flights returns the 20,000 flights as one JSON array, in order of departure.
func Flights() ([]byte, error) { return unpack("flights-20k.json", flights) }

// Airports returns the airports as CSV with a header line.
func Airports() ([]byte, error) { return unpack("airports.csv", airports) }

func unpack(name string, packed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	plain, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("unpack %s: %w", name, err)
	}
	return plain, nil
}
