package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/api"
	"github.com/ax-run/ax/dag"
)

// twoDefinitions is a folder with the workflows one and two.
func twoDefinitions(t *testing.T) string {
	place := t.TempDir()
	for _, name := range []string{"one", "two"} {
		text := "workflow: " + name + "\nnodes: {a: {command: [\"true\"]}}\n"
		require.NoError(t, os.WriteFile(filepath.Join(place, name+".yaml"), []byte(text), 0o644))
	}
	return place
}

func TestApplyRegistersWhatIsValid(t *testing.T) {
	var body []byte
	s := newStage(t, map[string]http.HandlerFunc{
		"PUT workflows/one": answer(api.Registered{Workflow: "one", Version: 1, Created: true}),
		"PUT workflows/two": func(w http.ResponseWriter, r *http.Request) {
			var err error
			if body, err = io.ReadAll(r.Body); err != nil || r.Header.Get("Content-Type") != "application/yaml" || r.URL.RawQuery != "paused=true" {
				panic(r.URL.RawQuery)
			}
			answer(api.Registered{Workflow: "two", Version: 2})(w, r)
		},
	})
	out := at(s.URL).ax("apply", "-f", twoDefinitions(t), "--paused").good(t)
	require.Regexp(t, `one +1 +created`, out)
	require.Regexp(t, `two +2 +unchanged`, out)
	require.Equal(t, "workflow: two\nnodes: {a: {command: [\"true\"]}}\n", string(body), "as it was written")
}

func TestApplyRegistersNothingWhenSomethingIsInvalid(t *testing.T) {
	s := newStage(t, nil)
	d := at(s.URL).ax("apply", "-f", twoDefinitions(t), "-f", "testdata/broken/cycle.yaml")
	d.fails(t, exitUsage, "a → b → c → a")
	require.Contains(t, d.err, "1 problem in 1 file: nothing was registered")
	require.Empty(t, s.asked)
}

func TestApplyThatIsPartlyDone(t *testing.T) {
	s := newStage(t, map[string]http.HandlerFunc{"PUT workflows/two": answer(api.Registered{Workflow: "two", Version: 1})})
	d := at(s.URL).ax("apply", twoDefinitions(t))
	d.fails(t, exitPartly, "1 of 2 definitions registered")
	require.Contains(t, d.err, "one.yaml: there is no PUT workflows/one")
	require.Contains(t, d.out, "two")

	none := at(newStage(t, nil).URL).ax("apply", twoDefinitions(t), "-o", "json")
	none.fails(t, exitNotFound, "there is no PUT workflows/one")
	require.Contains(t, none.out, `"error": "there is no PUT workflows/one`)
}

// TestApplyRegistersChildrenFirst wants what a workflow runs and waits for to be there before it, and the server's warning to be shown.
func TestApplyRegistersChildrenFirst(t *testing.T) {
	place := t.TempDir()
	for name, text := range map[string]string{
		"a": "workflow: parent\nnodes: {x: {workflow: {code: child}}, y: {workflow: {code: gone}}}\n",
		"b": "workflow: child\nupstream: {all: [{workflow: first}]}\nnodes: {x: {command: [\"true\"]}}\n",
		"c": "workflow: first\nnodes: {x: {command: [\"true\"]}}\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(place, name+".yaml"), []byte(text), 0o644))
	}
	warning := api.ProblemDetail{Location: "body.nodes.y.workflow", Message: "there is no workflow gone", Code: dag.CodeUnknownWorkflow, Hint: "register it"}
	s := newStage(t, map[string]http.HandlerFunc{
		"PUT workflows/parent": answer(api.Registered{Workflow: "parent", Version: 1, Warnings: []api.ProblemDetail{warning}}),
		"PUT workflows/child":  answer(api.Registered{Workflow: "child", Version: 1}), "PUT workflows/first": answer(api.Registered{Workflow: "first", Version: 1}),
	})
	d := at(s.URL).ax("apply", place)
	require.Equal(t, exitDone, d.code)
	require.Equal(t, []string{"PUT workflows/first", "PUT workflows/child", "PUT workflows/parent"}, s.asked)
	require.Contains(t, d.err, "a.yaml: warning: body.nodes.y.workflow: there is no workflow gone (register it)")
}
