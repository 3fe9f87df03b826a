package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestImportWritesFilesThatCanBeApplied(t *testing.T) {
	from := "# nightly dump\n30 2 * * * /srv/dump.sh\n*/5 * * * * /srv/sync.sh\n"
	out := filepath.Join(t.TempDir(), "made")
	d := shell{input: from}.ax("import", "crontab", "-", "--out", out, "--timezone", "Europe/Berlin")
	require.Regexp(t, `dump +0 +.*dump\.yaml`, d.good(t))
	require.Contains(t, d.err, "every job: cron starts a job though its last run goes on")
	shell{}.ax("validate", out).good(t)
	text, err := os.ReadFile(filepath.Join(out, "dump.yaml"))
	require.NoError(t, err)
	require.Contains(t, string(text), "title: nightly dump\n")
	require.Contains(t, string(text), "timezone: Europe/Berlin\n")
	shell{input: from}.ax("import", "crontab", "-", "--out", out).fails(t, exitUsage, "exists: name another folder, or write over it with --force")
	shell{input: from}.ax("import", "crontab", "-", "--out", out, "--force").good(t)
}

func TestImportTellsWhatIsToBeMended(t *testing.T) {
	d := shell{input: "61 * * * * broken\n"}.ax("import", "crontab", "-", "-o", "json")
	d.fails(t, exitPartly, "1 of 1 definition must be mended")
	var got struct {
		Workflows []imported `json:"workflows"`
	}
	require.NoError(t, json.Unmarshal([]byte(d.out), &got))
	require.Len(t, got.Workflows, 1)
	require.False(t, got.Workflows[0].Valid)
	require.Contains(t, got.Workflows[0].Notes[0].What, "61 is out of range")
	shell{input: "x"}.ax("import", "quartz", "-").fails(t, exitUsage, "read Quartz's XML")
	shell{}.ax("import", "airflow", filepath.Join(t.TempDir(), "none")).fails(t, exitUsage, "no such file")
}
