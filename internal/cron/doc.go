// Package cron answers one question: when does this schedule fire next (S5, S6, S7)?
//
// The difficulty is that an expression speaks of wall clocks while a schedule fires at
// instants, and a zone maps the one to the other neither completely nor uniquely: in
// spring an hour of wall time does not exist, in autumn an hour exists twice. Stepping
// instants and asking each for its wall time is slow and goes wrong at exactly these
// places, so the two worlds are kept apart:
//
//   - a pattern is what the expression says. It knows no zone. It answers "the first
//     matching wall second at or after this one" with bit sets, a month at a time.
//   - a table is what the zone does: the stretches of constant offset between 1970 and
//     2199, found once for a zone and shared.
//   - a policy is the rule for what falls between: which pass of a repeated stretch
//     counts, and whether a match inside a gap fires at its end.
//
// Next walks the stretches from the given instant on. In each it asks the pattern for a
// wall time, which is an instant if it lies within the stretch.
//
// What always holds:
//
//  1. Next(t) is after t, on a whole second, and depends on nothing but the schedule and t.
//  2. The fires of an expression are one fixed set of instants: from wherever one asks,
//     inside a repeated hour too, Next gives the first of them. ("@every" alone counts
//     from the instant given.)
//  3. Every call ends: years are bounded, a month costs a constant, a stretch costs at most
//     one question to the pattern.
package cron
