package dag_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ax-run/ax/dag"
)

// wide is a document of n nodes, each needing the five before it.
func wide(n int) []byte {
	var b strings.Builder
	b.WriteString("workflow: wide\nnodes:\n")
	for i := range n {
		fmt.Fprintf(&b, "  n%d:\n    handler: h\n", i)
		if i >= 5 {
			fmt.Fprintf(&b, "    needs: [n%d, n%d, n%d, n%d, n%d]\n", i-5, i-4, i-3, i-2, i-1)
		}
	}
	return []byte(b.String())
}

func BenchmarkLoad10kNodes50kEdges(b *testing.B) {
	data := wide(10_000)
	for b.Loop() {
		if _, problems := dag.Load(data, dag.BuildOptions{}); problems != nil {
			b.Fatal(problems)
		}
	}
}

func BenchmarkRebuild10kNodes50kEdges(b *testing.B) {
	g, _ := dag.Load(wide(10_000), dag.BuildOptions{})
	for b.Loop() {
		if _, err := dag.Rebuild(g.Canonical()); err != nil {
			b.Fatal(err)
		}
	}
}
