package engine

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/dag"
	"github.com/ax-run/ax/dag/progress"
)

// script is a command node that runs a shell script.
func script(text string, arguments ...string) *bench {
	return newBench(&dag.Node{Work: dag.Work{Command: &dag.Command{Run: append([]string{"sh", "-c", text}, arguments...), PermanentExitCodes: []int{65}}}})
}

func runScript(t *testing.T, text string) (Outcome, string) {
	t.Helper()
	return script(text).execute(t, t.Context(), NewCommand(CommandConfig{}))
}

func TestCommandOutputs(t *testing.T) {
	for name, c := range map[string]struct{ script, output string }{
		"nothing":               {`:`, ``},
		"text":                  {`echo done`, ``},
		"last line":             {`echo start; echo '{"id":12345678901234567890}'; echo; echo '  '`, `{"id":12345678901234567890}`},
		"last line, no end":     {`printf '[1, 2]'`, `[1, 2]`},
		"last line of Windows":  {`printf '{"a":1}\r\n'`, `{"a":1}`},
		"not the last line":     {`echo '{"a":1}'; echo done`, ``},
		"no object or array":    {`echo 5`, ``},
		"looks like JSON":       {`echo '[2026-11-30] done'`, ``},
		"file":                  {`echo '{"a":1}'; echo 5.0 > "$AX_OUTPUT"`, `5.0`},
		"file of null":          {`echo '{"a":1}'; echo null > "$AX_OUTPUT"`, ``},
		"empty file":            {`echo '{"a":1}'; : > "$AX_OUTPUT"`, `{"a":1}`},
		"input":                 {`cat "$AX_INPUT" > "$AX_OUTPUT"`, `{"day":"2026-11-30"}`},
		"stderr is no output":   {`echo '{"a":1}' >&2`, ``},
		"long line that is cut": {`printf '[%02000000d' 0; echo done`, ``},
	} {
		t.Run(name, func(t *testing.T) {
			out, _ := runScript(t, c.script)
			require.Nil(t, out.Err)
			require.Equal(t, c.output, string(out.Output))
		})
	}
}

func TestCommandsThatFail(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		class  progress.Class
		code   string
		says   string
	}{
		"exit 1":             {`echo a >&2; echo b >&2; exit 1`, progress.System, "exit_1", "exit code 1: a\nb"},
		"exit, output given": {`echo '{"a":1}'; exit 3`, progress.System, "exit_3", "exit code 3"},
		"a permanent code":   {`exit 65`, progress.Permanent, "exit_65", "exit code 65"},
		"not found inside":   {`no-such-program-here`, progress.Permanent, "exit_127", "no-such-program-here"},
		"signal":             {`kill -9 $$`, progress.System, "signal_9", "signal 9 (killed)"},
		"only the end of stderr": {`for i in 1 2 3 4 5 6 7 8 9; do echo line $i >&2; done; exit 1`, progress.System, "exit_1",
			"exit code 1: line 5\nline 6\nline 7\nline 8\nline 9"},
		"file with no JSON":       {`echo '{' > "$AX_OUTPUT"`, progress.Permanent, codeInvalidOutput, "AX_OUTPUT: not one JSON value"},
		"file with two values":    {`echo '1 2' > "$AX_OUTPUT"`, progress.Permanent, codeInvalidOutput, "AX_OUTPUT: not one JSON value"},
		"file with NaN":           {`echo NaN > "$AX_OUTPUT"`, progress.Permanent, codeInvalidOutput, "AX_OUTPUT"},
		"file with NUL":           {`printf '"a\\u0000"' > "$AX_OUTPUT"`, progress.Permanent, codeInvalidOutput, "NUL"},
		"file with other bytes":   {`printf '"\377"' > "$AX_OUTPUT"`, progress.Permanent, codeInvalidOutput, "UTF-8"},
		"file that is a pipe":     {`mkfifo "$AX_OUTPUT"`, progress.Permanent, codeInvalidOutput, "AX_OUTPUT: it is not a file"},
		"file over the limit":     {`printf '"%02000000d"' 0 > "$AX_OUTPUT"`, progress.Permanent, codeInvalidOutput, "2000002 bytes"},
		"line over the limit":     {`printf '["%02000000d"]\n' 0`, progress.Permanent, codeInvalidOutput, "2000004 bytes"},
		"line with a NUL escaped": {`printf '["a\\u0000"]\n'`, progress.Permanent, codeInvalidOutput, "NUL"},
	} {
		t.Run(name, func(t *testing.T) {
			out, _ := runScript(t, c.script)
			require.Contains(t, requireError(t, out, c.class, c.code), c.says)
		})
	}
}

