package foreign

import (
	"regexp"
	"strings"

	"github.com/ax-run/ax/dag"
)

// airflowTask is a task that is being made a node.
type airflowTask struct {
	*draft
	id   string
	vars map[string]any
}

// airflowRules are the trigger rules by their names there.
var airflowRules = map[string]dag.Rule{
	"all_success": "", "all_failed": dag.AllFailed, "all_done": dag.AllDone, "one_success": dag.OneSuccess, "one_failed": dag.OneFailed, "one_done": dag.OneDone,
	"none_failed": dag.NoneFailed, "none_failed_min_one_success": dag.NoneFailedMinOneSuccess, "none_failed_or_skipped": dag.NoneFailedMinOneSuccess,
	"none_skipped": dag.NoneSkipped, "always": dag.Always, "dummy": dag.Always,
}

func (t *airflowTask) text(name string) string {
	s, _ := open(t.vars[name]).(string)
	return s
}

func (t *airflowTask) number(name string) (int, bool) {
	n, ok := open(t.vars[name]).(float64)
	return int(n), ok
}

func (t *airflowTask) tell(format string, args ...any) {
	t.note("task "+t.id+": "+format, args...)
}

func (t *airflowTask) node() *dag.Node {
	n := &dag.Node{Title: t.text("label"), Work: t.work()}
	retries, _ := t.number("retries")
	n.Timeout, n.Retry = longest, afterwards(1+retries, max(span(t.vars["retry_delay"]), 0))
	if d := span(t.vars["execution_timeout"]); d > 0 {
		n.Timeout = dag.Duration(d)
	}
	if name := t.text("trigger_rule"); name != "" {
		rule, known := airflowRules[name]
		if !known {
			t.tell("the trigger rule %s has no counterpart; all_success stands in its place", name)
		}
		n.TriggerRule = rule
	}
	if pool := t.text("pool"); pool != "" && pool != "default_pool" {
		use := dag.PoolUse{Pool: nameOf(pool)}
		if slots, ok := t.number("pool_slots"); ok && slots > 1 {
			use.Weight = slots
		}
		n.Pools = append(n.Pools, use)
		t.tell("make the pool %s first: `ax pools`", use.Pool)
	}
	if queue := t.text("queue"); queue != "" && queue != "default" {
		n.Queue = nameOf(queue)
	}
	if t.vars["depends_on_past"] == true {
		t.tell("depends_on_past was left out: concurrency.max_runs keeps runs in their order, but goes on after a failure")
	}
	if t.vars["_is_mapped"] == true || t.vars["_is_mapped"] != nil && open(t.vars["_is_mapped"]) == true {
		t.tell("it is mapped: say over what in for_each")
	}
	return n
}

// work is what the task does, by the class of its operator.
func (t *airflowTask) work() dag.Work {
	class := t.text("task_type") + t.text("_task_type")
	switch class {
	case "BashOperator":
		return dag.Work{Command: &dag.Command{Run: []string{"bash", "-c", t.template(t.text("bash_command"))}}}
	case "EmptyOperator", "DummyOperator":
		return dag.Work{Command: &dag.Command{Run: []string{"true"}}}
	case "SimpleHttpOperator", "HttpOperator":
		t.tell("put the address of the connection %s before its path", t.text("http_conn_id"))
		method := t.text("method")
		if method == "" {
			method = "POST"
		}
		return dag.Work{HTTP: &dag.HTTP{URL: "https://example.invalid/" + strings.TrimPrefix(t.template(t.text("endpoint")), "/"), Method: method, Protocol: "plain"}}
	case "TriggerDagRunOperator":
		if code := t.text("trigger_dag_id"); code != "" {
			return dag.Work{Child: &dag.Child{Code: nameOf(code)}}
		}
	}
	handler := nameOf(t.def().Workflow + "." + t.id)
	switch {
	case strings.HasSuffix(class, "Sensor"):
		t.tell("%s waits for something: write a handler %s that asks and fails, and repeat it at a fixed delay; for another workflow use upstream", class, handler)
	case strings.Contains(class, "Branch"):
		t.tell("%s chooses what comes next: write a handler %s that says so in its output, and a branch node after it", class, handler)
	default:
		t.tell("%s is Python code: write a handler %s in a worker", class, handler)
	}
	return dag.Work{Handler: handler}
}

var (
	jinja      = regexp.MustCompile(`\{\{\s*(.*?)\s*\}\}`)
	jinjaBlock = regexp.MustCompile(`\{%.*?%\}`)
	jinjaWords = map[string]string{
		"ds": "logical_date", "run_id": "run_id", "ts": "scheduled_at", "dag_run.run_id": "run_id", "dag.dag_id": "workflow",
		"ds_nodash": `logical_date.replace("-", "")`,
	}
)

// template makes expressions of the Jinja that has a counterpart.
func (t *airflowTask) template(text string) string {
	if jinjaBlock.MatchString(text) {
		t.tell("its template has blocks, which were left as they are: rewrite them")
	}
	if strings.Contains(text, "${{") {
		return literal(text)
	}
	return jinja.ReplaceAllStringFunc(text, func(found string) string {
		word := jinja.FindStringSubmatch(found)[1]
		if with, ok := jinjaWords[word]; ok {
			return "${{ " + with + " }}"
		}
		if name, ok := strings.CutPrefix(word, "params."); ok {
			if _, declared := t.def().Params[name]; declared {
				return "${{ params." + name + " }}"
			}
		}
		t.tell("its template says %s, which was left as it is: rewrite it", found)
		return found
	})
}
