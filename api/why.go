package api

import (
	"context"
	"net/http"
	"time"
)

// Why answers why something ran or did not, on one page (S25): a sentence, and the six links of the chain to it.
type Why struct {
	Workflow    string     `json:"workflow"`
	Verdict     string     `json:"verdict" doc:"The answer in a sentence: the cause first, then what to do."`
	State       string     `json:"state" enum:"ok,waiting,problem"`
	Reason      Reason     `json:"reason" doc:"The reason of the step that decides: the last one that is not in order."`
	Steps       []WhyStep  `json:"steps" nullable:"false" doc:"Always six: schedule, fired, run, node, worker, log."`
	Timezone    string     `json:"timezone" doc:"The zone in which the answer tells times: that of the schedule then."`
	At          *time.Time `json:"at,omitempty" doc:"The instant that was asked about."`
	ScheduledAt *time.Time `json:"scheduled_at,omitempty" doc:"The expected fire, or the logical time of the run, that the answer is about."`
	Before      *time.Time `json:"before,omitempty" doc:"The expected fire before it."`
	After       *time.Time `json:"after,omitempty" doc:"The expected fire after it."`
	Run         string     `json:"run,omitempty"`
	NodeRun     string     `json:"node_run,omitempty"`
	Do          []string   `json:"do" nullable:"false" doc:"What may help, as command lines."`
}

// WhyStep is one link of the chain.
type WhyStep struct {
	Step     string    `json:"step" enum:"schedule,fired,run,node,worker,log"`
	State    string    `json:"state" enum:"ok,waiting,problem,not_reached"`
	Reason   Reason    `json:"reason,omitempty"`
	Message  string    `json:"message,omitempty"`
	Evidence *Evidence `json:"evidence,omitempty"`
}

// The states of a step.
const (
	stepFine       = "ok"
	stepWaits      = "waiting"
	stepProblem    = "problem"
	stepNotReached = "not_reached"
)

// Evidence is what a step is told from.
type Evidence struct {
	Schedule    string       `json:"schedule,omitempty"`
	Spec        Object       `json:"spec,omitempty" doc:"The schedule as it was then."`
	SpecFrom    *time.Time   `json:"spec_from,omitempty" doc:"Since when it was so; absent for the first one."`
	SpecUntil   *time.Time   `json:"spec_until,omitempty" doc:"Until when it was so; absent where it is still."`
	Fire        *Fire        `json:"fire,omitempty" doc:"The ledger's row of the instant."`
	Fill        *Fire        `json:"fill,omitempty" doc:"The ledger's row of the run that was made up for it."`
	UpstreamSet *UpstreamSet `json:"upstream_set,omitempty"`
	Run         *Run         `json:"run,omitempty"`
	BlockedBy   *BlockedBy   `json:"blocked_by,omitempty"`
	NodeRun     string       `json:"node_run,omitempty"`
	Attempts    []Attempt    `json:"attempts,omitempty" nullable:"false"`
	Workers     []string     `json:"workers,omitempty" nullable:"false"`
	Line        int          `json:"line,omitempty" doc:"Which line of the attempt's log the message is, from 1."`
	Lines       []LogLine    `json:"lines,omitempty" nullable:"false" doc:"That line and those around it."`
}

type whyInput struct {
	InNamespace
	Workflow string `query:"workflow" pattern:"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$"`
	At       string `query:"at" maxLength:"100" doc:"With workflow: an instant (RFC 3339), or what the clocks of the schedule's zone show: 2026-11-30T02:30, 02:30, yesterday 02:30. Its newest fire when left out." example:"2026-11-30T02:30:00+08:00"`
	Run      string `query:"run" maxLength:"100"`
	NodeRun  string `query:"node_run" maxLength:"300" doc:"An execution id, or {run}:{node}."`
}

func (a *API) whyRoutes() {
	handle(a, op(http.MethodGet, ns+"/why", "why", "runs"),
		"Answer why a workflow did or did not run at a time, or why a run or a node run is as it is", a.why)
}

func (a *API) why(ctx context.Context, in *whyInput) (*body[Why], error) {
	given := 0
	for _, text := range []string{in.Workflow, in.Run, in.NodeRun} {
		if text != "" {
			given++
		}
	}
	if given != 1 {
		return nil, invalid("query", "say what to ask about: one of workflow, run and node_run")
	}
	if in.At != "" && in.Workflow == "" {
		return nil, invalid("query.at", "a time belongs to a workflow; a run has its own")
	}
	f, err := a.whyFacts(ctx, in)
	if err != nil {
		return nil, err
	}
	return answerOf(f.tell(), nil)
}

func (a *API) whyFacts(ctx context.Context, in *whyInput) (*whyFacts, error) {
	now, err := a.Store.Now(ctx)
	if err != nil {
		return nil, err
	}
	q := &inquiry{api: a, namespace: in.Namespace, whyFacts: whyFacts{now: now}}
	switch {
	case in.Workflow != "":
		err = q.aboutMoment(ctx, in.Workflow, in.At)
	case in.Run != "":
		err = q.aboutRun(ctx, in.Run)
	default:
		err = q.aboutNode(ctx, in.NodeRun)
	}
	return &q.whyFacts, err
}
