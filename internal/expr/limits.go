package expr

import "time"

// What one expression may cost. The cost limit is a matter of the expression and
// its data alone, so it decides the same way every time; the deadline is for
// what the cost model does not see, and generous, because on a starved machine
// it would fail expressions that are innocent.
const (
	maxSource      = 8 << 10 // bytes of one expression
	maxText        = 1 << 20 // bytes of one string with ${{ }} in it
	maxExpressions = 1000    // in one string or one CompileValue
	maxNesting     = 500     // levels of a value, in and out
	maxOutput      = 4 << 20 // bytes of JSON from one Eval
	costLimit      = 2000000 // CEL cost units, about 0.1 µs each
	sizeLimit      = 2 << 20 // elements, and bytes of strings, of one value
	workLimit      = 8 << 20 // element comparisons or bytes of one guarded call
	rangeLimit     = 100000  // elements of lists.range
	interruptEvery = 16      // steps between looks at the clock
	maxBrackets    = 24      // nested ( [ and {: checking types is cubic in them
	parserDepth    = 100     // nested operators
	parserNodes    = 20000   // nodes after macros are expanded
	evalTimeout    = time.Second / 2
)
