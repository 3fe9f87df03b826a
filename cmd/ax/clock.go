package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/ax-run/ax/api"
	"github.com/ax-run/ax/internal/service"
	"github.com/ax-run/ax/internal/store"
)

const (
	// clockEvery is how often a process compares its clock with the database's, clockWarn from when it warns (S37).
	clockEvery = 30 * time.Second
	clockWarn  = 500 * time.Millisecond
)

// clockLoop measures how far this process's clock is from the database's. Nothing is decided by it.
func clockLoop(s *store.Store, m *api.Metrics, log *slog.Logger) service.Service {
	return service.NewLoop(service.LoopConfig{Name: "clock", Logger: log, Round: func(ctx context.Context) time.Duration {
		before := time.Now()
		there, err := s.Now(ctx)
		if err != nil { // a database that is away is told of elsewhere
			return clockEvery
		}
		after := time.Now()
		ahead := before.Add(after.Sub(before) / 2).Sub(there)
		m.ClockSkew(ahead)
		if ahead.Abs() > clockWarn+after.Sub(before)/2 {
			log.Warn("this machine's clock differs from the database's: let both follow a time server", slog.Duration("ahead", ahead))
		}
		return clockEvery
	}})
}
