package api_test

import (
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/api"
)

// staleNodes are the nodes of a run that are stale, and by which.
func (l *live) staleNodes(run string) map[string]string {
	l.Helper()
	stale := make(map[string]string)
	for name, n := range l.nodes(run) {
		if n.Stale {
			stale[name] = n.StaleBy
		}
		one := as[api.NodeRunDetail](l.get(ns + "/node-runs/" + n.ID).is(http.StatusOK))
		require.Equal(l, n.Stale, one.Stale, name)
		require.Equal(l, n.StaleBy, one.StaleBy, name)
	}
	return stale
}

// rerun runs nodes again, as the body says, and waits for the end of the run.
func (l *live) rerun(run, body string) {
	l.Helper()
	l.post(ns+"/runs/"+run+"/rerun", body).is(http.StatusOK)
	l.until(run, "succeeded")
}

const wide = `
workflow: wide
nodes:
  a: {handler: ok}
  aside: {handler: ok}
  b: {handler: ok, needs: [a]}
  split: {handler: ok, needs: [a], shards: 2}
  way: {needs: [a], branch: {cases: [{when: "true", to: [c]}], default: [never]}}
  c: {handler: ok, needs: [way, b], trigger_rule: all_done}
  never: {handler: ok, needs: [way]}
  z: {handler: ok, needs: [b], finally: true}
`

// TestSuccessorsThatRanAreStaleUntilTheyRunAgain reruns a node alone (S29).
func TestSuccessorsThatRanAreStaleUntilTheyRunAgain(t *testing.T) {
	t.Parallel()
	l := newLive(t)
	l.register("wide", wide)
	run := l.until(l.trigger("wide", `{}`).ID, "succeeded").ID
	require.Empty(t, l.staleNodes(run))

	plan := as[api.Plan](l.post(ns+"/runs/"+run+"/rerun?dry_run=true", `{"scope": "node", "nodes": ["a"]}`).is(http.StatusOK))
	warning := plan.Warnings[len(plan.Warnings)-1]
	require.Contains(t, warning, "stays as it is and will be stale")
	l.rerun(run, `{"scope": "node", "nodes": ["a"]}`)
	stale := l.staleNodes(run)
	require.Equal(t, map[string]string{"b": "a", "split": "a", "way": "a", "c": "a"}, stale, "all that did its work after a, and nothing else")
	for _, name := range slices.Collect(maps.Keys(stale)) {
		require.Contains(t, warning, name)
	}
	old := as[api.NodeRunDetail](l.get(ns + "/node-runs/" + run + ":a:1").is(http.StatusOK))
	require.False(t, old.Stale, "it was replaced")

	l.rerun(run, `{"scope": "node", "nodes": ["b"]}`)
	require.Equal(t, map[string]string{"split": "a", "way": "a", "c": "b"}, l.staleNodes(run), "b is fresh, and c goes by what it was")
	l.rerun(run, `{"scope": "downstream", "nodes": ["way"]}`)
	require.Equal(t, map[string]string{"split": "a"}, l.staleNodes(run))
	l.rerun(run, `{"scope": "node", "nodes": ["split"]}`)
	require.Empty(t, l.staleNodes(run))

	l.post(ns+"/node-runs/"+run+":b/mark", `{"state": "skipped", "reason": "by hand"}`).is(http.StatusOK)
	l.until(run, "succeeded")
	require.Equal(t, map[string]string{"c": "b", "z": "b"}, l.staleNodes(run), "a mark takes away what others went by")
	l.rerun(run, `{"scope": "all"}`)
	require.Empty(t, l.staleNodes(run))
}
