package service

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Member is a service of a Group and its name in errors.
type Member struct {
	Name    string
	Service Service
}

// Group is a Service of several: it starts its members in order and stops them in reverse order,
// each only when the one after it has stopped, so that a member may use those before it to its end.
type Group struct {
	members []Member

	mu      sync.Mutex // held during Start and Stop: they never overlap
	started int        // how many members run
}

// NewGroup makes a group of members in the order in which they are to start.
func NewGroup(members ...Member) *Group {
	return &Group{members: members}
}

// Start starts the members. When one fails, those before it are stopped again and its error is
// returned.
func (g *Group) Start(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.started < len(g.members) {
		next := g.members[g.started]
		if err := next.Service.Start(ctx); err != nil {
			err = fmt.Errorf("start %s: %w", next.Name, err)
			return errors.Join(err, g.stop(context.WithoutCancel(ctx)))
		}
		g.started++
	}
	return nil
}

// Stop stops every member that was started, also when one of them fails to stop, and returns all
// errors.
func (g *Group) Stop(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.stop(ctx)
}

func (g *Group) stop(ctx context.Context) error {
	var errs []error
	for ; g.started > 0; g.started-- {
		last := g.members[g.started-1]
		if err := last.Service.Stop(ctx); err != nil {
			errs = append(errs, fmt.Errorf("stop %s: %w", last.Name, err))
		}
	}
	return errors.Join(errs...)
}
