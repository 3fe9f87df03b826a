package arch

import (
	"go/ast"
	"go/token"
	"strings"
	"testing"
)

func TestExportedNamesAreDocumented(t *testing.T) {
	for _, s := range sources(t, product) {
		for _, decl := range s.file.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if decl.Name.IsExported() && ast.IsExported(receiver(decl)) {
					checkDoc(t, s, decl.Name, decl.Doc)
				}
			case *ast.GenDecl:
				checkGroup(t, s, decl)
			}
		}
	}
}

// receiver is the type that a method belongs to; a function's is exported for this purpose.
func receiver(decl *ast.FuncDecl) string {
	if decl.Recv == nil {
		return "Function"
	}
	expression := decl.Recv.List[0].Type
	for {
		switch inner := expression.(type) {
		case *ast.StarExpr:
			expression = inner.X
		case *ast.IndexExpr:
			expression = inner.X
		case *ast.IndexListExpr:
			expression = inner.X
		case *ast.Ident:
			return inner.Name
		default:
			return ""
		}
	}
}

// checkGroup checks a declaration of types, constants or variables. A comment above a group of
// several, or above the single one, serves all that have none of their own.
func checkGroup(t *testing.T, s source, decl *ast.GenDecl) {
	t.Helper()
	for _, spec := range decl.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			doc := spec.Doc
			if doc == nil && len(decl.Specs) == 1 {
				doc = decl.Doc
			}
			if spec.Name.IsExported() {
				checkDoc(t, s, spec.Name, doc)
			}
		case *ast.ValueSpec:
			checkValue(t, s, decl, spec)
		}
	}
}

func checkValue(t *testing.T, s source, decl *ast.GenDecl, spec *ast.ValueSpec) {
	t.Helper()
	for _, name := range spec.Names {
		grouped := decl.Lparen != token.NoPos && (decl.Doc != nil || spec.Comment != nil)
		if !name.IsExported() || spec.Doc == nil && grouped {
			continue
		}
		doc := spec.Doc
		if doc == nil {
			doc = decl.Doc
		}
		checkDoc(t, s, name, doc)
	}
}

func checkDoc(t *testing.T, s source, name *ast.Ident, doc *ast.CommentGroup) {
	t.Helper()
	if text := strings.Fields(doc.Text()); len(text) > 0 {
		first := strings.TrimRight(text[0], ",:;.")
		if strings.TrimSuffix(first, "'s") == name.Name {
			return
		}
	}
	t.Errorf("%s:%d: %s needs a comment that starts with its name and says what a caller cannot see: what it means, its units, its errors, who blocks", s.path, s.line(name), name.Name)
}

func TestPackagesAreIntroduced(t *testing.T) {
	introduced := map[string]bool{}
	files := sources(t, product)
	for _, s := range files {
		text := s.file.Doc.Text()
		prefix := "Package " + s.file.Name.Name + " "
		if s.file.Name.Name == "main" {
			prefix = "Command "
		}
		introduced[s.pkg] = introduced[s.pkg] || strings.HasPrefix(text, prefix)
	}
	for _, s := range files {
		if !introduced[s.pkg] {
			introduced[s.pkg] = true
			t.Errorf("package %s has no comment: one file of it says, above its package clause, what the package is for, starting %q", s.pkg, "Package … ")
		}
	}
}
