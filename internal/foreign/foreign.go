// Package foreign reads what other schedulers keep (crontabs, XXL-JOB, Quartz, Airflow) and makes definitions of it, with a note about
// everything that could not be carried over. It guesses nothing silently: where two systems mean different things, a note says so.
package foreign

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ax-run/ax/dag"
)

// Options are what a foreign file does not say.
type Options struct {
	// Timezone is the zone of schedules that name none. Empty leaves it to the server's default.
	Timezone string
	// System means that a crontab has a column of users, as /etc/crontab has.
	System bool
}

// Result is what a foreign file came to.
type Result struct {
	Workflows []Workflow
	// Notes are about the file as a whole.
	Notes []Note
}

// Workflow is one definition made. It has passed every check, or Notes say what to mend.
type Workflow struct {
	Definition *dag.Definition
	// Order is that of the nodes in the file written.
	Order []string
	Notes []Note

	refused bool
}

// Valid reports whether the definition can be registered as it is.
func (w Workflow) Valid() bool { return !w.refused }

// Note tells a person about something that was not carried over, or means something else here.
type Note struct {
	// Where is a place in the foreign file, such as "line 3" or "job 7".
	Where string `json:"where"`
	What  string `json:"what"`
}

// String is one line.
func (n Note) String() string { return n.Where + ": " + n.What }

// maxWorkflows bounds what one file may hold.
const maxWorkflows = 20_000

// longest is the timeout of nodes whose old scheduler had none: a long job is not to be cut off at ax's default of an hour.
const longest = dag.Duration(24 * time.Hour)

// maker gathers the workflows of one file and keeps their names apart.
type maker struct {
	Options
	result Result
	// taken are the names given, and the number that was last put behind each.
	taken map[string]int
}

func newMaker(opt Options) *maker { return &maker{Options: opt, taken: make(map[string]int)} }

func (m *maker) note(where, format string, args ...any) {
	m.result.Notes = append(m.result.Notes, Note{where, fmt.Sprintf(format, args...)})
}

// add begins a workflow; its name is made of what the other system calls it.
func (m *maker) add(where, name string) *draft {
	d := &draft{where: where, w: Workflow{Definition: &dag.Definition{Nodes: make(map[string]*dag.Node)}}}
	code := nameOf(name)
	for base := code; m.taken[code] > 0; {
		m.taken[base]++
		code = clip(base, maxName-8) + "-" + strconv.Itoa(m.taken[base])
	}
	m.taken[code] = 1
	d.w.Definition.Workflow = code
	return d
}

// done checks a workflow and keeps it.
func (m *maker) done(d *draft) error {
	if len(m.result.Workflows) >= maxWorkflows {
		return fmt.Errorf("the file holds more than %d workflows: split it", maxWorkflows)
	}
	if _, problems := dag.Build(d.w.Definition, dag.BuildOptions{}); len(problems) > 0 {
		for _, p := range problems {
			if p.Severity == dag.SeverityError {
				d.w.refused = true
				d.note("mend %s: %s", p.Path, p.Message)
			}
		}
	}
	m.result.Workflows = append(m.result.Workflows, d.w)
	return nil
}

// draft is a workflow that is being made.
type draft struct {
	where string
	w     Workflow
}

func (d *draft) def() *dag.Definition { return d.w.Definition }

func (d *draft) note(format string, args ...any) {
	d.w.Notes = append(d.w.Notes, Note{d.where, fmt.Sprintf(format, args...)})
}

// node adds a node; its name is made of what the other system calls it.
func (d *draft) node(name string, n *dag.Node) string {
	made := nameOf(name)
	for i := 2; d.w.Definition.Nodes[made] != nil; i++ {
		made = clip(nameOf(name), maxName-8) + "-" + strconv.Itoa(i)
	}
	d.w.Definition.Nodes[made] = n
	d.w.Order = append(d.w.Order, made)
	return made
}

// schedule adds a schedule; the first needs no name.
func (d *draft) schedule(name string, s dag.Schedule) {
	all := &d.w.Definition.Schedules
	if len(*all) > 0 && (*all)[0].Name == "" {
		(*all)[0].Name = "first"
	}
	if s.Name = nameOf(name); name == "" && len(*all) > 0 {
		s.Name = "schedule-" + strconv.Itoa(len(*all)+1)
	} else if name == "" {
		s.Name = ""
	}
	for n := 2; s.Name != "" && slices.ContainsFunc(*all, func(o dag.Schedule) bool { return o.Name == s.Name }); n++ {
		s.Name = nameOf(name) + "-" + strconv.Itoa(n)
	}
	*all = append(*all, s)
}

const maxName = 64

var unnameable = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// nameOf makes a name of any text.
func nameOf(text string) string {
	name := strings.Trim(unnameable.ReplaceAllString(text, "_"), "._-")
	if name == "" {
		return "job"
	}
	return strings.TrimRight(clip(name, maxName), "._-")
}

// clip shortens ASCII text.
func clip(text string, most int) string { return text[:min(len(text), most)] }

// attempts is a retry policy of so many attempts in all.
func attempts(n int) *dag.Retry { return &dag.Retry{MaxAttempts: min(max(n, 1), 100)} }

// afterwards is a retry policy with a fixed delay.
func afterwards(n int, delay time.Duration) *dag.Retry {
	r := attempts(n)
	if n > 1 && delay > 0 {
		r.Backoff, r.Delay = dag.BackoffFixed, new(dag.Duration(delay))
	}
	return r
}

// literal writes a text so that no expression is read in it.
func literal(text string) string { return strings.ReplaceAll(text, "${{", `${{ "${{" }}`) }
