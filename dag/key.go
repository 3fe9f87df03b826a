package dag

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/ax-run/ax/internal/expr"
)

// maxKey is how long a run's key may be, in bytes: it is indexed.
const maxKey = 512

// key is a compiled concurrency.key: an expression, or a text with ${{ }} in it.
type key interface {
	Eval(context.Context, expr.Vars) (json.RawMessage, error)
	Nodes() []string
}

// Key returns the value by which runs are counted apart (S22): a text as it is, anything else as JSON. It is "" without
// concurrency.key. An error says why these parameters have none.
func (g *Graph) Key(ctx context.Context, vars expr.Vars) (string, error) {
	if g.key == nil {
		return "", nil
	}
	value, err := g.key.Eval(ctx, vars)
	if err != nil {
		return "", fmt.Errorf("concurrency.key: %w", err)
	}
	text := string(value)
	if len(value) > 0 && value[0] == '"' {
		if err := json.Unmarshal(value, &text); err != nil {
			return "", fmt.Errorf("concurrency.key: %w", err)
		}
	}
	if len(text) > maxKey {
		return "", fmt.Errorf("concurrency.key gives %d bytes, at most %d are possible", len(text), maxKey)
	}
	return text, nil
}

// key compiles concurrency.key, which is evaluated before any node runs; nil when there is none or it is wrong.
func (c *compiler) key(at *place, src string) key {
	var k key
	if expr.HasTemplate(src) {
		t, err := expr.CompileTemplate(src, c.scope)
		if err != nil {
			c.invalid(at, err)
			return nil
		}
		k = t
	} else if p := c.program(at, src); p != nil {
		k = p
	}
	if k != nil && len(k.Nodes()) > 0 {
		c.add(at, CodeNotAncestor, "the key is needed before a run starts and cannot read outputs of nodes").hint("use params")
		return nil
	}
	return k
}
