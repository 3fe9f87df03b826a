package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ax-run/ax/internal/foreign"
)

// origin is a system that people come from.
type origin struct {
	name, short, what string
	read              func([]byte, foreign.Options) (foreign.Result, error)
}

var origins = []origin{
	{"crontab", "Make definitions of a crontab", "a crontab, as `crontab -l` prints it, or with --system as /etc/crontab has it", foreign.ReadCrontab},
	{"xxl-job", "Make definitions of XXL-JOB's jobs", "the rows of the table xxl_job_info, as SQL (mysqldump) or JSON", foreign.ReadXXLJob},
	{"quartz", "Make definitions of Quartz's XML", "the file that Quartz's XMLSchedulingDataProcessorPlugin reads", foreign.ReadQuartz},
	{"airflow", "Make definitions of Airflow's DAGs", "serialised DAGs, as Airflow keeps them in the column data of its table serialized_dag: one, or a list", foreign.ReadAirflow},
}

// importing is what the flags of `ax import` say.
type importing struct {
	foreign.Options
	out   string
	force bool
}

func newImport(c *call) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import",
		Short: "Make definitions of what another scheduler keeps",
		Long: "Reads what another scheduler keeps and writes definitions, with notes about everything that could not be carried over or that means\n" +
			"something else here. Nothing is registered: read what was written, then `ax validate` and `ax apply` it.",
	}
	for _, o := range origins {
		cmd.AddCommand(newImportFrom(c, o))
	}
	return cmd
}

func newImportFrom(c *call, o origin) *cobra.Command {
	var in importing
	cmd := &cobra.Command{
		Use:   o.name + " FILE",
		Short: o.short,
		Long: "Reads " + o.what + "; - is standard input. Definitions go to standard output, or with --out to a file each;\n" +
			"notes stand on top of each and go to standard error. It exits with 10 when one still has to be mended.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.importFile(cmd.Context(), args[0], o, in) },
	}
	cmd.Flags().StringVar(&in.Timezone, "timezone", "", "the zone of schedules that name none; else they get the server's default")
	cmd.Flags().StringVar(&in.out, "out", "", "the folder to write a file for each workflow to")
	cmd.Flags().BoolVar(&in.force, "force", false, "write over files that exist")
	if o.name == "crontab" {
		cmd.Flags().BoolVar(&in.System, "system", false, "the crontab has a column of users")
	}
	return cmd
}

// imported is one workflow as `-o json` shows it.
type imported struct {
	Workflow   string         `json:"workflow"`
	File       string         `json:"file,omitempty"`
	Definition string         `json:"definition"`
	Valid      bool           `json:"valid"`
	Notes      []foreign.Note `json:"notes"`
}

func (c *call) importFile(ctx context.Context, file string, o origin, in importing) error {
	data, err := whileAllowed(ctx, func() ([]byte, error) { return c.readForeign(file) })
	if err != nil {
		return err
	}
	result, err := o.read(data, in.Options)
	if err != nil {
		return failure(exitUsage, "%v", err)
	}
	shown := struct {
		Workflows []imported     `json:"workflows"`
		Notes     []foreign.Note `json:"notes"`
	}{[]imported{}, append([]foreign.Note{}, result.Notes...)}
	open := 0
	for _, w := range result.Workflows {
		text, err := w.YAML()
		if err != nil {
			return err
		}
		one := imported{Workflow: w.Definition.Workflow, Definition: string(text), Valid: w.Valid(), Notes: append([]foreign.Note{}, w.Notes...)}
		if in.out != "" {
			if one.File, err = in.write(w.Definition.Workflow, text); err != nil {
				return err
			}
		}
		if !one.Valid {
			open++
		}
		shown.Workflows = append(shown.Workflows, one)
	}
	for _, n := range result.Notes {
		c.sayf("%s", printable(n.String()))
	}
	if err := c.show(shown, func() string { return importText(shown.Workflows) }); err != nil {
		return err
	}
	if open > 0 {
		return failure(exitPartly, "%d of %s must be mended before they can be registered: see their notes", open, counted(len(shown.Workflows), "definition"))
	}
	return nil
}

// maxForeign is how much of a file is read, in bytes.
const maxForeign = 256 << 20

func (c *call) readForeign(file string) (data []byte, err error) {
	in := c.in
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, failure(exitUsage, "%v", err)
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		in = f
	}
	data, err = io.ReadAll(io.LimitReader(in, maxForeign+1))
	switch {
	case err != nil:
		return nil, failure(exitUsage, "read %s: %v", file, err)
	case len(data) > maxForeign:
		return nil, failure(exitUsage, "%s is larger than %d MiB: split it", file, maxForeign>>20)
	}
	return data, nil
}

// write writes one definition to a file of its own.
func (in importing) write(workflow string, text []byte) (string, error) {
	if err := os.MkdirAll(in.out, 0o755); err != nil {
		return "", fmt.Errorf("make folder for definitions: %w", err)
	}
	file := filepath.Join(in.out, workflow+".yaml")
	how := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if in.force {
		how = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	f, err := os.OpenFile(file, how, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return "", failure(exitUsage, "%s exists: name another folder, or write over it with --force", file)
	}
	if err != nil {
		return "", fmt.Errorf("write definition: %w", err)
	}
	_, err = f.Write(text)
	return file, errors.Join(err, f.Close())
}

func importText(all []imported) string {
	var b strings.Builder
	t := table{header: []string{"WORKFLOW", "NOTES", "FILE"}}
	for i, w := range all {
		if w.File == "" {
			if i > 0 {
				b.WriteString("---\n")
			}
			b.WriteString(w.Definition)
			continue
		}
		t.add(plain(w.Workflow), plain(fmt.Sprint(len(w.Notes))), plain(w.File))
	}
	if len(t.rows) > 0 {
		b.WriteString(t.render(false))
	}
	return b.String()
}
