package dag

import "time"

// Schedule is one automatic trigger (S4): exactly one of Cron, Every, Delay and At is set.
type Schedule struct {
	Name       string     `json:"name,omitempty"`
	Cron       string     `json:"cron,omitempty"`
	Dialect    string     `json:"dialect,omitempty"`
	Every      Duration   `json:"every,omitempty"`
	Delay      Duration   `json:"delay,omitempty"`
	At         *time.Time `json:"at,omitempty"`
	Timezone   string     `json:"timezone,omitempty"`
	DST        DST        `json:"dst,omitempty"`
	DSTGap     string     `json:"dst_gap,omitempty"`
	DSTOverlap string     `json:"dst_overlap,omitempty"`
	Start      *time.Time `json:"start,omitempty"`
	End        *time.Time `json:"end,omitempty"`
	Late
	Calendars []CalendarUse  `json:"calendars,omitempty"`
	Jitter    Duration       `json:"jitter,omitempty"`
	Params    map[string]any `json:"params,omitempty"`
}

// Late says what to do about instants that passed while nobody planned (S10). Its
// keys stand beside the schedule's own in a document.
type Late struct {
	Catchup          Catchup  `json:"catchup,omitempty"`
	CatchupWindow    Duration `json:"catchup_window,omitempty"`
	CatchupLimit     int      `json:"catchup_limit,omitempty"`
	MisfireThreshold Duration `json:"misfire_threshold,omitempty"`
}

// Catchup is the policy for missed instants (S10).
type Catchup string

// The policies.
const (
	CatchupLatest Catchup = "latest"
	CatchupAll    Catchup = "all"
	CatchupNone   Catchup = "none"
)

// DST is the rule for instants that a zone change removes or repeats (S7).
type DST string

// The rules.
const (
	DSTStandard DST = "standard"
	DSTQuartz   DST = "quartz"
)

// CalendarUse includes or excludes the dates of a named calendar.
type CalendarUse struct {
	Name string `json:"name"`
	Mode string `json:"mode,omitempty"`
}

// Upstream starts a run when other workflows complete (S12): exactly one of All and Any is set.
type Upstream struct {
	All    []Term   `json:"all,omitempty"`
	Any    []Term   `json:"any,omitempty"`
	Window Duration `json:"window,omitempty"`
}

// Term is one condition of an Upstream.
type Term struct {
	Workflow  string `json:"workflow"`
	Namespace string `json:"namespace,omitempty"`
	Node      string `json:"node,omitempty"`
	On        string `json:"on,omitempty"`
	Match     string `json:"match,omitempty"`
	Take      string `json:"take,omitempty"`
}

// AlertRule says what people want to be told (S34).
type AlertRule struct {
	On       string   `json:"on"`
	Within   Duration `json:"within,omitempty"`
	After    Duration `json:"after,omitempty"`
	At       string   `json:"at,omitempty"`
	By       string   `json:"by,omitempty"`
	Severity string   `json:"severity,omitempty"`
	Notify   []string `json:"notify,omitempty"`
}
