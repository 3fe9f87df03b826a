package progress_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/dag/progress"
)

var update = flag.Bool("update", false, "write the golden files anew")

// statesPage is the page that is printed from the transition tables.
const statesPage = "../../docs/states.md"

// machine is one of the two state machines, as the page shows it.
type machine struct {
	title, intro string
	// born are the states that it can begin in.
	born        []progress.State
	transitions []progress.Transition
}

var machines = []machine{
	{
		title: "Node runs",
		intro: "A node run begins as `pending`, without a row anywhere. A rerun or mark of one that has ended makes a new\n" +
			"generation, which begins as `pending` again; the old one keeps its state.",
		born: []progress.State{progress.Pending}, transitions: progress.NodeTransitions,
	},
	{
		title: "Runs",
		intro: "A run begins as `running`, or as `queued` where its workflow already has as many runs as `concurrency` allows.",
		born:  []progress.State{progress.Queued, progress.Running}, transitions: progress.RunTransitions,
	},
}

func TestStatesAreDocumented(t *testing.T) {
	page := &strings.Builder{}
	page.WriteString("# States\n\nPrinted from the transition tables in `dag/progress`, by a test that fails when the two differ; " +
		"`go test ./dag/progress -update`\nwrites this page anew.\n")
	for _, m := range machines {
		m.print(page)
	}
	if *update {
		require.NoError(t, os.WriteFile(statesPage, []byte(page.String()), 0o644))
	}
	want, err := os.ReadFile(statesPage)
	require.NoError(t, err, "run the test with -update to write the page")
	require.Equal(t, string(want), page.String(), "run the test with -update to write the page")
}

func (m machine) print(page *strings.Builder) {
	fmt.Fprintf(page, "\n## %s\n\n%s\n\n```mermaid\nstateDiagram-v2\n", m.title, m.intro)
	for _, s := range m.born {
		fmt.Fprintf(page, "    [*] --> %s\n", s)
	}
	for _, t := range m.transitions {
		fmt.Fprintf(page, "    %s --> %s\n", t.From, t.To)
	}
	for _, s := range m.states() {
		if s.Terminal() {
			fmt.Fprintf(page, "    %s --> [*]\n", s)
		}
	}
	page.WriteString("```\n\n| from | to | because |\n| --- | --- | --- |\n")
	for _, t := range m.transitions {
		fmt.Fprintf(page, "| `%s` | `%s` | %s |\n", t.From, t.To, t.Cause)
	}
}

// states are all that the machine can be in, in the order in which the table names them.
func (m machine) states() []progress.State {
	all := slices.Clone(m.born)
	for _, t := range m.transitions {
		for _, s := range []progress.State{t.From, t.To} {
			if !slices.Contains(all, s) {
				all = append(all, s)
			}
		}
	}
	return all
}

func TestTransitionTablesAreSound(t *testing.T) {
	for _, m := range machines {
		t.Run(m.title, func(t *testing.T) {
			type pair struct{ from, to progress.State }
			seen := map[pair]bool{}
			for _, tr := range m.transitions {
				require.False(t, tr.From.Terminal(), "%s is terminal and stays so (I1)", tr.From)
				require.NotEqual(t, tr.From, tr.To)
				require.NotEmpty(t, tr.Cause)
				require.False(t, seen[pair{tr.From, tr.To}], "%s → %s stands there twice", tr.From, tr.To)
				seen[pair{tr.From, tr.To}] = true
			}
			for _, s := range m.states() {
				require.Equal(t, !s.Terminal(), m.leads(s), "%s: exactly the states that are not terminal lead on to a terminal one", s)
				require.True(t, slices.Contains(m.born, s) || m.entered(s), "%s is never entered", s)
			}
		})
	}
}

// leads reports whether a terminal state can be reached from s by at least one transition.
func (m machine) leads(from progress.State) bool {
	seen := map[progress.State]bool{}
	next := []progress.State{from}
	for len(next) > 0 {
		s := next[0]
		next = next[1:]
		for _, t := range m.transitions {
			if t.From != s || seen[t.To] {
				continue
			}
			if t.To.Terminal() {
				return true
			}
			seen[t.To] = true
			next = append(next, t.To)
		}
	}
	return false
}

func (m machine) entered(s progress.State) bool {
	return slices.ContainsFunc(m.transitions, func(t progress.Transition) bool { return t.To == s })
}
