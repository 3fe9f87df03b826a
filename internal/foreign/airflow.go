package foreign

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ax-run/ax/dag"
)

// airflowDAG is what is read of a serialised DAG. Names with an underscore are those of older versions.
type airflowDAG struct {
	ID          string `json:"dag_id"`
	OldID       string `json:"_dag_id"`
	Description string `json:"description"`
	OldDesc     string `json:"_description"`
	Doc         string `json:"doc_md"`
	Tags        any    `json:"tags"`
	Interval    any    `json:"schedule_interval"`
	Timetable   any    `json:"timetable"`
	Timezone    any    `json:"timezone"`
	Start       any    `json:"start_date"`
	End         any    `json:"end_date"`
	Catchup     *bool  `json:"catchup"`
	MaxActive   int    `json:"max_active_runs"`
	OldActive   int    `json:"_max_active_runs"`
	Paused      *bool  `json:"is_paused_upon_creation"`
	Timeout     any    `json:"dagrun_timeout"`
	Defaults    any    `json:"default_args"`
	Params      any    `json:"params"`
	Tasks       []any  `json:"tasks"`
}

// airflowFile is a serialised DAG as Airflow stores it; serialised DAGs also come in a list, or under data.
type airflowFile struct {
	DAG  *airflowDAG     `json:"dag"`
	Data json.RawMessage `json:"data"`
}

// ReadAirflow reads DAGs in Airflow's serialised form (table serialized_dag, column data): one, or a list of them.
func ReadAirflow(data []byte, opt Options) (Result, error) {
	files, err := airflowFiles(data)
	if err != nil {
		return Result{}, fmt.Errorf("read Airflow's serialised DAGs: %w", err)
	}
	m := newMaker(opt)
	for _, f := range files {
		d, err := m.airflow(f)
		if err != nil {
			return Result{}, err
		}
		if err := m.done(d); err != nil {
			return Result{}, err
		}
	}
	if len(files) == 0 {
		return Result{}, errors.New(`no serialised DAG was found: give the column data of Airflow's table serialized_dag, which looks like {"__version": 1, "dag": {…}}`)
	}
	return m.result, nil
}

func airflowFiles(data []byte) (dags []*airflowDAG, err error) {
	data = bytes.TrimSpace(data)
	if len(data) > 0 && data[0] == '[' {
		var list []json.RawMessage
		if err := json.Unmarshal(data, &list); err != nil {
			return nil, err
		}
		for _, one := range list {
			inner, err := airflowFiles(one)
			if err != nil {
				return nil, err
			}
			dags = append(dags, inner...)
		}
		return dags, nil
	}
	var f airflowFile
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, err
	}
	if f.DAG == nil && len(f.Data) > 0 {
		if err := json.Unmarshal(f.Data, &f); err != nil {
			return nil, err
		}
	}
	if f.DAG != nil {
		dags = append(dags, f.DAG)
	}
	return dags, nil
}

func (m *maker) airflow(a *airflowDAG) (*draft, error) {
	id := a.ID + a.OldID
	if id == "" {
		return nil, errors.New("a serialised DAG has no dag_id")
	}
	d := m.add("DAG "+id, id)
	def := d.def()
	def.Description = strings.TrimSpace(a.Description + a.OldDesc + "\n" + a.Doc)
	def.Tags = texts(open(a.Tags))
	def.Owner, _ = field(open(a.Defaults), "owner").(string)
	def.Paused = a.Paused != nil && *a.Paused
	def.Timeout = dag.Duration(span(a.Timeout))
	if n := a.MaxActive + a.OldActive; n > 0 {
		def.Concurrency = &dag.Concurrency{MaxRuns: min(n, 10_000), Overflow: dag.OverflowQueue}
	}
	airflowParams(d, asMap(open(a.Params)))
	m.airflowSchedule(d, a)
	return d, m.airflowTasks(d, a)
}

// airflowParams declares parameters by the types of their defaults; one without a default is a text that may be empty.
func airflowParams(d *draft, params map[string]any) {
	for name, raw := range params {
		value := open(raw)
		p := dag.Param{Type: "string", Default: ""}
		if inner := asMap(value); inner["__class"] != nil {
			p.Description, _ = inner["description"].(string)
			value = open(inner["default"])
		}
		switch value := value.(type) {
		case nil:
		case string:
			p.Default = value
		case bool:
			p.Type, p.Default = "boolean", value
		case float64:
			p.Type, p.Default = "number", value
		case []any:
			p.Type, p.Default = "array", value
		case map[string]any:
			p.Type, p.Default = "object", value
		}
		if d.def().Params == nil {
			d.def().Params = make(map[string]dag.Param)
		}
		d.def().Params[name] = p
	}
}

