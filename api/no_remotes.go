package api

import (
	"context"
	"encoding/json"
	"time"

	"github.com/ax-run/ax/engine"
	"github.com/ax-run/ax/internal/store"
)

// noRemotes is a server without remote workers.
type noRemotes struct{}

// RegisterRemote implements Remotes.
func (noRemotes) RegisterRemote(context.Context, int64, engine.RemoteWorker) (r engine.RegisteredWorker, err error) {
	return r, engine.ErrNoRemotes
}

// ProveWorker implements Remotes.
func (noRemotes) ProveWorker(context.Context, engine.Proof, string) (string, error) {
	return "", engine.ErrNoRemotes
}

// BeatRemote implements Remotes.
func (noRemotes) BeatRemote(context.Context, string, []store.Attempt) (b engine.RemoteBeat, err error) {
	return b, engine.ErrNoRemotes
}

// Poll implements Remotes.
func (noRemotes) Poll(context.Context, string, string, int, time.Duration) ([]json.RawMessage, error) {
	return nil, engine.ErrNoRemotes
}

// LeaveRemote implements Remotes.
func (noRemotes) LeaveRemote(context.Context, string, bool) error { return engine.ErrNoRemotes }

// ReportRemote implements Remotes.
func (noRemotes) ReportRemote(context.Context, engine.Proof, store.Attempt, engine.Report) error {
	return engine.ErrNoRemotes
}

// HeartbeatRemote implements Remotes.
func (noRemotes) HeartbeatRemote(context.Context, engine.Proof, store.Attempt, []byte) (at time.Time, err error) {
	return at, engine.ErrNoRemotes
}

// LogRemote implements Remotes.
func (noRemotes) LogRemote(context.Context, engine.Proof, store.Attempt, []store.LogLine) error {
	return engine.ErrNoRemotes
}
