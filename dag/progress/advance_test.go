package progress_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/dag/progress"
)

// stories say what happens to a run and what the nodes and the run are then. A word of the script is "node=outcome", where
// the outcome is ok, skip or a class of errors, or it is cancel or deadline.
var stories = []struct{ name, nodes, script, want string }{
	{"a failure ends its chain only",
		"a: {}, b: {needs: [a]}, c: {}, d: {needs: [c]}", "a=permanent c=ok d=ok",
		"a=failed b=upstream_failed c=succeeded d=succeeded run=failed"},
	{"a handler that ran on failure does not heal the run",
		"a: {}, b: {needs: [a], trigger_rule: one_failed}", "a=permanent b=ok",
		"a=failed b=succeeded run=failed"},
	{"a tolerated failure counts as success",
		"a: {on_failure: skip}, b: {needs: [a]}", "a=permanent b=ok",
		"a=failed b=succeeded run=succeeded"},
	{"skips go down by the rules",
		"a: {}, b: {needs: [a]}, c: {needs: [b], trigger_rule: none_failed}", "a=skip c=ok",
		"a=skipped b=skipped c=succeeded run=succeeded"},
	{"abort_run cancels what runs and what has not begun, but not the finally nodes",
		"a: {on_failure: abort_run}, b: {}, c: {needs: [b]}, z: {finally: true}", "a=permanent z=ok",
		"a=failed b=canceled c=canceled z=succeeded run=failed"},
	{"a rule marked early does not wait for the other parents",
		"a: {}, b: {}, c: {needs: [a, b], trigger_rule: one_success}", "a=ok c=ok",
		"a=succeeded b=queued c=succeeded run=running"},
	{"a failed parent does not decide while another goes on",
		"a: {}, b: {}, c: {needs: [a, b]}", "a=permanent",
		"a=failed b=queued c=pending run=running"},
	{"attempts are repeated up to their number",
		"a: {retry: {max_attempts: 3, backoff: list, delays: [0s, 1s]}}", "a=system a=timeout a=system",
		"a=failed run=failed"},
	{"attempts lost with their worker are counted apart",
		"a: {retry: {max_attempts: 1, max_lost: 2}}", "a=lost a=lost a=ok",
		"a=succeeded run=succeeded"},
	{"lost attempts are not repeated for ever",
		"a: {retry: {max_lost: 2}}", "a=lost a=lost a=lost",
		"a=failed run=failed"},
	{"what is handed back counts against nothing",
		"a: {retry: {max_attempts: 1, max_lost: 0}}", "a=handed_back a=handed_back a=ok",
		"a=succeeded run=succeeded"},
	{"what is not idempotent is not repeated",
		"a: {idempotent: false}", "a=lost",
		"a=failed run=failed"},
	{"finally nodes run after a cancel, in their order",
		"a: {}, y: {finally: true}, z: {finally: true, needs: [y, a]}", "cancel y=permanent",
		"a=canceled y=failed z=queued run=running"},
	{"a second cancel stops the finally nodes",
		"a: {}, y: {finally: true}, z: {finally: true, needs: [y]}", "cancel cancel",
		"a=canceled y=canceled z=canceled run=canceled"},
	{"finally nodes run after the run's timeout",
		"a: {}, z: {finally: true}", "deadline z=ok",
		"a=canceled z=succeeded run=failed"},
	{"a failed finally node fails the run",
		"a: {}, z: {finally: true}", "a=ok z=permanent",
		"a=succeeded z=failed run=failed"},
	{"a canceled run is canceled whatever else it met",
		"a: {}, b: {}, z: {finally: true}", "a=permanent deadline cancel z=permanent",
		"a=failed b=canceled z=failed run=canceled"},
}

func TestStories(t *testing.T) {
	for _, s := range stories {
		t.Run(s.name, func(t *testing.T) {
			g := parsed(t, s.nodes)
			snap := progress.Fresh(g, time.Time{}, 1)
			progress.Advance(g, &snap, nil)
			for word := range strings.FieldsSeq(s.script) {
				progress.Advance(g, &snap, []progress.Event{event(t, g, &snap, word)})
			}
			require.Equal(t, s.want, told(g, snap))
		})
	}
}

// parsed makes a graph of nodes in YAML's flow style, each of which gets a handler.
func parsed(t *testing.T, nodes string) *dag.Graph {
	t.Helper()
	def, problems := dag.Parse([]byte("{workflow: story, nodes: {" + nodes + "}}"))
	require.Empty(t, problems)
	for _, n := range def.Nodes {
		n.Handler = "work"
	}
	g, problems := dag.Build(def, dag.BuildOptions{})
	require.False(t, problems.Failed(), "%v", problems)
	return g
}

// event makes a word of a script an event; the node whose attempt ends is running by then.
func event(t *testing.T, g *dag.Graph, snap *progress.Snapshot, word string) progress.Event {
	t.Helper()
	name, outcome, isResult := strings.Cut(word, "=")
	switch {
	case word == "cancel":
		return progress.Event{Cancel: &progress.Cancel{Actor: "user:test"}}
	case word == "deadline":
		return progress.Event{Deadline: true}
	}
	i, found := g.Index(name)
	require.True(t, isResult && found, word)
	require.Contains(t, []progress.State{progress.Queued, progress.Retrying}, snap.Nodes[i].State, word)
	snap.Nodes[i].State = progress.Running
	res := progress.Result{Shard: progress.Whole, Node: i, Skipped: outcome == "skip"}
	if outcome != "ok" && outcome != "skip" {
		res.Err = &progress.Error{Class: progress.Class(outcome)}
	}
	return progress.Event{Result: &res}
}

func told(g *dag.Graph, snap progress.Snapshot) string {
	var words []string
	for i, n := range snap.Nodes {
		words = append(words, fmt.Sprintf("%s=%s", g.At(i).Name, n.State))
	}
	slices.Sort(words)
	return strings.Join(append(words, "run="+string(snap.Run.State)), " ")
}

func TestResultsOfAttemptsThatDoNotRunAreIgnored(t *testing.T) {
	g := parsed(t, "a: {}")
	for _, s := range []progress.State{progress.Pending, progress.Waiting, progress.Queued, progress.Retrying, progress.Canceled} {
		snap := progress.Fresh(g, time.Time{}, 1)
		snap.Nodes[0].State, snap.Nodes[0].Attempt = s, 2
		for _, step := range progress.Advance(g, &snap, []progress.Event{{Result: &progress.Result{Shard: progress.Whole, Node: 0}}}) {
			require.Nil(t, step.End, "%s", s)
		}
		require.Equal(t, s, snap.Nodes[0].State, "only what runs can end")
	}
}
