package sdk

import (
	"time"

	"github.com/ax-run/ax/dag"
)

// Cron starts runs by a cron expression of either dialect (S5) in a zone such as Asia/Shanghai; an empty zone is the
// server's default.
func Cron(expression, zone string) WorkflowOption {
	return Schedule(dag.Schedule{Cron: expression, Timezone: zone})
}

// Every starts runs at a fixed rate, counted from the registration (S4).
func Every(d time.Duration) WorkflowOption {
	return Schedule(dag.Schedule{Every: dag.Duration(d)})
}

// Delay starts a run a fixed time after the last one has ended; the first one that long after the registration (S4).
func Delay(d time.Duration) WorkflowOption {
	return Schedule(dag.Schedule{Delay: dag.Duration(d)})
}

// At starts one run at an instant; it is never dropped, only late (S10).
func At(instant time.Time) WorkflowOption {
	return Schedule(dag.Schedule{At: &instant})
}

// Schedule adds a schedule with all that can be said of one. Several of a workflow need names.
func Schedule(s dag.Schedule) WorkflowOption {
	return workflowOption(func(w *Workflow) { w.def.Schedules = append(w.def.Schedules, s) })
}
