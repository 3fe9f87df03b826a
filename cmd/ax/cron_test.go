package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// vectors reads a file of known fires, which starts with one line of column names.
func vectors(t *testing.T, name string) [][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "internal", "cron", "testdata", name))
	require.NoError(t, err)
	var all [][]string
	for line := range strings.Lines(string(text)) {
		all = append(all, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
	}
	return all[1:]
}

// ask sends lines through `ax cron next -` and returns its answers.
func ask(t *testing.T, lines []string, flags ...string) []string {
	t.Helper()
	s := shell{input: strings.Join(lines, "\n") + "\n"}
	out := s.ax(append([]string{"cron", "next", "-"}, flags...)...).good(t)
	answers := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	require.Len(t, answers, len(lines), "one answer for each line")
	return answers
}

func TestCronLinesAnswerTheVectors(t *testing.T) {
	for _, c := range []struct {
		file, dst string
		skip      string // a tag that excuses a row under this rule
	}{
		{"cron-unix.tsv", "standard", "quirk:"},
		{"cron-quartz.tsv", "quartz", "quirk:"},
		{"cron-quartz.tsv", "standard", "dst-"},
	} {
		var lines, want []string
		for _, row := range vectors(t, c.file) {
			if strings.Contains(row[4], c.skip) || strings.Contains(row[4], "quirk:") {
				continue
			}
			lines = append(lines, strings.Join(row[:3], "\t"))
			want = append(want, strings.ReplaceAll(row[3], ",", "\t"))
		}
		require.Greater(t, len(lines), 100)
		require.Equal(t, want, ask(t, lines, "--dst", c.dst), c)
	}
}

func TestCronLinesRefuseTheInvalid(t *testing.T) {
	for _, row := range vectors(t, "cron-invalid.tsv") {
		line := []string{row[1] + "\tUTC\t2026-11-30T00:00:00Z"}
		if row[0] == "quartz-never-fires" {
			require.Equal(t, []string{"END"}, ask(t, line), row)
			continue
		}
		require.Regexp(t, "^ERROR: .+", ask(t, line)[0], row)
		require.Regexp(t, "^ERROR: .+", ask(t, line, "--dialect", row[0])[0], row)
	}
}

func TestCronLinesThatAreNone(t *testing.T) {
	answers := ask(t, []string{
		"", "* * * * *", "* * * * *\tUTC", "* * * * *\tMars\t2026-11-30T00:00:00Z", "* * * * *\tUTC\ttoday",
		"* * * * *\tUTC\t2026-11-30T00:00:00Z\tmore", "0 0 0 1 1 ? 2027\tUTC\t2026-01-01T00:00:00Z\r",
	}, "-n", "1")
	require.Equal(t, []string{
		"ERROR: want expression, zone and instant, separated by tabs, not 1 field",
		"ERROR: want expression, zone and instant, separated by tabs, not 1 field",
		"ERROR: want expression, zone and instant, separated by tabs, not 2 fields",
		`ERROR: time zone "Mars" is unknown: write an IANA name such as Asia/Shanghai or UTC`,
		`ERROR: "today" is no instant: write it as 2026-11-30T02:30:00+08:00`,
		"ERROR: want expression, zone and instant, separated by tabs, not 4 fields",
		"2027-01-01T00:00:00Z",
	}, answers)
	require.Equal(t, "2027-01-01T00:00:00Z\tEND", ask(t, []string{"0 0 0 1 1 ? 2027\tUTC\t2026-01-01T00:00:00Z"})[0])
	require.Equal(t, "", shell{}.ax("cron", "next", "-").good(t), "no lines, no answers")
	last := shell{input: "* * * * *\tUTC\t2026-11-30T00:00:00Z"}
	require.Equal(t, "2026-11-30T00:01:00Z\n", last.ax("cron", "next", "-", "-n", "1").good(t), "a last line without an end")
}

func TestCronNext(t *testing.T) {
	out := shell{}.ax("cron", "next", "0 30 2 * * ?", "--tz", "Asia/Shanghai", "-n", "2").good(t)
	require.Equal(t, "2026-12-01T02:30:00+08:00  Tue  2026-11-30T18:30:00Z\n2026-12-02T02:30:00+08:00  Wed  2026-12-01T18:30:00Z\n", out)
	out = shell{}.ax("cron", "next", "0 0 0 30 2 ?", "-o", "json").good(t)
	require.JSONEq(t, `{"expression": "0 0 0 30 2 ?", "timezone": "UTC", "fires": [], "over": true}`, out)
	require.Equal(t, "END\n", shell{}.ax("cron", "next", "0 0 30 2 *").good(t))
	out = shell{}.ax("cron", "next", "30 2 * * *", "--tz", "Europe/Berlin", "--from", "2027-03-27T12:00:00Z", "-n", "1", "--dst", "quartz").good(t)
	require.Contains(t, out, "2027-03-29T00:30:00Z", "the night of the change has no 02:30")
}
