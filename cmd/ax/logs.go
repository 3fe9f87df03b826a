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
		Long: "Shows what the attempts of a run's nodes wrote, node after node, or of one node; of a split node, shard after\n" +
			"shard, the lines of shard 3 of load as load[3]. Where there were several attempts, each begins with a line that says so.\n" +
			"With --follow it goes on as lines come, until the run, or the node, has ended.",
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

// nodeLogs shows the log of one node run; of a split one, those of its shards.
func (c *call) nodeLogs(ctx context.Context, client *client, p *logPrinter, id string) error {
	node, err := client.nodeRun(ctx, id)
	switch {
	case err != nil:
		return err
	case node.Shards != nil && p.flags.follow && !ended(node.State):
		look := func(ctx context.Context) ([]api.NodeRun, bool, error) {
			node, err := client.nodeRun(ctx, id)
			return []api.NodeRun{node.NodeRun}, ended(node.State), err
		}
		return newRunFollower(client, p, look).follow(ctx)
	case node.Shards != nil:
		return c.allLogs(ctx, client, p, []api.NodeRun{node.NodeRun})
	case p.flags.follow:
		return client.follow(ctx, id, func(l api.LogLine) error { return p.print("", l) })
	}
	return client.logs(ctx, id, func(lines []api.LogLine) error { return p.printPage("", node.Attempts > 1, lines) })
}

// runLogs shows the logs of all nodes of a run, each line with the name of its node. Of a run that has ended they come node after
// node, in the order of the graph.
func (c *call) runLogs(ctx context.Context, client *client, p *logPrinter, id string) error {
	if p.flags.follow {
		run, err := client.run(ctx, id)
		if err != nil {
			return err
		}
		if !ended(run.State) {
			return newRunFollower(client, p, client.lookAtRun(id)).follow(ctx)
		}
	}
	nodes, err := client.nodes(ctx, id)
	if err != nil {
		return err
	}
	return c.allLogs(ctx, client, p, nodes)
}

// allLogs shows the logs of nodes one after another.
func (c *call) allLogs(ctx context.Context, client *client, p *logPrinter, nodes []api.NodeRun) error {
	bodies, err := client.bodies(ctx, nodes)
	if err != nil {
		return err
	}
	for _, n := range bodies {
		err := client.logs(ctx, n.ID, func(lines []api.LogLine) error { return p.printPage(bodyName(n), n.Attempts > 1, lines) })
		if err != nil {
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
	// attempts has the attempt of each node's last line.
	attempts map[string]int
}

// loggedLine is a line as -o json writes it, an object on a line of its own.
type loggedLine struct {
	Node string `json:"node,omitempty"`
	api.LogLine
}

// printPage writes some lines of a node, one of several attempts or of the only one.
func (p *logPrinter) printPage(node string, several bool, lines []api.LogLine) error {
	if n := len(lines); n > 0 && (several || lines[0].Attempt != lines[n-1].Attempt) {
		if err := p.mark(node, lines[0].Attempt); err != nil {
			return err
		}
	}
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
	if l.Attempt > 1 {
		if err := p.mark(node, l.Attempt); err != nil {
			return err
		}
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

// mark says where an attempt's lines begin, unless only one is wanted.
func (p *logPrinter) mark(node string, attempt int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.attempts[node] == attempt || p.flags.attempt > 0 || p.call.output != outputTable {
		return nil
	}
	if p.attempts == nil {
		p.attempts = make(map[string]int)
	}
	p.attempts[node] = attempt
	if _, err := fmt.Fprintln(p.call.out, p.prefix(node)+faint.paint(fmt.Sprintf("attempt %d:", attempt), p.call.colour)); err != nil {
		return fmt.Errorf("write log line: %w", err)
	}
	return nil
}

// prefix names the node of a line where there are several.
func (p *logPrinter) prefix(node string) string {
	if node == "" {
		return ""
	}
	return blue.paint(printable(node), p.call.colour) + " | "
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
	return p.prefix(node) + text, nil
}
