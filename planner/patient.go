package planner

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"
)

// Bounds of the pause after a failed round.
const (
	minBackoff = 100 * time.Millisecond
	maxBackoff = 5 * time.Second
)

// patient makes a loop's round of a look that may fail while the database is away. Of several failures in a row only the first is
// told, and the first success after them; pauses between them grow.
type patient struct {
	what    string
	logger  *slog.Logger
	look    func(context.Context) (sleep time.Duration, err error)
	backoff time.Duration // 0 while it succeeds; only rounds touch it
}

func (p *patient) round(ctx context.Context) time.Duration {
	sleep, err := p.look(ctx)
	switch {
	case ctx.Err() != nil:
		return 0
	case err != nil:
		return p.failed(err)
	case p.backoff > 0:
		p.backoff = 0
		p.logger.Info(p.what + " works again")
	}
	return sleep
}

// failed returns how long to wait after a failed round.
func (p *patient) failed(err error) time.Duration {
	if p.backoff == 0 {
		p.logger.Warn(p.what+" cannot work, and keeps trying", "error", err)
	}
	p.backoff = min(max(2*p.backoff, minBackoff), maxBackoff)
	return p.backoff/2 + rand.N(p.backoff/2)
}
