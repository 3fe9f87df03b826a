package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"
)

// TestMain lets the test binary stand in for the program, so that steps run as processes.
func TestMain(m *testing.M) {
	if os.Getenv("BE_NIGHTLY") == "1" {
		os.Exit(launch())
	}
	os.Exit(m.Run())
}

// workflow is what the chain below needs of workflow.yaml.
type workflow struct {
	Nodes map[string]node `yaml:"nodes"`
}

type node struct {
	Needs     []string       `yaml:"needs"`
	Inputs    map[string]any `yaml:"inputs"`
	OnFailure string         `yaml:"on_failure"`
	Finally   bool           `yaml:"finally"`
	Command   struct {
		Run       []string `yaml:"run"`
		Permanent []int    `yaml:"permanent_exit_codes"`
	} `yaml:"command"`
}

// chain walks workflow.yaml as ax would: a node after its needs, each a process with files between.
type chain struct {
	workflow
	date, folder, dir string
	// outputs holds what each node left: null for one that failed and was skipped.
	outputs map[string]json.RawMessage
}

// The pages that processes make along workflow.yaml are those that package report makes
// in one process: its own tests hold the same golden files.
func TestProcessesMakeTheSamePages(t *testing.T) {
	for date, skipped := range map[string]string{"2001-01-15": "", "2001-02-14": "", "2001-03-12": "midwest"} {
		t.Run(date, func(t *testing.T) {
			t.Parallel()
			c := walk(t, date)
			name := "flights-" + date + ".html"
			want, err := os.ReadFile(filepath.Join("..", "..", "report", "testdata", name))
			require.NoError(t, err)
			got, err := os.ReadFile(filepath.Join(c.folder, name))
			require.NoError(t, err)
			require.Equal(t, string(want), string(got))
			require.Equal(t, skipped, strings.Join(c.failed(), " "))
			require.JSONEq(t, `{"removed":0}`, string(c.outputs["cleanup"]))
		})
	}
}

func walk(t *testing.T, date string) *chain {
	text, err := os.ReadFile("../../workflow.yaml")
	require.NoError(t, err)
	c := &chain{
		date: date, folder: filepath.Join(t.TempDir(), "reports"), dir: t.TempDir(),
		outputs: map[string]json.RawMessage{},
	}
	require.NoError(t, yaml.Unmarshal(text, &c.workflow))
	for len(c.outputs) < len(c.Nodes) {
		name := c.next()
		require.NotEmpty(t, name, "no node can go on after %v", slices.Collect(maps.Keys(c.outputs)))
		c.run(t, name)
	}
	return c
}

// next is the first node whose needs have ended; finally nodes wait for all others.
func (c *chain) next() string {
	var last string
	for _, name := range slices.Sorted(maps.Keys(c.Nodes)) {
		if _, done := c.outputs[name]; done || !c.ended(c.Nodes[name].Needs) {
			continue
		}
		if !c.Nodes[name].Finally {
			return name
		}
		last = name
	}
	return last
}

func (c *chain) ended(needs []string) bool {
	return !slices.ContainsFunc(needs, func(n string) bool { _, done := c.outputs[n]; return !done })
}

func (c *chain) failed() []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(c.outputs)) {
		if string(c.outputs[name]) == "null" {
			names = append(names, name)
		}
	}
	return names
}

func (c *chain) run(t *testing.T, name string) {
	n := c.Nodes[name]
	in, out := filepath.Join(c.dir, name+".in"), filepath.Join(c.dir, name+".out")
	input, err := json.Marshal(c.evaluate(t, n.Inputs))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(in, input, 0o600))
	require.Equal(t, "nightly", n.Command.Run[0])

	self, err := os.Executable()
	require.NoError(t, err)
	p := exec.CommandContext(t.Context(), self, n.Command.Run[1:]...)
	// A process under the race detector sleeps a second before it ends, unless told not to.
	p.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0", "BE_NIGHTLY=1", "AX_INPUT="+in, "AX_OUTPUT="+out, "AX_ATTEMPT=1", "AX_LOGICAL_DATE="+c.date)
	log, err := p.CombinedOutput()
	if err != nil {
		var exit *exec.ExitError
		require.True(t, errors.As(err, &exit), "%s: %v", name, err)
		require.Contains(t, n.Command.Permanent, exit.ExitCode(), "%s: %s", name, log)
		require.Equal(t, "skip", n.OnFailure, "%s: %s", name, log)
		require.NoFileExists(t, out)
		c.outputs[name] = json.RawMessage("null")
		return
	}
	require.True(t, strings.HasPrefix(string(log), "attempt 1: "), "%s logs %q", name, log)
	c.outputs[name], err = os.ReadFile(out)
	require.NoError(t, err)
	require.Less(t, len(c.outputs[name]), 1<<20, "the limit of an output")
}

// evaluate replaces the three sorts of expression that workflow.yaml uses.
func (c *chain) evaluate(t *testing.T, inputs map[string]any) map[string]any {
	values := map[string]any{"logical_date": c.date, "params.folder": c.folder}
	for name, output := range c.outputs {
		values["nodes."+name+".output"] = output
	}
	out := map[string]any{}
	for key, text := range inputs {
		expr := strings.TrimSuffix(strings.TrimPrefix(fmt.Sprint(text), "${{ "), " }}")
		require.Contains(t, values, expr, "%s of inputs", key)
		out[key] = values[expr]
	}
	return out
}
