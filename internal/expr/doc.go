// Package expr compiles and runs the expressions of workflow definitions.
//
// An expression is CEL: bare in `when`, or inside ${{ … }} in any string (S15).
// Compile checks it against a Scope, so that a misspelt parameter, node or
// variable is refused at registration; Eval runs it against a run's Vars.
//
// The authors are tenants, so nothing here trusts them:
//
//   - source, expressions per string and output have fixed sizes (limits.go);
//   - CEL's cost limit bounds the number of steps;
//   - every list, map and string an expression builds is measured, shared parts
//     counted each time they appear, so that values doubled over and over are
//     refused while they are small in memory (bound.go);
//   - functions whose work is the product of their arguments refuse large ones
//     before they begin (guard.go), because CEL charges a call after it ran;
//   - a deadline stops what is left.
//
// JSON numbers keep their precision (S20). An integer in the range of int64 is a
// CEL int, a decimal that float64 holds exactly as written is a double, and any
// other number is opaque: it may be passed on unchanged and compared for
// equality, and arithmetic on it is an error. An expression that only names a
// value (nodes.clean.output.rows) does not decode it; its JSON text is handed over.
package expr
