package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/ax-run/ax/engine"
	"github.com/ax-run/ax/internal/store"
)

// Role is what somebody may do: a viewer reads, a developer also writes inside of its namespaces, an admin does everything.
type Role string

// The roles, the weakest first.
const (
	Viewer    Role = "viewer"
	Developer Role = "developer"
	Admin     Role = "admin"
)

var ranks = map[Role]int{Viewer: 1, Developer: 2, Admin: 3}

// identity is who a request comes from and what that one may do.
type identity struct {
	actor string
	role  Role
	// namespaces are those it is for; nil is all.
	namespaces []string
}

// local is everybody while there are no tokens: the server listens on loopback only then.
var local = identity{actor: "user:local", role: Admin}

func (i identity) reaches(namespace string) bool {
	return i.namespaces == nil || slices.Contains(i.namespaces, namespace)
}

type identityKey struct{}

// who is whom a request comes from.
func who(ctx context.Context) identity {
	if i, ok := ctx.Value(identityKey{}).(identity); ok {
		return i
	}
	return local
}

// actor is who a request's changes are told of (S3).
func actor(ctx context.Context) string { return who(ctx).actor }

const (
	// roleKey is where an operation says, in its metadata, which role it takes where that does not follow from its method.
	roleKey = "role"
	// selfKey is where an operation says that its handler signs in whoever calls it.
	selfKey = "signs in by itself"
	// idleKey is where an operation says that it changes nothing, although it has a body.
	idleKey = "changes nothing"
	// ownKey is where an operation on a worker says that the worker may do it to itself.
	ownKey = "own"
)

// needing makes an operation take a role.
func needing(role Role, o huma.Operation) huma.Operation {
	return told(o, roleKey, role)
}

// proven makes an operation one of workers, who prove themselves with tokens of their own, and whose calls are no changes by anybody.
func proven(o huma.Operation) huma.Operation {
	return told(o, selfKey, true)
}

// asking makes an operation one that only asks: a viewer may, and it is no change by anybody.
func asking(o huma.Operation) huma.Operation { return told(needing(Viewer, o), idleKey, true) }

func roleOf(op *huma.Operation) Role {
	if role, ok := op.Metadata[roleKey].(Role); ok {
		return role
	}
	if op.Method == http.MethodGet {
		return Viewer
	}
	return Developer
}

// signIn lets in who may do what a request asks for. A namespace that is none of the caller's is as absent as one that does not exist.
func (a *API) signIn(ctx huma.Context, next func(huma.Context)) {
	if ctx.Operation().Metadata[selfKey] == true {
		next(ctx)
		return
	}
	me, refused := a.itself(ctx)
	if me.actor == "" && refused == nil {
		me, refused = a.identify(ctx.Context(), ctx.Header("Authorization"))
	}
	if refused == nil {
		refused = me.refuse(ctx)
	}
	if refused != nil {
		if refused.Status == http.StatusUnauthorized {
			ctx.SetHeader("WWW-Authenticate", `Bearer realm="ax"`)
		}
		a.answer(ctx, refused)
		return
	}
	next(huma.WithValue(ctx, identityKey{}, me))
}

// itself finds out whether a worker does something to itself that it may, by its own token. The identity is empty otherwise.
func (a *API) itself(ctx huma.Context) (identity, *Problem) {
	token, ok := strings.CutPrefix(ctx.Header("Authorization"), "Bearer "+engine.WorkerTokenPrefix)
	if !ok || ctx.Operation().Metadata[ownKey] != true {
		return identity{}, nil
	}
	within, cancel := context.WithTimeout(ctx.Context(), requestTime)
	defer cancel()
	namespace, err := a.namespace(within, ctx.Param("namespace"))
	if err == nil {
		proof := engine.Proof{Namespace: namespace, Token: engine.WorkerTokenPrefix + token}
		_, err = a.Remotes.ProveWorker(within, proof, ctx.Param("worker"))
	}
	if err != nil {
		return identity{}, a.problemOf(within, err)
	}
	return identity{actor: "worker:" + ctx.Param("worker"), role: Developer, namespaces: []string{ctx.Param("namespace")}}, nil
}

func (i identity) refuse(ctx huma.Context) *Problem {
	need := roleOf(ctx.Operation())
	if namespace := ctx.Param("namespace"); namespace != "" && !i.reaches(namespace) {
		return notFound("there is no namespace %.128q, or this token is not for it", namespace)
	}
	if ranks[i.role] < ranks[need] {
		return problem(http.StatusForbidden, "this takes the role %s; %s has the role %s", need, i.actor, i.role)
	}
	return nil
}

// identify finds out who signs in.
func (a *API) identify(ctx context.Context, header string) (identity, *Problem) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	if header == "" {
		needed, err := a.tokens.needed(ctx, a.Store)
		switch {
		case err != nil:
			return identity{}, a.problemOf(ctx, err)
		case needed:
			return identity{}, problem(http.StatusUnauthorized, "sign in with a token: Authorization: Bearer TOKEN; `ax tokens create` makes one")
		}
		return local, nil
	}
	kind, secret, _ := strings.Cut(header, " ")
	if !strings.EqualFold(kind, "Bearer") || secret == "" {
		return identity{}, problem(http.StatusUnauthorized, "the header Authorization must say Bearer and a token")
	}
	me, err := a.tokens.find(ctx, a.Store, strings.TrimSpace(secret))
	if errors.Is(err, store.ErrNotFound) {
		return identity{}, problem(http.StatusUnauthorized, "the token is not known, or not valid any more")
	}
	if err != nil {
		return identity{}, a.problemOf(ctx, err)
	}
	return me, nil
}

// tokenMemory is how long what was read of a token is believed: so long may one that was deleted on another server still be let in.
const tokenMemory = 5 * time.Second

// maxTokens is how many tokens are remembered at once.
const maxTokens = 10_000

// tokenCache remembers tokens that were used lately.
type tokenCache struct {
	mu    sync.Mutex
	known map[string]knownToken
	any   bool
}

type knownToken struct {
	identity
	until time.Time
}

// forget makes changes count at once on this server.
func (t *tokenCache) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.known = nil
}

// needed reports whether nobody is let in without a token. Once that is so it stays so while this server runs; until then every request
// asks, so that the first token counts at once.
func (t *tokenCache) needed(ctx context.Context, s *store.Store) (bool, error) {
	t.mu.Lock()
	any := t.any
	t.mu.Unlock()
	if any {
		return true, nil
	}
	any, err := s.AnyToken(ctx)
	if err != nil {
		return false, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.any = t.any || any
	return t.any, nil
}

func (t *tokenCache) find(ctx context.Context, s *store.Store, secret string) (identity, error) {
	t.mu.Lock()
	known, ok := t.known[secret]
	t.mu.Unlock()
	if ok && time.Now().Before(known.until) {
		return known.identity, nil
	}
	row, err := s.UseToken(ctx, secret)
	if err != nil {
		return identity{}, err
	}
	known = knownToken{identity{"token:" + row.Name, Role(row.Role), row.Namespaces}, time.Now().Add(tokenMemory)}
	if row.ExpiresAt != nil && row.ExpiresAt.Before(known.until) {
		known.until = *row.ExpiresAt
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known == nil || len(t.known) >= maxTokens {
		t.known = make(map[string]knownToken)
	}
	t.known[secret] = known
	return known.identity, nil
}
