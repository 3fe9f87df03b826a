package main

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/ax-run/ax/api"
)

// logsFlags are how logs are wanted.
type logsFlags struct {
	follow, timestamps bool
	attempt            int
}

func newLogs(c *call) *cobra.Command {
	var f logsFlags
	cmd := &cobra.Command{
		Use:   "logs RUN [NODE]",
		Short: "Show the log of a run's nodes, or of one",
		Long: "Shows what the attempts of a run's nodes wrote, node after node, or of one node. With --follow it goes on\n" +
			"as lines come, until the run, or the node, has ended.",
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := c.client()
			if err != nil {
				return err
			}
			p := &logPrinter{call: c, flags: f}
			if len(args) == 2 {
				return c.nodeLogs(cmd.Context(), client, p, args[0]+":"+args[1])
			}
			if run, _, isNode := strings.Cut(args[0], ":"); isNode && run != "" {
				return c.nodeLogs(cmd.Context(), client, p, args[0])
			}
			return c.runLogs(cmd.Context(), client, p, args[0])
		},
	}
	cmd.Flags().BoolVarP(&f.follow, "follow", "f", false, "show lines as they come, until the end")
	cmd.Flags().BoolVar(&f.timestamps, "timestamps", false, "begin each line with its time")
	cmd.Flags().IntVar(&f.attempt, "attempt", 0, "only this attempt")
	return cmd
}

// nodeLogs shows the log of one node run.
func (c *call) nodeLogs(ctx context.Context, client *client, p *logPrinter, id string) error {
	print := func(l api.LogLine) error { return p.print("", l) }
	if p.flags.follow {
		return client.follow(ctx, id, print)
	}
	lines, err := client.logs(ctx, id)
	if err != nil {
		return err
	}
	return p.printAll("", lines)
}

// runLogs shows the logs of all nodes of a run, each line with the name of its node.
func (c *call) runLogs(ctx context.Context, client *client, p *logPrinter, run string) error {
	if p.flags.follow {
		f := &runFollower{client: client, printer: p, run: run, places: make(chan struct{}, maxFollowed)}
		return f.follow(ctx)
	}
	nodes, err := client.nodes(ctx, run)
	if err != nil {
		return err
	}
	for _, n := range nodes {
		if n.Attempts == 0 {
			continue
		}
		lines, err := client.logs(ctx, n.ID)
		if err != nil {
			return err
		}
		if err := p.printAll(n.Node, lines); err != nil {
			return err
		}
	}
	return nil
}

// logPrinter writes lines of one or of several nodes.
type logPrinter struct {
	call  *call
	flags logsFlags
	mu    sync.Mutex
}

// loggedLine is a line as -o json writes it, an object on a line of its own.
type loggedLine struct {
	Node string `json:"node,omitempty"`
	api.LogLine
}

func (p *logPrinter) printAll(node string, lines []api.LogLine) error {
	for _, l := range lines {
		if err := p.print(node, l); err != nil {
			return err
		}
	}
	return nil
}

func (p *logPrinter) print(node string, l api.LogLine) error {
	if p.flags.attempt > 0 && l.Attempt != p.flags.attempt {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	text, err := p.text(node, l)
	if err == nil {
		_, err = fmt.Fprintln(p.call.out, text)
	}
	if err != nil {
		return fmt.Errorf("write log line: %w", err)
	}
	return nil
}

func (p *logPrinter) text(node string, l api.LogLine) (string, error) {
	switch p.call.output {
	case outputJSON:
		return jsonLine(loggedLine{node, l})
	case outputYAML: // an item of a list, for JSON is YAML
		item, err := jsonLine(loggedLine{node, l})
		return "- " + item, err
	}
	text := l.Text
	if p.call.colour { // nothing in a log may steer the terminal
		text = printable(strings.ReplaceAll(text, "\t", "    "))
	}
	if p.flags.timestamps {
		text = faint.paint(l.Time.In(p.call.zone).Format("15:04:05.000"), p.call.colour) + " " + text
	}
	if node != "" {
		text = blue.paint(printable(node), p.call.colour) + " | " + text
	}
	return text, nil
}
