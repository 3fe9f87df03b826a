package report

import "strings"

// DataError says that the data itself is wrong: trying again cannot help.
type DataError struct {
	// Subject is what the data is about, most often a business date.
	Subject string
	// Problems holds everything that was found, each one a sentence for a person.
	Problems []string
}

// Error joins the problems.
func (e *DataError) Error() string { return e.Subject + ": " + strings.Join(e.Problems, "; ") }
