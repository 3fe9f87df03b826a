package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ax-run/ax/dag"
)

// definition is one file of a definition, and what is wrong with it.
type definition struct {
	File     string        `json:"file"`
	Workflow string        `json:"workflow,omitempty"`
	Nodes    int           `json:"nodes,omitempty"`
	Valid    bool          `json:"valid"`
	Problems []dag.Problem `json:"problems"`

	text []byte
	// after are the workflows of its namespace that it waits for or runs as nodes: they are registered before it.
	after []string
}

// stdinName is what standard input is called where a file would be.
const stdinName = "<stdin>"

// readDefinitions reads and checks every file that the places (files, folders, - for standard input) name.
func (c *call) readDefinitions(ctx context.Context, places []string, opt dag.BuildOptions) ([]*definition, error) {
	files, err := definitionFiles(places)
	if err != nil {
		return nil, err
	}
	var all []*definition
	for _, file := range files {
		text, err := c.readInput(ctx, file)
		if errors.Is(err, errTooLarge) {
			all = append(all, &definition{File: file, Problems: []dag.Problem{{Severity: dag.SeverityError, Code: dag.CodeTooLarge, Message: err.Error(),
				Hint: fmt.Sprintf("a definition has at most %d MiB", dag.MaxBytes>>20)}}})
			continue
		}
		if err != nil {
			return nil, failure(unlessTold(err), "read definition: %w", err)
		}
		if file == "-" {
			file = stdinName
		}
		all = append(all, check(file, text, opt))
	}
	refuseTwice(all)
	return all, nil
}

// definitionFiles lists the files of several places, each once, in order; of a folder and those below it, every YAML and JSON file.
func definitionFiles(places []string) ([]string, error) {
	var files []string
	for _, place := range places {
		found := []string{place}
		if place != "-" {
			info, err := os.Stat(place)
			if err != nil {
				return nil, failure(exitUsage, "there is no definition at %s: %w", place, err)
			}
			if info.IsDir() {
				if found, err = filesBelow(place); err != nil {
					return nil, err
				}
			}
		}
		for _, f := range found {
			if !slices.Contains(files, f) {
				files = append(files, f)
			}
		}
	}
	return files, nil
}

func filesBelow(folder string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		switch hidden := strings.HasPrefix(entry.Name(), "."); {
		case err != nil:
			return err
		case hidden && entry.IsDir() && path != folder:
			return fs.SkipDir
		case hidden || entry.IsDir():
			return nil
		}
		switch filepath.Ext(path) {
		case ".yaml", ".yml", ".json":
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		return nil, failure(exitUsage, "read folder %s: %w", folder, err)
	}
	if len(files) == 0 {
		return nil, failure(exitUsage, "the folder %s has no definition: none of its files ends in .yaml, .yml or .json", folder)
	}
	return files, nil
}

func check(file string, text []byte, opt dag.BuildOptions) *definition {
	d := &definition{File: file, text: text, Problems: []dag.Problem{}}
	graph, problems := dag.Load(text, opt)
	d.Problems = append(d.Problems, problems...)
	if graph != nil {
		d.Valid, d.Workflow, d.Nodes = true, graph.Definition().Workflow, graph.Len()
		d.after = leadingTo(graph.Definition())
	}
	return d
}

// leadingTo are the workflows of its own namespace that a definition waits for or runs as nodes.
func leadingTo(def *dag.Definition) (codes []string) {
	if up := def.Upstream; up != nil {
		for _, t := range slices.Concat(up.All, up.Any) {
			if t.Namespace == "" {
				codes = append(codes, t.Workflow)
			}
		}
	}
	for _, n := range def.Nodes {
		if n.Child != nil && n.Child.Namespace == "" {
			codes = append(codes, n.Child.Code)
		}
	}
	slices.Sort(codes)
	return codes
}

// inOrder puts every definition after those among them that it needs, and leaves the others as they were.
func inOrder(all []*definition) []*definition {
	byCode := make(map[string]*definition, len(all))
	for _, d := range all {
		byCode[d.Workflow] = d
	}
	var ordered []*definition
	seen := make(map[*definition]bool, len(all))
	var visit func(*definition)
	visit = func(d *definition) {
		if d == nil || seen[d] {
			return
		}
		seen[d] = true
		for _, code := range d.after {
			visit(byCode[code])
		}
		ordered = append(ordered, d)
	}
	for _, d := range all {
		visit(d)
	}
	return ordered
}

// refuseTwice finds workflows that two files define: the later registration would undo the earlier.
func refuseTwice(all []*definition) {
	first := make(map[string]string)
	for _, d := range all {
		if !d.Valid {
			continue
		}
		if other := first[d.Workflow]; other != "" {
			d.Valid = false
			d.Problems = append(d.Problems, dag.Problem{Path: "workflow", Severity: dag.SeverityError, Code: dag.CodeDuplicateName,
				Message: fmt.Sprintf("the workflow %s is defined in %s already", d.Workflow, other), Hint: "keep one of them"})
			continue
		}
		first[d.Workflow] = d.File
	}
}

// problemsText lists problems as compilers do, so that editors find the places.
func problemsText(file string, problems []dag.Problem, colours bool) string {
	var b strings.Builder
	for _, p := range problems {
		place := printable(file)
		if p.Line > 0 {
			place += fmt.Sprintf(":%d:%d", p.Line, p.Column)
		}
		kind := red
		if p.Severity == dag.SeverityWarning {
			kind = yellow
		}
		what := printable(p.Message)
		if p.Path != "" {
			what = printable(p.Path) + ": " + what
		}
		fmt.Fprintf(&b, "%s: %s: %s [%s]\n", place, kind.paint(string(p.Severity), colours), what, p.Code)
		if p.Hint != "" {
			fmt.Fprintf(&b, "    %s\n", faint.paint("hint: "+printable(p.Hint), colours))
		}
	}
	return b.String()
}

// invalid is the error for definitions of which some are refused; nil when none is.
func invalid(all []*definition, then string) error {
	problems, files := 0, 0
	for _, d := range all {
		if d.Valid {
			continue
		}
		files++
		for _, p := range d.Problems {
			if p.Severity == dag.SeverityError {
				problems++
			}
		}
	}
	if files == 0 {
		return nil
	}
	return failure(exitUsage, "%s in %s%s", counted(problems, "problem"), counted(files, "file"), then)
}
