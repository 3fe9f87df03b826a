package api

import (
	"context"
	"crypto/rand"
	"errors"
	"math"
	"net/http"
	"time"

	"github.com/ax-run/ax/internal/store"
)

// Token is a right to use the API.
type Token struct {
	ID         int64      `json:"id"`
	Name       string     `json:"name"`
	Prefix     string     `json:"prefix" doc:"Its first characters, by which it is known again; the rest is not kept."`
	Role       Role       `json:"role" enum:"viewer,developer,admin"`
	Namespaces []string   `json:"namespaces,omitempty" nullable:"false" doc:"Those it is for; absent for all."`
	CreatedAt  time.Time  `json:"created_at"`
	CreatedBy  string     `json:"created_by"`
	ExpiresAt  *time.Time `json:"expires_at,omitempty"`
	LastUsedAt *time.Time `json:"last_used_at,omitempty" doc:"To the minute."`
}

// NewToken is a token as it was made: the only time that it is shown.
type NewToken struct {
	Token
	Secret string `json:"token" doc:"What to sign in with. It is shown now and never again."`
}

// TokenBody says what token to make.
type TokenBody struct {
	Name       string     `json:"name" pattern:"^[A-Za-z0-9][A-Za-z0-9._@-]{0,127}$" doc:"Whom or what it is for; changes are told of it."`
	Role       Role       `json:"role" enum:"viewer,developer,admin"`
	Namespaces []string   `json:"namespaces,omitempty" nullable:"false" maxItems:"1000" doc:"Those it is for; all when left out. An admin is for all."`
	ExpiresAt  *time.Time `json:"expires_at,omitempty" doc:"When it ends to be valid; never when left out."`
}

// Me is who a request comes from.
type Me struct {
	Actor      string   `json:"actor"`
	Role       Role     `json:"role" enum:"viewer,developer,admin"`
	Namespaces []string `json:"namespaces,omitempty" nullable:"false" doc:"Absent for all."`
}

type tokenInput struct{ Body TokenBody }

type oneToken struct {
	ID int64 `path:"id" minimum:"1"`
}

type tokenMark int64

func (a *API) tokenRoutes() {
	const place = prefix + "/tokens"
	handle(a, needing(Admin, op(http.MethodGet, place, "list-tokens", "tokens")), "List tokens", a.listTokens)
	create := told(needing(Admin, op(http.MethodPost, place, "create-token", "tokens")), secretKey, true)
	create.DefaultStatus = http.StatusCreated
	handle(a, create, "Make a token; it is shown in the answer and never again", a.createToken)
	remove := needing(Admin, op(http.MethodDelete, place+"/{id}", "delete-token", "tokens"))
	remove.DefaultStatus = http.StatusNoContent
	handle(a, remove, "Make a token invalid for good", a.deleteToken)
	handle(a, op(http.MethodGet, prefix+"/me", "get-me", "tokens"), "Tell who one is, and what one may do", a.me)
}

func (a *API) listTokens(ctx context.Context, in *PageInput) (*body[Page[Token]], error) {
	before, err := readCursor(in.Cursor, tokenMark(math.MaxInt64))
	if err != nil {
		return nil, err
	}
	rows, err := a.Store.Tokens(ctx, int64(before), in.Limit+1)
	if err != nil {
		return nil, err
	}
	return answerOf(paged(rows, in.Limit, tokenView, func(t store.Token) tokenMark { return tokenMark(t.ID) }))
}

func tokenView(t store.Token) Token {
	return Token{ID: t.ID, Name: t.Name, Prefix: t.Prefix, Role: Role(t.Role), Namespaces: t.Namespaces, CreatedAt: utc(t.CreatedAt), CreatedBy: t.CreatedBy,
		ExpiresAt: utcOr(t.ExpiresAt), LastUsedAt: utcOr(t.LastUsedAt)}
}

func (a *API) createToken(ctx context.Context, in *tokenInput) (*body[NewToken], error) {
	made, err := MakeToken(ctx, a.Store, in.Body, actor(ctx))
	a.tokens.forget()
	return answerOf(made, err)
}

// tokenPrefix begins every token, so that one that got into a text is recognised as such.
const tokenPrefix = "ax_"

// MakeToken makes a token. The first one is made without the API, for until then nobody is let in from other machines.
func MakeToken(ctx context.Context, s *store.Store, t TokenBody, by string) (NewToken, error) {
	return KeepToken(ctx, s, t, tokenPrefix+rand.Text(), by)
}

// minSecret is how many characters a token that somebody brings has at least.
const minSecret = 20

// KeepToken is MakeToken for a secret that somebody brings.
func KeepToken(ctx context.Context, s *store.Store, t TokenBody, secret, by string) (NewToken, error) {
	if len(secret) < minSecret {
		return NewToken{}, invalid("body.token", "a token has at least %d characters", minSecret)
	}
	now, err := s.Now(ctx)
	if err != nil {
		return NewToken{}, err
	}
	if err := t.check(ctx, s, now); err != nil {
		return NewToken{}, err
	}
	row := store.Token{Name: t.Name, Prefix: secret[:len(tokenPrefix)+5], Role: string(t.Role), Namespaces: t.Namespaces, CreatedAt: now, CreatedBy: by, ExpiresAt: t.ExpiresAt}
	row.ID, err = s.AddToken(ctx, row, secret)
	if errors.Is(err, store.ErrTaken) {
		return NewToken{}, conflict("there is a token %q already: delete it first, or choose another name", t.Name)
	}
	return NewToken{tokenView(row), secret}, err
}

func (t TokenBody) check(ctx context.Context, s *store.Store, now time.Time) error {
	if ranks[t.Role] == 0 {
		return invalid("body.role", "want viewer, developer or admin")
	}
	if t.Role == Admin && t.Namespaces != nil {
		return invalid("body.namespaces", "an admin is for all namespaces; leave them out, or choose another role")
	}
	if t.Namespaces != nil && len(t.Namespaces) == 0 {
		return invalid("body.namespaces", "name at least one; leave it out for all")
	}
	if any, err := s.AnyAdmin(ctx); err != nil {
		return err
	} else if !any && t.Role != Admin {
		return invalid("body.role", "the first token must be an admin's: from then on everybody needs one, and only an admin makes others")
	}
	for _, name := range t.Namespaces {
		if _, err := s.Namespace(ctx, name); errors.Is(err, store.ErrNotFound) {
			return invalid("body.namespaces", "there is no namespace %q", name)
		} else if err != nil {
			return err
		}
	}
	if t.ExpiresAt == nil {
		return nil
	}
	if !t.ExpiresAt.After(now) {
		return invalid("body.expires_at", "it is past")
	}
	return checkInstant("body.expires_at", t.ExpiresAt)
}

func (a *API) deleteToken(ctx context.Context, in *oneToken) (*struct{}, error) {
	err := a.Store.DeleteToken(ctx, in.ID)
	a.tokens.forget()
	if errors.Is(err, store.ErrLastAdmin) {
		err = conflict("it is the last token of an admin, and nobody could make others without it: make another one first")
	}
	return nil, err
}

func (a *API) me(ctx context.Context, _ *struct{}) (*body[Me], error) {
	i := who(ctx)
	return answerOf(Me{Actor: i.actor, Role: i.role, Namespaces: i.namespaces}, nil)
}
