package arch

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// wall keeps a library in few packages, so that it can be judged, and replaced, in one place.
type wall struct {
	library string // import path, and all below it
	within  []string
	why     string
}

var walls = []wall{
	{"github.com/jackc/pgx/v5", []string{"internal/store", "internal/pgdev", "migrations", "internal/dbtest"}, "all SQL is in the store"},
	{"github.com/riverqueue/river", []string{"engine", "bench"}, "only the engine moves work through River"},
	{"github.com/danielgtaylor/huma/v2", []string{"api"}, "only the HTTP face knows HTTP's framework"},
	{"github.com/spf13/cobra", []string{"cmd/..."}, "only the command line knows its framework"},
	{"gonum.org/v1/gonum", []string{"dag", "internal/forecast"}, "graphs are the matter of dag, statistics of forecast"},
	{"testing", []string{"internal/dbtest", "internal/arch", "sdk/sdktest"}, "the product carries no test code"},
}

// doors are the names that may pass a wall anywhere: a caller's transaction and pool in signatures.
var doors = map[string][]string{
	"github.com/jackc/pgx/v5":         {"Tx"},
	"github.com/jackc/pgx/v5/pgxpool": {"Pool"},
}

// gates are whole packages that may pass a wall in one package.
var gates = map[string][]string{
	"migrations": {"github.com/riverqueue/river/rivermigrate", "github.com/riverqueue/river/riverdriver/riverpgxv5"},
}

func TestLibrariesStayBehindTheirWalls(t *testing.T) {
	for _, s := range sources(t, product) {
		for _, imported := range slices.Sorted(maps.Keys(s.imports())) {
			for _, w := range walls {
				if w.blocks(s, imported) {
					t.Errorf("%s imports %s, which belongs in %s: %s", s.path, imported, strings.Join(w.within, ", "), w.why)
				}
			}
		}
	}
}

func (w wall) blocks(s source, imported string) bool {
	inLibrary := strings.HasPrefix(imported+"/", w.library+"/")
	if !inLibrary || s.is(w.within...) || slices.Contains(gates[s.pkg], imported) {
		return false
	}
	open, hasDoor := doors[imported]
	if !hasDoor {
		return true
	}
	for used := range s.uses(imported) {
		if !slices.Contains(open, used) {
			return true
		}
	}
	return false
}

// clockless are the files that decide: time is an argument there.
func clockless(s source) bool {
	return product(s) && (s.is("dag", "dag/progress", "internal/cron") || s.path == "planner/due.go")
}

func TestRulesReadNoClock(t *testing.T) {
	for _, s := range sources(t, clockless) {
		used := s.uses("time")
		for _, name := range []string{"Now", "Since", "Until", "After", "NewTimer", "NewTicker"} {
			if node, found := used[name]; found {
				t.Errorf("%s:%d calls time.%s: what decides takes the time as an argument (the database's clock is the only truth, and a test must be able to choose it)", s.path, s.line(node), name)
			}
		}
	}
}

func TestTestsWaitForEventsAndAreNotSkipped(t *testing.T) {
	for _, s := range sources(t, func(s source) bool { return s.test && !s.is("internal/arch") }) {
		_, bubbles := s.imports()["testing/synctest"]
		if node, found := s.uses("time")["Sleep"]; found && !bubbles {
			t.Errorf("%s:%d calls time.Sleep: a test that waits for luck fails on a slow machine and is slow on a fast one; wait for the event, or use testing/synctest", s.path, s.line(node))
		}
		for name, node := range methodCalls(s) {
			if name == "Skip" || name == "Skipf" || name == "SkipNow" {
				t.Errorf("%s:%d skips a test: a skipped test proves nothing", s.path, s.line(node))
			}
		}
	}
}
