package main

import (
	"github.com/spf13/cobra"
)

// newRoot makes the command ax with all its verbs.
func newRoot(c *call) *cobra.Command {
	root := &cobra.Command{
		Use:   "ax",
		Short: "Workflows on PostgreSQL",
		Long: "ax runs workflows on PostgreSQL: graphs of steps, started by a schedule, by a request or by hand.\n\n" +
			"`ax dev` starts everything on this machine. The other verbs talk to a server: --server, AX_SERVER or a context of the\n" +
			"config file says which.",
		SilenceErrors: true, SilenceUsage: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := c.configure(cmd); err != nil {
				return err
			}
			c.began = true
			return nil
		},
	}
	root.SetIn(c.in)
	root.SetOut(c.out)
	root.SetErr(c.err)
	c.remote.flags(root)
	root.PersistentFlags().StringVarP(&c.output, "output", "o", outputTable, "what to write: table, json or yaml")
	for _, g := range verbs() {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, newVerb := range g.verbs {
			verb := newVerb(c)
			verb.GroupID = g.id
			root.AddCommand(verb)
		}
	}
	root.AddCommand(&cobra.Command{Use: "exit-codes", Short: "What the exit codes mean", Long: exitHelp})
	return root
}

// group is verbs that belong together in the help.
type group struct {
	id, title string
	verbs     []func(*call) *cobra.Command
}

func verbs() []group {
	return []group{
		{"serve", "Serve:", []func(*call) *cobra.Command{newDev, newServer, newWorker, newMigrate, newDoctor, newBench}},
		{"define", "Define:", []func(*call) *cobra.Command{newValidate, newApply, newDiff, newCron, newImport}},
		{"run", "Run and look:", []func(*call) *cobra.Command{newTrigger, newWorkflows, newRuns, newRun, newLogs, newFires, newWhy, newForecast, newCancel, newPause, newResume}},
		{"hand", "Set right by hand:", []func(*call) *cobra.Command{newRerun, newReplay, newMark, newApprove, newHold, newRelease, newDeadLetters, newBackfill}},
		{"other", "Other:", []func(*call) *cobra.Command{newVersion}},
		{"who", "Who may do what:", []func(*call) *cobra.Command{newLogin, newContext, newTokens, newNamespaces, newAudit}},
		{"times", "Keep times:", []func(*call) *cobra.Command{newCalendars}},
		{"protect", "Protect:", []func(*call) *cobra.Command{newPools, newQueues, newWorkers}},
	}
}

// needVerb is what a command does that has only verbs below it.
func needVerb(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return failure(exitUsage, "%s has no verb %q (`%s --help` lists them)", cmd.CommandPath(), args[0], cmd.CommandPath())
	}
	return cmd.Help()
}
