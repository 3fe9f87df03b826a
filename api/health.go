package api

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/ax-run/ax/internal/store"
	"github.com/ax-run/ax/migrations"
)

// readyTime bounds what a check of readiness may take.
const readyTime = 5 * time.Second

// readiness remembers that the database was found migrated: no program takes migrations back.
type readiness struct {
	mu       sync.Mutex
	migrated bool
}

// check says why requests could not be served now; "" when they can.
func (r *readiness) check(ctx context.Context, s *store.Store) string {
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	if err := s.Ping(ctx); err != nil {
		return "the database does not answer"
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.migrated {
		return ""
	}
	all, err := migrations.Status(ctx, s.Pool().Config().ConnString())
	if err != nil {
		return "the database's migrations cannot be read"
	}
	for _, m := range all {
		if !m.Applied {
			return fmt.Sprintf("the database lacks migration %d of %s; run ax migrate", m.Version, m.Set)
		}
	}
	r.migrated = true
	return ""
}

func (a *API) healthz(w http.ResponseWriter, r *http.Request) { a.plain(w, r, "ok\n") }

func (a *API) readyz(w http.ResponseWriter, r *http.Request) {
	if why := a.ready.check(r.Context(), a.Store); why != "" {
		a.refuse(w, r, notReady(why))
		return
	}
	a.plain(w, r, "ready\n")
}

func (a *API) plain(w http.ResponseWriter, r *http.Request, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if _, err := w.Write([]byte(text)); err != nil {
		a.log.DebugContext(r.Context(), "the client went before the answer", "error", err)
	}
}
