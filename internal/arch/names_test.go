package arch

import (
	"go/ast"
	"go/token"
	"path"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

// banned are words that say nothing of what a thing does, or that have another name here.
var banned = map[string]string{
	"util": "say what it does", "utils": "say what it does",
	"helper": "say what it does", "helpers": "say what it does",
	"manager": "say what it does", "managers": "say what it does",
	"common": "say what is common, or put each part where it is used",
	"impl":   "name it by what makes it special", "impls": "name it by what makes it special",
	"instance": "name the thing itself", "instances": "name the thing itself",
	"execution":  "a run of a workflow is a run, of a node a node run; only the execution id keeps its name",
	"executions": "runs of workflows are runs, of nodes node runs; only execution ids keep their name",
}

// words splits a name at its capitals, digits and signs: "newExecutionIDs2" → new execution ids 2.
func words(name string) []string {
	var split []string
	letters := []rune(name)
	began := 0
	for i, letter := range letters {
		switch {
		case !unicode.IsLetter(letter) && !unicode.IsDigit(letter):
			split = append(split, string(letters[began:i]))
			began = i + 1
		case i > began && startsWord(letters, i):
			split = append(split, string(letters[began:i]))
			began = i
		}
	}
	split = append(split, string(letters[began:]))
	for i := range split {
		split[i] = strings.ToLower(split[i])
	}
	return split
}

// startsWord: a capital after a small letter, or the last capital of several before a small letter
// (but the s of "IDs" stays with them).
func startsWord(letters []rune, i int) bool {
	if !unicode.IsUpper(letters[i]) {
		return unicode.IsDigit(letters[i]) != unicode.IsDigit(letters[i-1])
	}
	if !unicode.IsUpper(letters[i-1]) {
		return true
	}
	plural := i+1 < len(letters) && letters[i+1] == 's' && (i+2 == len(letters) || !unicode.IsLower(letters[i+2]))
	return i+1 < len(letters) && unicode.IsLower(letters[i+1]) && !plural
}

// badWord returns the banned word in a name and why it is banned.
func badWord(name string) (word, why string) {
	split := words(name)
	for i, w := range split {
		identifies := i+1 < len(split) && (split[i+1] == "id" || split[i+1] == "ids")
		if reason, found := banned[w]; found && !(w == "execution" && identifies) {
			return w, reason
		}
	}
	return "", ""
}

func TestWords(t *testing.T) {
	for name, want := range map[string][]string{
		"newExecutionIDs2": {"new", "execution", "ids", "2"},
		"HTTPServer":       {"http", "server"},
		"simple_impl.go":   {"simple", "impl", "go"},
		"id":               {"id"},
		"runIDsOf":         {"run", "ids", "of"},
	} {
		require.Equal(t, want, words(name), name)
	}
	for name, want := range map[string]string{
		"ExecutionID": "", "executionIDs": "", "execution_id": "", "implicit": "", "simple": "",
		"Execution": "execution", "jobManager": "manager", "doImpl": "impl", "stringutil": "", "string_util": "util",
	} {
		word, _ := badWord(name)
		require.Equal(t, want, word, name)
	}
}

func TestNamesSaySomething(t *testing.T) {
	for _, s := range sources(t, written) {
		for _, part := range append(strings.Split(s.path, "/"), s.file.Name.Name) {
			if word, why := badWord(strings.TrimSuffix(part, ".go")); word != "" {
				t.Errorf("%s: the path has the word %q: %s", s.path, word, why)
			}
		}
		for _, declared := range declarations(s.file) {
			if word, why := badWord(declared.Name); word != "" {
				t.Errorf("%s:%d: %s has the word %q: %s", s.path, s.line(declared), declared.Name, word, why)
			}
		}
	}
}

// declarations are all names that the file gives: types, functions, fields, parameters, variables.
func declarations(file *ast.File) []*ast.Ident {
	var names []*ast.Ident
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.FuncDecl:
			names = append(names, node.Name)
		case *ast.TypeSpec:
			names = append(names, node.Name)
		case *ast.ValueSpec:
			names = append(names, node.Names...)
		case *ast.Field:
			names = append(names, node.Names...)
		case *ast.AssignStmt:
			if node.Tok == token.DEFINE {
				names = append(names, identifiers(node.Lhs)...)
			}
		case *ast.RangeStmt:
			names = append(names, identifiers([]ast.Expr{node.Key, node.Value})...)
		}
		return true
	})
	return names
}

func identifiers(expressions []ast.Expr) []*ast.Ident {
	var names []*ast.Ident
	for _, expression := range expressions {
		if name, ok := expression.(*ast.Ident); ok {
			names = append(names, name)
		}
	}
	return names
}

// methodCalls are the names called on something, and where; the functions of package sdk are none.
func methodCalls(s source) map[string]ast.Node {
	called := map[string]ast.Node{}
	ast.Inspect(s.file, func(node ast.Node) bool {
		if call, ok := node.(*ast.CallExpr); ok {
			if selector, ok := call.Fun.(*ast.SelectorExpr); ok && !isNamed(selector.X, "sdk") {
				called[selector.Sel.Name] = call
			}
		}
		return true
	})
	return called
}

func isNamed(expression ast.Expr, name string) bool {
	plain, ok := expression.(*ast.Ident)
	return ok && plain.Name == name
}

func TestPackagesAreNamedByTheirFolder(t *testing.T) {
	for _, s := range sources(t, product) {
		folder := path.Base(s.pkg)
		if s.pkg == "" {
			folder = path.Base(module)
		}
		if name := s.file.Name.Name; name != "main" && name != folder {
			t.Errorf("%s is of package %s: name the package by its folder, so that an import tells where to look", s.path, name)
		}
	}
}
