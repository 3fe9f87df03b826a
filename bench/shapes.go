package bench

import (
	"fmt"
	"strings"
)

// shape is a graph to move and how many runs of it.
type shape struct {
	name       string
	definition []byte
	runs       int
	nodes      int
}

// shapes are those of the measured limits: chains, fan-out and fan-in, single nodes, dense layers.
func shapes(scale float64) []shape {
	times := func(n int) int { return max(1, int(float64(n)*scale)) }
	return []shape{
		{"chain", chain("bench.chain", 20), times(400), 20},
		{"fan", fan(1000), times(20), 1002},
		{"single", chain("bench.single", 1), times(10_000), 1},
		{"layers", layers(10, 10), times(100), 100},
	}
}

func header(name string) *strings.Builder {
	b := &strings.Builder{}
	fmt.Fprintf(b, "workflow: %s\nnodes:\n", name)
	return b
}

func chain(name string, n int) []byte {
	b := header(name)
	for i := range n {
		needs := ""
		if i > 0 {
			needs = fmt.Sprintf(", needs: [n%d]", i-1)
		}
		fmt.Fprintf(b, "  n%d: {handler: noop%s}\n", i, needs)
	}
	return []byte(b.String())
}

func fan(width int) []byte {
	b := header("bench.fan")
	var all []string
	b.WriteString("  first: {handler: noop}\n")
	for i := range width {
		name := fmt.Sprintf("n%d", i)
		all = append(all, name)
		fmt.Fprintf(b, "  %s: {handler: noop, needs: [first]}\n", name)
	}
	fmt.Fprintf(b, "  last: {handler: noop, needs: [%s]}\n", strings.Join(all, ", "))
	return []byte(b.String())
}

func layers(depth, width int) []byte {
	b := header("bench.layers")
	var above []string
	for d := range depth {
		var row []string
		for w := range width {
			name := fmt.Sprintf("n%d_%d", d, w)
			row = append(row, name)
			fmt.Fprintf(b, "  %s: {handler: noop, needs: [%s]}\n", name, strings.Join(above, ", "))
		}
		above = row
	}
	return []byte(b.String())
}