func (m *maker) airflowSchedule(d *draft, a *airflowDAG) {
	s := dag.Schedule{Timezone: m.Timezone}
	if zone, ok := open(a.Timezone).(string); ok && zone != "" {
		s.Timezone = zone
	}
	s.Start, s.End = when(a.Start), when(a.End)
	s.Catchup = dag.CatchupNone
	if a.Catchup == nil || *a.Catchup {
		s.Catchup = dag.CatchupAll
	}
	interval, timetable := a.Interval, a.Timetable
	kind, _ := field(timetable, "__type").(string)
	vars := field(timetable, "__var")
	if zone, ok := open(field(vars, "timezone")).(string); ok && zone != "" {
		s.Timezone = zone
	}
	expression, _ := field(vars, "expression").(string)
	if text, ok := interval.(string); ok && expression == "" {
		expression = text
	}
	period := span(field(vars, "delta"))
	if period == 0 {
		period = span(interval)
	}
	switch {
	case expression == "@once":
		d.note("it was scheduled @once: trigger it, or give it a schedule with at")
	case expression == "@continuous" || strings.HasSuffix(kind, "ContinuousTimetable"):
		s.Delay, s.Start = dag.Duration(time.Second), nil
		d.schedule("", s)
	case expression != "":
		s.Cron = expression
		d.schedule("", s)
		d.note("Airflow's logical date is the begin of the interval that a run is for; here it is the date on which the run is due")
	case period > 0:
		s.Every = dag.Duration(period)
		d.schedule("", s)
	case kind != "" && !strings.HasSuffix(kind, "NullTimetable"):
		d.note("the timetable %s was not carried over; it has no schedule", kind)
	}
	if len(d.def().Schedules) > 0 && s.Start != nil {
		d.note("ax never fires for instants before registration: for those use a backfill")
	}
}

// airflowTasks makes nodes of tasks. Tasks name what comes after them; nodes name what they need.
func (m *maker) airflowTasks(d *draft, a *airflowDAG) error {
	names, tasks := make(map[string]string), make([]map[string]any, 0, len(a.Tasks))
	for _, raw := range a.Tasks {
		t := asMap(open(raw))
		id, _ := t["task_id"].(string)
		if id == "" {
			return fmt.Errorf("DAG %s has a task without task_id", d.def().Workflow)
		}
		tasks = append(tasks, t)
		names[id] = d.node(id, (&airflowTask{draft: d, id: id, vars: t}).node())
	}
	for _, t := range tasks {
		id, _ := t["task_id"].(string)
		for _, after := range texts(open(t["downstream_task_ids"])) {
			n := d.def().Nodes[names[after]]
			if n == nil {
				d.note("task %s leads to %s, which is not in the file", id, after)
				continue
			}
			n.Needs = append(n.Needs, names[id])
		}
	}
	for _, n := range d.def().Nodes {
		slices.Sort(n.Needs)
		if len(n.Needs) == 0 {
			n.TriggerRule = ""
		}
	}
	return nil
}

// open takes Airflow's wrapping {"__type": …, "__var": …} off a value.
func open(v any) any {
	if m, ok := v.(map[string]any); ok {
		if inner, wrapped := m["__var"]; wrapped {
			return open(inner)
		}
	}
	return v
}

func asMap(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

func field(v any, name string) any { return asMap(v)[name] }

func texts(v any) (out []string) {
	list, _ := v.([]any)
	for _, item := range list {
		if s, ok := open(item).(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// span reads a duration: a number of seconds.
func span(v any) time.Duration {
	seconds, _ := open(v).(float64)
	if seconds <= 0 || seconds > (10*365*24*time.Hour).Seconds() {
		return 0
	}
	return time.Duration(seconds * float64(time.Second)).Truncate(time.Millisecond)
}

// when reads an instant: seconds since 1970, or text.
func when(v any) *time.Time {
	switch v := open(v).(type) {
	case float64:
		return new(time.Unix(int64(v), 0).UTC())
	case string:
		if at, err := time.Parse(time.RFC3339, v); err == nil {
			return &at
		}
	}
	return nil
}
