package expr

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/cost"
	celenv "cel.dev/cel-go/common/env"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/ext"
)

// Scope says what an expression may name. Besides, every expression may name
// scheduled_at, previous_scheduled_at, logical_date, run_id and workflow.
type Scope struct {
	// Params maps each parameter to its type: string, integer, number, boolean,
	// object or array; a parameter of another type is not checked.
	Params map[string]string
	// Nodes are the nodes whose output may be read: the ancestors (S15).
	Nodes []string
	// Extra are further variables of any type, such as item or shard.
	Extra []string
}

// The roots of what expressions read. No comprehension may reuse these names.
const (
	rootParams  = "params"
	rootNodes   = "nodes"
	rootSecrets = "secrets"
)

var paramTypes = map[string]*cel.Type{
	"string":  cel.StringType,
	"integer": cel.IntType,
	"number":  cel.DoubleType,
	"boolean": cel.BoolType,
	"object":  cel.MapType(cel.StringType, cel.DynType),
	"array":   cel.ListType(cel.DynType),
}

// standard are the variables of every scope.
var standard = map[string]*cel.Type{
	"scheduled_at":          cel.TimestampType,
	"previous_scheduled_at": cel.TimestampType,
	"logical_date":          cel.StringType,
	"run_id":                cel.StringType,
	"workflow":              cel.StringType,
}

// newEnv declares a scope's names on top of the shared environment. A parameter
// params.x is a variable of that qualified name, so that it has its own type.
func newEnv(sc Scope) (*cel.Env, error) {
	base, err := baseEnv()
	if err != nil {
		return nil, err
	}
	var options []cel.EnvOption
	for name, kind := range sc.Params {
		if t, ok := paramTypes[kind]; ok {
			options = append(options, cel.Variable(rootParams+"."+name, t))
		}
	}
	for _, name := range sc.Extra {
		options = append(options, cel.Variable(name, cel.DynType))
	}
	env, err := base.Extend(options...)
	if err != nil {
		return nil, fmt.Errorf("declare names of expressions: %w", err)
	}
	return env, nil
}

// variables are the names an expression of this scope may begin with.
func (sc Scope) variables() []string {
	names := slices.Concat(slices.Collect(maps.Keys(standard)), sc.Extra)
	return append(names, rootParams, rootNodes)
}

// baseEnv is CEL with its libraries and limits, and the standard variables.
var baseEnv = sync.OnceValues(func() (*cel.Env, error) {
	withoutMatches := celenv.NewLibrarySubset().AddExcludedFunctions(celenv.NewFunction(overloads.Matches))
	env, err := cel.NewCustomEnv(append(declarations(),
		cel.StdLib(cel.StdLibSubset(withoutMatches)), matches(), date(),
		ext.Strings(ext.StringsValidateFormatCalls(true)), ext.Math(), ext.Sets(),
		ext.Lists(ext.ListsMaxRangeSize(rangeLimit)),
		ext.Encoders(ext.EncodersVersion(1)), // later versions parse JSON and YAML, at a cost that has no bound
		cel.CrossTypeNumericComparisons(true),
		cel.EnableHiddenAccumulatorName(true),
		cel.CostSizingStrategy(cost.AggregateSizingStrategy(sizeOptions...)),
		cel.ParserExpressionSizeLimit(maxSource),
		cel.ParserRecursionLimit(parserDepth),
		cel.ExpressionNodeLimit(parserNodes),
		cel.ASTValidators(cel.ValidateRegexLiterals(), cel.ValidateDurationLiterals(), cel.ValidateTimestampLiterals()),
	)...)
	if err != nil {
		return nil, fmt.Errorf("set up expressions: %w", err)
	}
	options, err := guards(env.Functions())
	if err != nil {
		return nil, err
	}
	if env, err = env.Extend(options...); err != nil {
		return nil, fmt.Errorf("guard functions of expressions: %w", err)
	}
	return env, nil
})

func declarations() []cel.EnvOption {
	anything := cel.MapType(cel.StringType, cel.DynType)
	options := []cel.EnvOption{
		cel.Variable(rootParams, anything),
		cel.Variable(rootNodes, cel.MapType(cel.StringType, anything)),
		cel.Variable(rootSecrets, anything),
	}
	for name, t := range standard {
		options = append(options, cel.Variable(name, t))
	}
	return options
}

// date declares date("2026-11-30"), the start of that day in UTC: what
// logical_date is computed with.
func date() cel.EnvOption {
	return cel.Function("date", cel.Overload("date_string", []*cel.Type{cel.StringType}, cel.TimestampType,
		cel.UnaryBinding(func(day ref.Val) ref.Val {
			s, ok := day.(types.String)
			if !ok {
				return types.NewErr("date needs a string")
			}
			return (s + "T00:00:00Z").ConvertToType(types.TimestampType)
		})))
}
