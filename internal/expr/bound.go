package expr

import (
	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/interpreter"
)

// sizeOptions measure a byte of a string and an element of a list alike.
var sizeOptions = []types.SizeCalculatorOption{
	types.SizeCalculatorStringUnitLength(1),
	types.SizeCalculatorMaxDepth(maxNesting),
	types.SizeCalculatorMaxTraversal(2 * sizeLimit),
}

var sizes = types.NewSizeCalculator(sizeOptions...)

// bounded is a step of a program that measures what it made and looks at the
// clock. CEL's own memory tracking measures a comprehension's growing list anew
// in every round, which is quadratic; its interrupts look only between rounds.
type bounded struct {
	interpreter.InterpretableV2
}

// bind wraps every step that can make a new value; constants and look-ups
// cannot.
func bind(step interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	switch step.(type) {
	case interpreter.InterpretableConst, interpreter.InterpretableAttribute:
		return step, nil
	}
	return bounded{step}, nil
}

// Exec runs the step, and ends the evaluation if time is up or the value too large.
func (b bounded) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	if frame.CheckInterrupt() {
		panic(interpreter.EvalCancelledError{Cause: interpreter.ContextCancelled, Message: "interrupted"})
	}
	val := b.InterpretableV2.Exec(frame)
	if sizeOf(val) > sizeLimit {
		panic(interpreter.EvalCancelledError{Cause: interpreter.MemoryLimitExceeded, Message: "value too large"})
	}
	return val
}

// Eval is Exec without a frame.
func (b bounded) Eval(vars interpreter.Activation) ref.Val {
	return interpreter.EvalActivation(vars, b.Exec)
}

// sizeOf counts elements and bytes as they would be written out, shared parts
// each time. The list a comprehension is building counts when it is complete.
func sizeOf(val ref.Val) int {
	switch v := val.(type) {
	case types.String:
		return len(v)
	case types.Bytes:
		return len(v)
	case traits.MutableLister, traits.MutableMapper:
		return 0
	case traits.Lister, traits.Mapper:
		return int(sizes.AggregateSize(v))
	}
	return 1
}

// programOptions apply the limits to a program.
func programOptions() []cel.ProgramOption {
	return []cel.ProgramOption{
		cel.CostLimit(costLimit),
		cel.InterruptCheckFrequency(interruptEvery),
		cel.CustomDecoratorV2(bind),
	}
}
