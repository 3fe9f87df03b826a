package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

// nightlyProgram builds the program of the example, like this test with or without the race detector.
func nightlyProgram(t *testing.T) (folder string) {
	t.Helper()
	folder = t.TempDir()
	args := []string{"build", "-o", folder, "./cmd/nightly"}
	info, _ := debug.ReadBuildInfo()
	for _, s := range info.Settings {
		if s.Key == "-race" && s.Value == "true" {
			args = append([]string{"build", "-race"}, args[1:]...)
		}
	}
	build := exec.Command("go", args...)
	build.Dir = "../../examples/nightly-report"
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return folder
}

// The nightly report, run by ax for three business dates, gives the pages that its steps give in one process.
func TestNightlyReport(t *testing.T) {
	t.Parallel()
	programs, reports := nightlyProgram(t), t.TempDir()
	env := []string{"PATH=" + programs + string(os.PathListSeparator) + os.Getenv("PATH")}
	dev := start(t, env, readyLine, "dev", "--data", place(t), "--listen", "127.0.0.1:0", "--allow-commands", "--command-env", "GORACE",
		"--workflows", "../../examples/nightly-report/workflow.yaml")
	sh := at(dev.url)
	for date, midwest := range map[string]string{"2001-01-15": "succeeded", "2001-02-14": "succeeded", "2001-03-12": "failed"} {
		out := sh.ax("trigger", "report.nightly_flights", "--logical-time", date+"T02:30:00+08:00", "--param", "folder="+reports,
			"--wait", "--timeout", "60s").good(t)
		require.Regexp(t, `(?m)^date +`+date, out)
		require.Regexp(t, `(?m)^midwest +`+midwest, out)
		name := "flights-" + date + ".html"
		want, err := os.ReadFile(filepath.Join("../../examples/nightly-report/report/testdata", name))
		require.NoError(t, err)
		got, err := os.ReadFile(filepath.Join(reports, name))
		require.NoError(t, err)
		require.Equal(t, string(want), string(got))
	}
	require.Equal(t, 1, sh.run(t, "--logical-date", "2001-03-12").Warnings)
	require.Contains(t, sh.ax("run", sh.run(t, "--logical-date", "2001-03-12").ID).good(t),
		`tolerated: nightly ended with exit code 65: nightly: aggregate midwest: 2001-03-12: 19:06 ORD → MQT: airport MQT (Marquette County Airport) has no state`)
}
