// Command ax is the command line of ax: it serves, works, and talks to a server. One file per verb.
//
// Data goes to standard output, everything else to standard error, and the exit code says how it ended (exit.go).
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() { os.Exit(launch()) }

func launch() int {
	ctx := interruptible()
	return run(ctx, newCall(processTerminal()), os.Args[1:])
}

// run carries out one call of ax and returns its exit code.
func run(ctx context.Context, c *call, args []string) int {
	root := newRoot(c)
	root.SetArgs(args)
	verb, err := root.ExecuteContextC(ctx)
	if err != nil && !c.began {
		err = failure(exitUsage, "%w (`%s --help` shows how)", err, verb.CommandPath())
	}
	return c.finish(ctx, err)
}

// interruptible returns a context that the first signal ends. The second one ends the program at once.
func interruptible() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
		signal.Notify(signals, syscall.SIGHUP)
	}
	go func() {
		<-signals
		cancel()
		<-signals
		os.Exit(exitInterrupted)
	}()
	return ctx
}
