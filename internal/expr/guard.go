package expr

import (
	"fmt"
	"regexp"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/decls"
	"cel.dev/cel-go/common/functions"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// guarded names the library functions whose work is the product of their
// arguments' sizes.
var guarded = []string{
	"replace", "join", "indexOf", "lastIndexOf",
	"distinct", "hasAny", "hasAll", "hasOnly",
	"sets.contains", "sets.equivalent", "sets.intersects",
}

// guards redeclares the guarded functions of an environment, each to be called
// only when its work is within workLimit.
func guards(known map[string]*decls.FunctionDecl) ([]cel.EnvOption, error) {
	var options []cel.EnvOption
	for _, name := range guarded {
		fn, ok := known[name]
		if !ok || fn.HasSingletonBinding() {
			continue
		}
		bindings, err := fn.Bindings()
		if err != nil {
			return nil, fmt.Errorf("read bindings of %s: %w", name, err)
		}
		calls := map[string]functions.FunctionOp{}
		for _, b := range bindings {
			calls[b.Operator] = operation(b)
		}
		options = append(options, cel.Function(name, redeclare(fn, calls)...))
	}
	return options, nil
}

// redeclare gives a function's overloads, with guarded implementations.
func redeclare(fn *decls.FunctionDecl, calls map[string]functions.FunctionOp) []cel.FunctionOpt {
	var options []cel.FunctionOpt
	for _, o := range fn.OverloadDecls() {
		declare := cel.Overload
		if o.IsMemberFunction() {
			declare = cel.MemberOverload
		}
		call := calls[o.ID()]
		options = append(options, declare(o.ID(), o.ArgTypes(), o.ResultType(),
			cel.FunctionBinding(func(args ...ref.Val) ref.Val {
				if work(args) > workLimit {
					return types.WrapErr(ErrTooCostly)
				}
				return call(args...)
			})))
	}
	return options
}

// operation gives a binding one shape, whatever its number of arguments.
func operation(b *functions.Overload) functions.FunctionOp {
	switch {
	case b.Unary != nil:
		return func(args ...ref.Val) ref.Val { return b.Unary(args[0]) }
	case b.Binary != nil:
		return func(args ...ref.Val) ref.Val { return b.Binary(args[0], args[1]) }
	}
	return b.Function
}

// work is the size of the first argument times the length of the longest other,
// or of itself where there is no other.
func work(args []ref.Val) int {
	others := args[1:]
	if len(others) == 0 {
		others = args
	}
	longest := 1
	for _, o := range others {
		longest = max(longest, length(o))
	}
	return sizeOf(args[0]) * longest
}

func length(val ref.Val) int {
	switch v := val.(type) {
	case types.String:
		return len(v)
	case traits.Sizer:
		if n, ok := v.Size().(types.Int); ok {
			return int(n)
		}
	}
	return 1
}

// matches replaces CEL's function of this name: the work of a regular expression
// is the length of the text times the size of its program.
func matches() cel.EnvOption {
	args := []*cel.Type{cel.StringType, cel.StringType}
	return cel.Function(overloads.Matches,
		cel.Overload(overloads.Matches, args, cel.BoolType),
		cel.MemberOverload(overloads.MatchesString, args, cel.BoolType),
		cel.SingletonBinaryBinding(matchText))
}

func matchText(text, pattern ref.Val) ref.Val {
	s, isText := text.(types.String)
	p, isPattern := pattern.(types.String)
	if !isText || !isPattern {
		return types.NewErr("matches needs two strings")
	}
	if len(p) > maxSource {
		return types.WrapErr(ErrTooCostly)
	}
	program, err := types.RegexProgramSize(string(p))
	if err != nil {
		return types.NewErr("regular expression %q: %v", clip(string(p)), err)
	}
	if len(s)*program > workLimit {
		return types.WrapErr(ErrTooCostly)
	}
	re, err := regexp.Compile(string(p))
	if err != nil {
		return types.NewErr("regular expression %q: %v", clip(string(p)), err)
	}
	return types.Bool(re.MatchString(string(s)))
}
