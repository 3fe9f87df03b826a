// Package report makes the nightly flight report, one step a function:
//
//	Extract → Validate → Aggregate (one branch a region) → WorstDelays → Render → Publish
//
// with Cleanup at the end, whatever happened. Every step is typed func(ctx, In) (Out, error),
// takes and returns plain values that survive JSON, and gives the same bytes for the same input:
// it may run in one process or each step in another, and again after a crash.
package report