func TestCommandLog(t *testing.T) {
	_, log := runScript(t, `echo one; echo two >&2; printf 'a\000b\n'; printf '\377\n'; printf 'no end'`)
	require.Equal(t, []string{"stderr: two", "stdout: a\\x00b", "stdout: no end", "stdout: one", "stdout: \uFFFD"},
		slices.Sorted(slices.Values(strings.Split(strings.TrimSpace(log), "\n"))))
}

func TestCommandWithMuchOutput(t *testing.T) {
	b := script(`i=0; while [ $i -lt 20000 ]; do echo "line $i of what it says"; echo "line $i of what it complains" >&2; i=$((i+1)); done; echo '{"lines":20000}'`)
	out, _ := b.execute(t, t.Context(), NewCommand(CommandConfig{}))
	require.Nil(t, out.Err)
	require.Equal(t, `{"lines":20000}`, string(out.Output))
	require.Len(t, b.lines, 40001)
}

func TestCommandSeesTheAllowedEnvironmentOnly(t *testing.T) {
	t.Setenv("AX_DATABASE_URL", "postgres://secret")
	t.Setenv("SECRET_OF_THE_WORKER", "1")
	t.Setenv("REGION", "cn")
	t.Setenv("TZ", "UTC")
	b := newBench(&dag.Node{Work: dag.Work{Command: &dag.Command{Run: []string{"env"}, Env: map[string]string{"OWN": "a b\nOTHER=1", "TZ": "Asia/Shanghai"}}}})
	b.Attempt.Shard, b.Shards = 1, 4
	out, log := b.execute(t, t.Context(), NewCommand(CommandConfig{Env: []string{"REGION", "NOT_SET"}}))
	require.Nil(t, out.Err)
	got := map[string]string{}
	for line := range strings.Lines(log) {
		name, value, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, "stdout: ")), "=")
		got[name] = value
	}
	input := filepath.Dir(got["AX_INPUT"])
	for _, inherited := range []string{"PATH", "HOME", "LANG", "LC_ALL", "TMPDIR"} {
		require.Equal(t, os.Getenv(inherited), got[inherited])
		delete(got, inherited)
	}
	require.Equal(t, map[string]string{
		"OWN": "a b", "OTHER": "1", "REGION": "cn", "TZ": "Asia/Shanghai",
		"AX_EXECUTION_ID": b.Attempt.ExecutionID(), "AX_RUN_ID": b.Attempt.Run.String(), "AX_WORKFLOW": "report.daily_sales", "AX_NODE": "clean",
		"AX_ATTEMPT": "2", "AX_SHARD_INDEX": "1", "AX_SHARD_TOTAL": "4", "AX_LOGICAL_DATE": "2026-11-30", "AX_SCHEDULED_AT": "2026-11-29T18:30:00Z",
		"AX_INPUT": input + "/input.json", "AX_OUTPUT": input + "/output.json",
	}, got)
}

func TestCommandArgumentsMeetNoShell(t *testing.T) {
	b := newBench(&dag.Node{Work: dag.Work{Command: &dag.Command{Run: []string{"printf", "%s|", "${{ a }}", "x"}}}})
	b.Work = json.RawMessage(`{"run":["printf","%s|","$(touch pwned); \"'*","",5,1.50,null,{"a":[1]}],"env":{"N":5}}`)
	_, log := b.execute(t, t.Context(), NewCommand(CommandConfig{}))
	require.Equal(t, "stdout: $(touch pwned); \"'*||5|1.50|null|{\"a\":[1]}|\n", log)
}

