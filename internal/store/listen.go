package store

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
)

// Bounds of the pause before a broken LISTEN connection is made again.
const (
	listenBackoffMin = 100 * time.Millisecond
	listenBackoffMax = 5 * time.Second
)

// closePatience bounds the farewell to a database that may not answer.
const closePatience = time.Second

// Listen calls heard for every notification on some channels until ctx ends. It has a connection of its
// own, outside the pool, and makes it again whenever it breaks. Whatever was sent meanwhile is lost, so
// after each new connection heard is called for every channel with the payload "". A notification is a
// hint: whoever listens also polls. Heard must not block.
func (s *Store) Listen(ctx context.Context, channels []string, heard func(channel, payload string)) {
	backoff := listenBackoffMin
	for ctx.Err() == nil {
		if s.listen(ctx, channels, heard) {
			backoff = listenBackoffMin
		}
		select {
		case <-ctx.Done():
		case <-time.After(backoff/2 + rand.N(backoff)):
		}
		backoff = min(2*backoff, listenBackoffMax)
	}
}

// listen works through one connection until it breaks or ctx ends, and reports whether it came to listen.
func (s *Store) listen(ctx context.Context, channels []string, heard func(channel, payload string)) bool {
	conn, err := pgx.ConnectConfig(ctx, s.pool.Config().ConnConfig)
	if err != nil {
		return false
	}
	defer closeQuietly(conn)
	for _, c := range channels {
		if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{c}.Sanitize()); err != nil {
			return false
		}
	}
	for _, c := range channels {
		heard(c, "")
	}
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return true
		}
		heard(n.Channel, n.Payload)
	}
}

// closeQuietly ends a connection that is given up: what its end says tells nobody anything.
func closeQuietly(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), closePatience)
	defer cancel()
	_ = conn.Close(ctx)
}
