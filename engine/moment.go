package engine

// moment is a point of the flow at which a process may die; docs/architecture.md says what survives at each. The crash
// test kills a process at every one of them.
type moment string

// The moments, in the order of the flow.
const (
	atLaunch    moment = "runs and first jobs written, not committed"
	atFetch     moment = "job taken, body not begun"
	atBody      moment = "body ended, result not handed in"
	atMove      moment = "result at its lane, nothing written"
	atFastHalf  moment = "fast path: history and arrivals written, not committed"
	atHalf      moment = "general path: live rows removed, not committed"
	atApplied   moment = "general path: all written, not committed"
	atCommitted moment = "committed, worker not told"
	atTold      moment = "worker told, River not yet"
	atAdmit     moment = "slots taken and job inserted, not committed"
)

// at tells the test that a moment has come; nobody else listens.
func (e *Engine) at(m moment) {
	if e.watch != nil {
		e.watch(m)
	}
}
