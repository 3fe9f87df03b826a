package foreign

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ax-run/ax/dag"
)

// xxlJob is a row of xxl_job_info by column; keys are those of the table.
type xxlJob map[string]string

// ReadXXLJob reads XXL-JOB's jobs: a dump of its table xxl_job_info, or a list of such rows as JSON.
func ReadXXLJob(data []byte, opt Options) (Result, error) {
	var jobs []xxlJob
	var err error
	if trimmed := bytes.TrimSpace(data); len(trimmed) > 0 && (trimmed[0] == '[' || trimmed[0] == '{') {
		jobs, err = xxlFromJSON(trimmed)
	} else {
		var rows []map[string]string
		rows, err = sqlRows(string(data), "xxl_job_info")
		for _, row := range rows {
			jobs = append(jobs, row)
		}
	}
	if err != nil {
		return Result{}, fmt.Errorf("read the jobs of XXL-JOB: %w", err)
	}
	if len(jobs) == 0 {
		return Result{}, errors.New("no rows of xxl_job_info were found: export that table with its rows, as SQL (mysqldump) or as JSON")
	}
	m := newMaker(opt)
	drafts := make(map[string]*draft)
	for _, j := range jobs {
		drafts[j["id"]] = m.xxl(j)
	}
	for _, j := range jobs {
		j.children(drafts)
	}
	for _, j := range jobs {
		if err := m.done(drafts[j["id"]]); err != nil {
			return Result{}, err
		}
	}
	return m.result, nil
}

// xxlFromJSON reads a list of rows, or an object that holds one under a key such as data or RECORDS. Keys may be the columns' names or those of
// the Java class.
func xxlFromJSON(data []byte) ([]xxlJob, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var found any
	if err := d.Decode(&found); err != nil {
		return nil, err
	}
	var jobs []xxlJob
	for _, row := range rowsIn(found) {
		job := make(xxlJob)
		for key, value := range row {
			if value != nil {
				job[snake(key)] = fmt.Sprint(value)
			}
		}
		if job["id"] != "" {
			jobs = append(jobs, job)
		}
	}
	return jobs, nil
}

// rowsIn finds the list of objects.
func rowsIn(v any) (rows []map[string]any) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			if row, ok := item.(map[string]any); ok {
				rows = append(rows, row)
			}
		}
	case map[string]any:
		for _, key := range []string{"data", "RECORDS", "records", "rows", "xxl_job_info", "content"} {
			if rows = rowsIn(v[key]); len(rows) > 0 {
				return rows
			}
		}
		if _, is := v["id"]; is {
			return []map[string]any{v}
		}
	}
	return rows
}

// snake makes job_desc of jobDesc.
func snake(key string) string {
	var b strings.Builder
	for i, r := range key {
		if r >= 'A' && r <= 'Z' && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(r)
	}
	return strings.ReplaceAll(strings.ToLower(b.String()), "child_job_id", "child_jobid")
}

func (m *maker) xxl(j xxlJob) *draft {
	name := j["executor_handler"]
	if name == "" {
		name = "xxl-job-" + j["id"]
	}
	d := m.add("job "+j["id"], name)
	def := d.def()
	def.Title, def.Owner, def.Paused = j["job_desc"], j["author"], j["trigger_status"] == "0"
	def.Description = "Job " + j["id"] + " of XXL-JOB, group " + j["job_group"] + "."
	if mail := j["alarm_email"]; mail != "" {
		d.note("alarms went to %s: say so in alerts", mail)
	}
	j.timing(d, m.Timezone)
	switch block := j["executor_block_strategy"]; block {
	case "DISCARD_LATER":
		def.Concurrency = &dag.Concurrency{MaxRuns: 1, Overflow: dag.OverflowSkip}
	case "COVER_EARLY":
		def.Concurrency = &dag.Concurrency{MaxRuns: 1, Overflow: dag.OverflowCancelRunning}
	case "SERIAL_EXECUTION", "":
		def.Concurrency = &dag.Concurrency{MaxRuns: 1, Overflow: dag.OverflowQueue}
	default:
		d.note("the block strategy %s is not known", block)
	}
	d.node(name, j.node(d))
	return d
}

