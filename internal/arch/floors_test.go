package arch

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// floors is the table of the house, in tens: a package imports only packages with a smaller number,
// so neighbours never meet. A number between two tens is a package that stands on one of its floor.
var floors = map[string]int{
	"migrations": 0, "web": 0,
	"internal/cron": 0, "internal/expr": 0, "internal/service": 0, "internal/batch": 0,
	"internal/outbound": 0, "internal/pgdev": 0,

	"dag": 10, "dag/progress": 15,

	"sdk": 20, "sdk/client": 0, "internal/store": 20, "internal/store/internal/db": 0, "internal/forecast": 20, "internal/foreign": 20,

	"engine": 30, "planner": 30, "alert": 30, "alert/channels": 25,

	"": 40, "api": 40,

	"bench": 50, "sdk/sdktest": 50,

	"cmd/ax": 60, "examples/...": 60,

	"internal/dbtest": 5, "internal/arch": 0, "internal/reference": 18,
}

// testOnly are packages that only tests may import, from any floor.
var testOnly = []string{"internal/dbtest", "internal/arch", "internal/reference"}

func floorOf(pkg string) (int, bool) {
	if floor, ok := floors[pkg]; ok {
		return floor, true
	}
	for place, floor := range floors {
		if tree, all := strings.CutSuffix(place, "/..."); all && strings.HasPrefix(pkg, tree+"/") {
			return floor, true
		}
	}
	return 0, false
}

func TestPackagesImportOnlyFloorsBelow(t *testing.T) {
	for _, s := range sources(t, func(source) bool { return true }) {
		own, placed := floorOf(s.pkg)
		if !placed {
			t.Errorf("%s: the package %s has no floor: give it a line in the table in internal/arch, where a newcomer will look for it", s.path, s.pkg)
			continue
		}
		for _, imported := range slices.Sorted(maps.Keys(s.imports())) {
			checkImport(t, s, own, imported)
		}
	}
}

func checkImport(t *testing.T, s source, own int, imported string) {
	t.Helper()
	pkg, ours := strings.CutPrefix(imported+"/", module+"/")
	if !ours {
		return
	}
	pkg = strings.TrimSuffix(pkg, "/")
	if slices.Contains(testOnly, pkg) {
		if !s.test && !s.is(testOnly...) {
			t.Errorf("%s imports %s, which is for tests only: the product must not carry it", s.path, pkg)
		}
		return
	}
	below, placed := floorOf(pkg)
	if !placed || below < own || s.test && pkg == s.pkg || sameExample(s.pkg, pkg) {
		return // an unplaced package is told about at its own files
	}
	t.Errorf("%s (floor %g) imports %s (floor %g): packages import only floors below their own, so that each can be understood, and tested, without what is above or beside it. "+
		"Declare a small interface where it is needed and let a higher floor bring the two together",
		s.path, float64(own)/10, pkg, float64(below)/10)
}

// sameExample: an example is a program of its own, with packages of its own.
func sameExample(a, b string) bool {
	one, two := strings.SplitN(a, "/", 3), strings.SplitN(b, "/", 3)
	return one[0] == "examples" && len(one) > 1 && len(two) > 1 && slices.Equal(one[:2], two[:2])
}