func TestCommandFolders(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "summarise"), []byte("#!/bin/sh\npwd; echo \"$0\"; touch left; mkdir closed; chmod 500 closed\n"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "locked"), []byte("#!/bin/sh\n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "orphan"), []byte("#!/no/such/interpreter\n"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "noise"), []byte("neither this nor that"), 0o755))
	x := NewCommand(CommandConfig{Dir: dir})
	run := func(path string, program ...string) (Outcome, string) {
		return newBench(&dag.Node{Work: dag.Work{Command: &dag.Command{Run: program, Env: map[string]string{"PATH": path}}}}).execute(t, t.Context(), x)
	}
	path := os.Getenv("PATH")
	for _, c := range []struct{ path, program string }{{path, "./summarise"}, {path, filepath.Join(dir, "summarise")}, {"relative:" + dir + ":" + path, "summarise"}} {
		out, log := run(c.path, c.program)
		require.Nil(t, out.Err)
		lines := strings.Split(log, "\n")
		work := strings.TrimPrefix(lines[0], "stdout: ")
		require.Equal(t, "work", filepath.Base(work))
		require.NoDirExists(t, filepath.Dir(work), "the attempt's folder is left")
		require.Equal(t, "stdout: "+filepath.Join(dir, "summarise"), lines[1])
	}
	for _, c := range []struct{ program, code, says string }{
		{"./nowhere", "exit_127", "does not exist"},
		{"nowhere", "exit_127", "PATH"},
		{"./orphan", "exit_127", "interpreter"},
		{"./locked", "exit_126", "not executable"},
		{"locked", "exit_126", "not executable"},
		{"./noise", "exit_126", "#!/bin/sh"},
	} {
		out, _ := run(dir+":"+path, c.program)
		require.Contains(t, requireError(t, out, progress.Permanent, c.code), c.says, c.program)
	}
	out, _ := run(path, "printf", strings.Repeat("x", 4<<20))
	require.Contains(t, requireError(t, out, progress.Permanent, "exit_126"), "AX_INPUT")
}

func TestCommandRefusesWhatCannotBeRun(t *testing.T) {
	for _, work := range []string{`{"run":[]}`, `{"run":[""]}`, `{"run":["a\u0000"]}`, `{"run":["a"],"env":{"B":"\u0000"}}`, `{"run":"a"}`} {
		b := newBench(&dag.Node{Work: dag.Work{Command: &dag.Command{Run: []string{"${{ x }}"}}}})
		b.Work = json.RawMessage(work)
		out, _ := b.execute(t, t.Context(), NewCommand(CommandConfig{}))
		requireError(t, out, progress.Permanent, codeBadCommand)
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	out, log := script("echo began").execute(t, done, NewCommand(CommandConfig{}))
	requireError(t, out, progress.System, "interrupted")
	require.Empty(t, log)
}

func TestLastLineAgreesWithSplitting(t *testing.T) {
	for _, text := range []string{"", "a", "a\n", "a\nb", "a\n\n \nb\n\n", "\n", " \n\t"} {
		for size := 1; size <= len(text)+1; size++ {
			l := &lastLine{}
			for part := range slices.Chunk([]byte(text), size) {
				n, err := l.Write(part)
				require.NoError(t, err)
				require.Equal(t, len(part), n)
			}
			l.finish()
			want := ""
			for line := range strings.Lines(text) {
				if strings.TrimSpace(line) != "" {
					want = strings.TrimSuffix(line, "\n")
				}
			}
			require.Equal(t, want, string(l.last.kept), "%q in parts of %d", text, size)
		}
	}
}

func TestEndingKeepsTheEnd(t *testing.T) {
	e := &ending{}
	for range 100 {
		_, err := e.Write([]byte(strings.Repeat("x", 1000)))
		require.NoError(t, err)
	}
	_, err := e.Write([]byte("end"))
	require.NoError(t, err)
	require.Len(t, e.kept(), saidBytes)
	require.True(t, strings.HasSuffix(string(e.kept()), "xend"))
	require.Less(t, cap(e.buf), 32*saidBytes)
}

// within fails the test unless a channel is closed soon.
func within(t *testing.T, what string, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatalf("%s did not happen", what)
	}
}
