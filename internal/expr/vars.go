package expr

import (
	"encoding/json"
	"fmt"
	"time"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

// Vars are the values an evaluation reads. Nothing in them is changed, and a
// result may share their memory.
type Vars struct {
	// Params is the JSON object of the run's parameters; nil is none.
	Params json.RawMessage
	// Nodes maps a node to its output; a node that is absent, or nil, has null.
	Nodes map[string]json.RawMessage
	// Extra are the values of Scope.Extra; nil is null.
	Extra map[string]json.RawMessage
	// ScheduledAt and PreviousScheduledAt are logical times; zero is null. They
	// are written with the offset they carry.
	ScheduledAt, PreviousScheduledAt time.Time
	// LogicalDate is yyyy-mm-dd in the schedule's zone (S11).
	LogicalDate     string
	RunID, Workflow string
}

// activation gives CEL the variables that an expression reads, and no others.
func (p *Program) activation(v Vars) (map[string]any, error) {
	vars := map[string]any{
		"scheduled_at":          instant(v.ScheduledAt),
		"previous_scheduled_at": instant(v.PreviousScheduledAt),
		"logical_date":          types.String(v.LogicalDate),
		"run_id":                types.String(v.RunID),
		"workflow":              types.String(v.Workflow),
	}
	if err := p.bindNodes(vars, v.Nodes); err != nil {
		return nil, err
	}
	if err := p.bindParams(vars, v.Params); err != nil {
		return nil, err
	}
	for _, name := range p.reads.extra {
		raw, ok := v.Extra[name]
		if !ok {
			continue
		}
		val, err := decode(raw)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		vars[name] = val
	}
	return vars, nil
}

func (p *Program) bindNodes(vars map[string]any, outputs map[string]json.RawMessage) error {
	nodes := make(map[string]any, len(p.reads.nodes))
	for _, name := range p.reads.nodes {
		val, err := decode(outputs[name])
		if err != nil {
			return fmt.Errorf("read nodes.%s.output: %w", name, err)
		}
		nodes[name] = map[string]any{"output": val}
	}
	vars[rootNodes] = nodes
	return nil
}

func (p *Program) bindParams(vars map[string]any, raw json.RawMessage) error {
	if len(p.reads.params) == 0 {
		return nil
	}
	given, err := members(raw)
	if err != nil {
		return fmt.Errorf("read params: %w", err)
	}
	params := make(map[string]any, len(p.reads.params))
	for _, name := range p.reads.params {
		one, ok := given[name]
		if !ok {
			continue
		}
		val, err := decode(one)
		if err != nil {
			return fmt.Errorf("read params.%s: %w", name, err)
		}
		val = p.asDeclared(name, val)
		params[name], vars[rootParams+"."+name] = val, val
	}
	vars[rootParams] = params
	return nil
}

// asDeclared makes a number of the kind that the parameter's type promised the
// compiler, where that loses nothing.
func (p *Program) asDeclared(name string, val ref.Val) ref.Val {
	switch v := val.(type) {
	case types.Int:
		if p.paramTypes[name] == "number" && int64(float64(v)) == int64(v) {
			return types.Double(v)
		}
	case types.Double:
		if i := types.Int(v); p.paramTypes[name] == "integer" && types.Double(i) == v {
			return i
		}
	}
	return val
}

func instant(t time.Time) ref.Val {
	if t.IsZero() {
		return types.NullValue
	}
	return types.Timestamp{Time: t}
}
