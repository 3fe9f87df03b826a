package store

import (
	"context"
	"fmt"
	"time"
)

// LockPath makes those who lock the same number wait for each other, on all servers, until release is called.
func (s *Store) LockPath(ctx context.Context, number int64) (release func(), err error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("lock what is to be changed: %w", err)
	}
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", number); err != nil {
		conn.Release()
		return nil, fmt.Errorf("lock what is to be changed: %w", err)
	}
	return func() {
		done, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if _, err := conn.Exec(done, "SELECT pg_advisory_unlock($1)", number); err != nil {
			_ = conn.Conn().Close(done) // which ends the lock too
		}
		conn.Release()
	}, nil
}
