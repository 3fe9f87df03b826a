package foreign

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/ax-run/ax/dag"
)

var update = flag.Bool("update", false, "write the golden files anew")

type reader func([]byte, Options) (Result, error)

var samples = map[string]struct {
	read reader
	opt  Options
}{
	"root.crontab":     {ReadCrontab, Options{}},
	"system.crontab":   {ReadCrontab, Options{System: true, Timezone: "Europe/Paris"}},
	"xxl_job_info.sql": {ReadXXLJob, Options{Timezone: "Asia/Shanghai"}},
	"xxl.json":         {ReadXXLJob, Options{}},
	"quartz.xml":       {ReadQuartz, Options{}},
	"airflow.json":     {ReadAirflow, Options{}},
}

func TestForeignFilesBecomeDefinitions(t *testing.T) {
	t.Parallel()
	for name, s := range samples {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(filepath.Join("testdata", name))
			require.NoError(t, err)
			result, err := s.read(data, s.opt)
			require.NoError(t, err)
			golden(t, name+".golden", render(t, result))
		})
	}
}

// render writes a result as one text, and checks that what was written is read as the same workflow.
func render(t *testing.T, r Result) string {
	t.Helper()
	var b strings.Builder
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "%s\n", n)
	}
	for _, w := range r.Workflows {
		text, err := w.YAML()
		require.NoError(t, err)
		fmt.Fprintf(&b, "---\n%s", text)
		read, problems := dag.Load(text, dag.BuildOptions{})
		made, others := dag.Build(w.Definition, dag.BuildOptions{})
		require.Len(t, errorsOf(problems), len(errorsOf(others)), "%s\n%v\n%v", text, problems, others)
		if made != nil {
			require.Equal(t, made.Digest(), read.Digest(), "%s", text)
		}
	}
	return b.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o600))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err, "run the test with -update to write the file")
	require.Equal(t, string(want), got)
}

func TestFilesThatHoldNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		read reader
		text string
		want string
	}{
		"other SQL":        {ReadXXLJob, "INSERT INTO other VALUES (1);", "xxl_job_info"},
		"too few values":   {ReadXXLJob, "INSERT INTO xxl_job_info (id, author) VALUES (1);", "line 1: a row of 1 values for 2 columns"},
		"cut off":          {ReadXXLJob, "INSERT INTO xxl_job_info (id, author) VALUES (1, 'a", "cut off"},
		"no JSON":          {ReadXXLJob, "[{", "read the jobs of XXL-JOB"},
		"no XML":           {ReadQuartz, "hello", "read Quartz's XML"},
		"other XML":        {ReadQuartz, "<a/>", "no <schedule>"},
		"no DAG":           {ReadAirflow, "{}", "no serialised DAG"},
		"DAG without name": {ReadAirflow, `{"dag": {}}`, "no dag_id"},
		"task of no name":  {ReadAirflow, `{"dag": {"dag_id": "x", "tasks": [{}]}}`, "without task_id"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := c.read([]byte(c.text), Options{})
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestProgramsNameJobs(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"/usr/bin/backup.sh -v":                 "backup",
		"cd /srv/shop && ./bin/dump.sh --all":   "dump",
		"TZ=UTC nice -n 10 /opt/x/report.py":    "10",
		"flock -n /run/l /opt/sync":             "sync",
		"sudo -u www php /srv/artisan schedule": "www",
		"":                                      "job",
	} {
		require.Equal(t, want, programOf(command), command)
	}
}

func TestAnyNameCanBeMadeOne(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := newMaker(Options{})
		name := rapid.String().Draw(t, "name")
		for range 3 {
			d := m.add("x", name)
			d.node(name, &dag.Node{Work: dag.Work{Handler: "h"}})
			d.node(name, &dag.Node{Work: dag.Work{Handler: "h"}})
			require.NoError(t, m.done(d))
			require.Empty(t, d.w.Notes)
		}
	})
}

func FuzzForeignFiles(f *testing.F) {
	for name := range samples {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, read := range []reader{ReadCrontab, ReadXXLJob, ReadQuartz, ReadAirflow} {
			result, err := read(data, Options{})
			if err != nil {
				continue
			}
			for _, w := range result.Workflows {
				if _, err := w.YAML(); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

// errorsOf are the problems that are no mere warnings.
func errorsOf(all dag.Problems) (errs []string) {
	for _, p := range all {
		if p.Severity == dag.SeverityError {
			errs = append(errs, p.Path)
		}
	}
	return errs
}
