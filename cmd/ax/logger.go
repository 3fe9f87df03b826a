package main

import (
	"log/slog"

	"github.com/spf13/cobra"
)

// loggerFlags are how a process logs.
type loggerFlags struct{ format, level string }

func (f *loggerFlags) add(cmd *cobra.Command, level string) {
	cmd.Flags().StringVar(&f.format, "log-format", "text", "how to log to standard error: text or json")
	cmd.Flags().StringVar(&f.level, "log-level", level, "what to log: debug, info, warn or error")
}

// logger writes structured lines to standard error.
func (c *call) logger(f loggerFlags) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.level)); err != nil {
		return nil, failure(exitUsage, "--log-level %q is unknown: write debug, info, warn or error", f.level)
	}
	options := &slog.HandlerOptions{Level: level}
	switch f.format {
	case "text":
		return slog.New(slog.NewTextHandler(c.err, options)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(c.err, options)), nil
	}
	return nil, failure(exitUsage, "--log-format %q is unknown: write text or json", f.format)
}