func (j xxlJob) timing(d *draft, zone string) {
	s := dag.Schedule{Timezone: zone, Late: dag.Late{Catchup: dag.CatchupNone}}
	if j["misfire_strategy"] == "FIRE_ONCE_NOW" {
		s.Catchup = dag.CatchupLatest
	}
	kind, conf := j["schedule_type"], strings.TrimSpace(j["schedule_conf"])
	if kind == "" && j["job_cron"] != "" {
		kind, conf = "CRON", strings.TrimSpace(j["job_cron"])
	}
	switch kind {
	case "CRON":
		s.Cron, s.Dialect = conf, "quartz"
		d.schedule("", s)
	case "FIX_RATE":
		seconds, err := strconv.Atoi(conf)
		if err != nil || seconds < 1 {
			d.note("its rate %q is not a number of seconds; it has no schedule", conf)
			return
		}
		s.Every = dag.Duration(time.Duration(seconds) * time.Second)
		d.schedule("", s)
	case "NONE", "":
	default:
		d.note("schedules of type %s are not known; it has none", kind)
	}
}

func (j xxlJob) node(d *draft) *dag.Node {
	n := &dag.Node{Work: j.work(d)}
	n.Timeout, n.Retry = longest, attempts(1+j.number("executor_fail_retry_count"))
	if s := j.number("executor_timeout"); s > 0 {
		n.Timeout = dag.Duration(time.Duration(s) * time.Second)
	}
	if p := j["executor_param"]; p != "" && n.Command == nil {
		n.Inputs = map[string]any{"param": literal(p)}
	}
	switch route := j["executor_route_strategy"]; route {
	case "SHARDING_BROADCAST":
		n.Shards = "workers"
	case "ROUND":
		n.Route = &dag.Route{Kind: dag.RouteRoundRobin}
	case "CONSISTENT_HASH":
		n.Route = &dag.Route{Kind: dag.RouteConsistentHash, Key: "workflow"}
	case "", "FIRST", "FAILOVER":
	default:
		d.note("the route %s has no counterpart; any free worker takes it", route)
	}
	return n
}

func (j xxlJob) work(d *draft) dag.Work {
	script := map[string][]string{
		"GLUE_SHELL": {"bash", "-c"}, "GLUE_PYTHON": {"python3", "-c"}, "GLUE_PYTHON2": {"python2", "-c"}, "GLUE_NODEJS": {"node", "-e"}, "GLUE_PHP": {"php", "-r"},
		"GLUE_POWERSHELL": {"pwsh", "-Command"},
	}
	glue := j["glue_type"]
	if run, ok := script[glue]; ok {
		run = append(slices.Clone(run), literal(j["glue_source"]))
		if p := j["executor_param"]; p != "" && glue == "GLUE_SHELL" {
			run = append(run, d.def().Workflow, literal(p))
		} else if p != "" {
			run = append(run, literal(p))
		}
		if len(j["glue_source"]) > 64<<10 {
			d.note("its script is %d bytes long: better keep it in a file of the worker's", len(j["glue_source"]))
		}
		return dag.Work{Command: &dag.Command{Run: run}}
	}
	handler := j["executor_handler"]
	if glue == "GLUE_GROOVY" || handler == "" {
		d.note("its code (%s) was kept in XXL-JOB: write a handler of this name in a worker", glue)
	}
	if handler == "" {
		handler = d.def().Workflow
	}
	return dag.Work{Handler: nameOf(handler)}
}

func (j xxlJob) number(key string) int {
	n, err := strconv.Atoi(j[key])
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// children makes the jobs that XXL-JOB triggers after this one's success wait for it.
func (j xxlJob) children(drafts map[string]*draft) {
	d := drafts[j["id"]]
	for _, id := range strings.FieldsFunc(j["child_jobid"], func(r rune) bool { return r == ',' || r == ' ' }) {
		child := drafts[id]
		if child == nil || child == d {
			d.note("its child job %s is not in the file", id)
			continue
		}
		if child.def().Upstream == nil {
			child.def().Upstream = &dag.Upstream{}
		}
		up := child.def().Upstream
		up.Any = append(up.Any, dag.Term{Workflow: d.def().Workflow, On: "success"})
	}
}
