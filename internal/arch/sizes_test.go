package arch

import (
	"go/ast"
	"slices"
	"testing"
)

// The budgets: what is within them can be read in one go.
const (
	medianFile   = 150
	longestFile  = 500
	usualFunc    = 45 // nine in ten
	longestFunc  = 80
	mostParams   = 5
	mostResults  = 2 // and an error
	sizesAdvice  = "split it by idea, or give it a line in the exceptions of internal/arch with its reason"
	usualPercent = 90
)

// exceptions are files ("path") and functions ("path:Name") that may pass a budget, with the reason.
var exceptions = map[string]string{
	"sdk/node.go:Node2": "a parameter for each typed parent",
	"sdk/node.go:Node3": "a parameter for each typed parent",
}

// excepted says whether the budget does not hold for place, and marks the exception as used.
func excepted(used map[string]bool, place string) bool {
	used[place] = true
	return exceptions[place] != ""
}

// function is a function or method with a body, and its size.
type function struct {
	source
	decl  *ast.FuncDecl
	lines int
}

func (f function) place() string { return f.path + ":" + f.decl.Name.Name }

func functions(files []source) []function {
	var all []function
	for _, s := range files {
		for _, decl := range s.file.Decls {
			if decl, ok := decl.(*ast.FuncDecl); ok && decl.Body != nil {
				lines := s.positions.Position(decl.End()).Line - s.line(decl) + 1
				all = append(all, function{source: s, decl: decl, lines: lines})
			}
		}
	}
	return all
}

func TestFilesAndFunctionsStaySmall(t *testing.T) {
	used := map[string]bool{}
	files := sources(t, written)
	for _, s := range files {
		if s.lines > longestFile && !excepted(used, s.path) {
			t.Errorf("%s has %d lines, more than %d: %s", s.path, s.lines, longestFile, sizesAdvice)
		}
	}
	for _, f := range functions(files) {
		checkFunction(t, f, used)
	}
	for place, reason := range exceptions {
		if !used[place] || reason == "" {
			t.Errorf("the exception for %s is not needed or has no reason: remove it", place)
		}
	}
}

func checkFunction(t *testing.T, f function, used map[string]bool) {
	t.Helper()
	params := f.decl.Type.Params.NumFields()
	results := f.decl.Type.Results
	count := results.NumFields()
	if count > 0 {
		if last, ok := results.List[len(results.List)-1].Type.(*ast.Ident); ok && last.Name == "error" {
			count--
		}
	}
	if f.lines <= longestFunc && params <= mostParams && count <= mostResults || excepted(used, f.place()) {
		return
	}
	t.Errorf("%s has %d lines (at most %d), %d parameters (at most %d), %d results besides an error (at most %d): %s",
		f.place(), f.lines, longestFunc, params, mostParams, count, mostResults, sizesAdvice)
}

func TestMostFilesAndFunctionsAreSmall(t *testing.T) {
	files := sources(t, product)
	var lines []int
	for _, s := range files {
		lines = append(lines, s.lines)
	}
	if median := percentile(lines, 50); median > medianFile {
		t.Errorf("half of the files have more than %d lines, the budget is %d: a file is one idea", median, medianFile)
	}
	var lengths []int
	for _, f := range functions(files) {
		lengths = append(lengths, f.lines)
	}
	if usual := percentile(lengths, usualPercent); usual > usualFunc {
		t.Errorf("nine in ten functions have up to %d lines, the budget is %d", usual, usualFunc)
	}
}

func percentile(values []int, percent int) int {
	slices.Sort(values)
	return values[(len(values)-1)*percent/100]
}
