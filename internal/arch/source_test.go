// Package arch holds the tests of how ax is built: which package may know which, how large a file or
// a function may grow, which words name nothing. They read the source files themselves, because what
// a `go list` of theirs read would be invisible to the test cache.
package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	module = "github.com/ax-run/ax"
	// root is the repository, as seen from this folder.
	root = "../.."
)

// source is one Go file of the repository.
type source struct {
	path      string // from the repository's root, with slashes
	pkg       string // folder of the file; "" is the root
	file      *ast.File
	positions *token.FileSet
	lines     int
	test      bool // *_test.go
	generated bool
}

// is says whether the file belongs to one of the packages; "cmd/..." names all below cmd.
func (s source) is(packages ...string) bool {
	for _, p := range packages {
		tree, all := strings.CutSuffix(p, "/...")
		if s.pkg == p || all && strings.HasPrefix(s.pkg+"/", tree+"/") {
			return true
		}
	}
	return false
}

// imports maps the import paths of the file to the names under which it uses them.
func (s source) imports() map[string]string {
	names := map[string]string{}
	for _, spec := range s.file.Imports {
		imported := strings.Trim(spec.Path.Value, `"`)
		name := path.Base(imported)
		if version := strings.TrimLeft(name, "v0123456789"); version == "" {
			name = path.Base(path.Dir(imported))
		}
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[imported] = name
	}
	return names
}

func (s source) line(node ast.Node) int { return s.positions.Position(node.Pos()).Line }

// uses lists the names that the file takes from an imported package, and where.
func (s source) uses(imported string) map[string]ast.Node {
	name, found := s.imports()[imported]
	used := map[string]ast.Node{}
	if !found {
		return used
	}
	ast.Inspect(s.file, func(node ast.Node) bool {
		if selector, ok := node.(*ast.SelectorExpr); ok {
			if from, ok := selector.X.(*ast.Ident); ok && from.Name == name {
				used[selector.Sel.Name] = selector
			}
		}
		return true
	})
	return used
}

// elsewhere are folders whose Go files, if any, are not of this module.
var elsewhere = map[string]bool{"node_modules": true, "testdata": true, "tools": true, "bin": true, "vendor": true}

var readAll = sync.OnceValues(func() ([]source, error) {
	var all []source
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && name != root && (elsewhere[entry.Name()] || strings.HasPrefix(entry.Name(), ".")) {
			return filepath.SkipDir
		}
		if entry.IsDir() || filepath.Ext(name) != ".go" {
			return nil
		}
		one, err := read(name)
		all = append(all, one)
		return err
	})
	return all, err
})

func read(name string) (source, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return source{}, err
	}
	positions := token.NewFileSet()
	file, err := parser.ParseFile(positions, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return source{}, err
	}
	relative, err := filepath.Rel(root, name)
	if err != nil {
		return source{}, err
	}
	relative = filepath.ToSlash(relative)
	pkg := path.Dir(relative)
	if pkg == "." {
		pkg = ""
	}
	return source{
		path: relative, pkg: pkg, file: file, positions: positions,
		lines:     strings.Count(string(text), "\n"),
		test:      strings.HasSuffix(name, "_test.go"),
		generated: ast.IsGenerated(file),
	}, nil
}

// sources are the files of the repository that keep says yes to.
func sources(t *testing.T, keep func(source) bool) []source {
	t.Helper()
	all, err := readAll()
	require.NoError(t, err)
	require.NotEmpty(t, all)
	var kept []source
	for _, s := range all {
		if keep(s) {
			kept = append(kept, s)
		}
	}
	return kept
}

func written(s source) bool { return !s.generated }
func product(s source) bool { return !s.generated && !s.test }
