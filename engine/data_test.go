package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
)

// deep is JSON that nests so deep.
func deep(levels int) string { return strings.Repeat("[", levels) + strings.Repeat("]", levels) }

// outputs are what bodies return, and whether it can be kept.
var outputs = []struct {
	output string
	kept   bool
}{
	{`null`, true}, {``, true}, {`[]`, true}, {`{}`, true}, {`""`, true}, {`5`, true}, {`true`, true}, {` [1, 2] `, true},
	{`"日本 😀"`, true}, {`"\ud83d\ude00"`, true}, {`"C:\\u0000"`, true}, {`"\\\\u0000 \\ud800"`, true}, {`{"a":1,"a":2}`, true}, {deep(400), true},
	{`"a\u0000b"`, false}, {`{"\u0000": 1}`, false}, {`"\\\u0000"`, false}, {`"\ud800"`, false}, {`"\udc00\ud800"`, false}, {`["\uD800x"]`, false},
	{"\"\xff\"", false}, {"\"\xed\xa0\x80\"", false}, {"\"\x00\"", false}, {`NaN`, false}, {`Infinity`, false}, {`{} {}`, false}, {`{"a":`, false},
	{`no JSON`, false}, {deep(10_000), false}, {strings.Repeat(`[`, 10_000), false}, {`"` + strings.Repeat("x", maxOutput) + `"`, false},
}

func TestR055OutputsAreKeptOrRefused(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]Executor{"echo": echo, "say": ExecutorFunc(func(_ context.Context, t *Task) Outcome {
		var params struct{ N int }
		if err := json.Unmarshal(t.Facts.Params, &params); err != nil {
			return Outcome{Err: &progress.Error{Class: progress.Permanent, Code: "test", Message: err.Error()}}
		}
		return Outcome{Output: json.RawMessage(outputs[params.N].output)}
	})})
	version := b.register(`
workflow: say
params: {n: {type: integer}}
nodes:
  a: {handler: say}
  b: {handler: echo, needs: [a], inputs: {v: "${{ nodes.a.output }}"}}
`)
	var runs []store.RunID
	for i := range outputs {
		runs = append(runs, b.trigger(version, fmt.Sprintf(`{"n": %d}`, i)).Run)
	}
	for i, run := range runs {
		c := outputs[i]
		name := fmt.Sprintf("%.40q", c.output)
		if !c.kept {
			require.Equal(t, progress.Failed, b.wait(run), name)
			require.Equal(t, 1, b.count(`SELECT count(*) FROM ax.node_runs WHERE run_id = $1 AND node = 'a' AND attempt = 1 AND error_class = 'permanent'
				AND error_code = 'invalid_output' AND error_message LIKE 'invalid output: %'`, run), name)
			continue
		}
		require.Equal(t, progress.Succeeded, b.wait(run), name)
		want := strings.TrimSpace(c.output)
		if want == "null" {
			want = ""
		}
		require.Equal(t, want, b.output(run, "a"), "it is kept to the letter")
		if want == "" {
			want = "null"
		}
		require.JSONEq(t, want, pick(t, b.output(run, "b"), "v"), "and its meaning handed on")
	}
}

func TestOutputsOfAnyTextAreKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		output, err := json.Marshal(map[string]string{text: text})
		require.NoError(t, err)
		got := Outcome{Output: output}.checked()
		if strings.ContainsRune(text, 0) {
			require.NotNil(t, got.Err)
			require.Equal(t, codeInvalidOutput, got.Err.Code)
			return
		}
		require.Nil(t, got.Err)
		require.Equal(t, string(output), string(got.Output))
	})
}

// texts are what bodies say in errors and logs.
var texts = []string{"", "plain", "a\x00b", "\xff\xfe", "\xed\xa0\x80", "日本 😀", "\x1b[31mred", strings.Repeat("long ", 10_000), "tab\tline\nnext", `"\u0000"`}

func TestR055TextsEndTheirNode(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]Executor{"say": ExecutorFunc(func(_ context.Context, t *Task) Outcome {
		var params struct{ N int }
		if err := json.Unmarshal(t.Facts.Params, &params); err != nil {
			return Outcome{Err: &progress.Error{Class: progress.Permanent, Code: "test", Message: err.Error()}}
		}
		text := texts[params.N]
		t.Log.Print("stdout", text)
		if t.Attempt.Node == "b" {
			return Outcome{Skipped: true, Reason: text}
		}
		return Outcome{Err: &progress.Error{Class: progress.Permanent, Code: text, Message: text}}
	})})
	version := b.register("workflow: texts\nparams: {n: {type: integer}}\nnodes: {a: {handler: say}, b: {handler: say}}")
	var runs []store.RunID
	for i := range texts {
		runs = append(runs, b.trigger(version, fmt.Sprintf(`{"n": %d}`, i)).Run)
	}
	for i, run := range runs {
		require.Equal(t, progress.Failed, b.wait(run), "%.40q", texts[i])
		require.Equal(t, map[string]string{"a": "failed", "b": "skipped"}, b.nodes(run))
		var message string
		require.NoError(t, b.pool.QueryRow(t.Context(), "SELECT error_message FROM ax.dead_letters WHERE run_id = $1", run).Scan(&message))
		switch texts[i] {
		case "a\x00b":
			require.Equal(t, `a\x00b`, message, "what cannot be kept is shown as what it was")
		case "\xff\xfe", "\xed\xa0\x80":
			require.Contains(t, message, "\uFFFD")
		case texts[7]:
			require.Contains(t, message, "bytes cut)")
		default:
			require.Equal(t, texts[i], message)
		}
		require.Equal(t, 2, b.count("SELECT count(DISTINCT node) FROM ax.logs WHERE run_id = $1", run), "%.40q is logged", texts[i])
	}
}

func TestR055ParamsAreKeptOrRefused(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]Executor{"echo": echo})
	version := b.register(`
workflow: input
params: {v: {type: object}}
nodes:
  a: {handler: echo, inputs: {v: "${{ params.v }}"}}
`)
	for _, c := range outputs {
		if len(c.output) > maxOutput {
			continue
		}
		name := fmt.Sprintf("%.40q", c.output)
		l := b.trigger(version, `{"v": {"w": `+c.output+`}}`)
		if !c.kept || c.output == "" {
			require.Error(t, l.Err, "%s is refused", name)
			continue
		}
		require.NoError(t, l.Err, name)
		require.Equal(t, progress.Succeeded, b.wait(l.Run), name)
		require.JSONEq(t, c.output, pick(t, b.output(l.Run, "a"), "v", "w"), name)
	}
}
