package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/api"
)

// token makes a token past the API, as the first one is.
func (b *bed) token(role api.Role, namespaces ...string) string {
	b.Helper()
	if any, err := b.store.AnyAdmin(b.Context()); role != api.Admin && err == nil && !any {
		b.token(api.Admin)
	}
	name := string(role) + strings.Join(namespaces, "-")
	made, err := api.MakeToken(b.Context(), b.store, api.TokenBody{Name: name, Role: role, Namespaces: namespaces}, "test")
	require.NoError(b, err)
	return made.Secret
}

// as calls with a token.
func (b *bed) as(token, method, path, body string) reply {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), method, b.url+path, strings.NewReader(body))
	require.NoError(b, err)
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return b.send(r)
}

func TestWithoutTokensEverybodyIsLetIn(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	me := as[api.Me](b.get("/api/v1/me"))
	require.Equal(t, api.Me{Actor: "user:local", Role: api.Admin}, me)
	b.as("ax_wrong", http.MethodGet, "/api/v1/me", "").problem(http.StatusUnauthorized)
}

func TestATokenIsShownOnceAndEndsWhenItIsDeleted(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	admin := b.token(api.Admin)
	made := as[api.NewToken](b.as(admin, http.MethodPost, "/api/v1/tokens", `{"name": "deploy", "role": "developer", "namespaces": ["default"]}`).is(http.StatusCreated))
	require.True(t, strings.HasPrefix(made.Secret, made.Prefix))
	listed := b.as(admin, http.MethodGet, "/api/v1/tokens", "").is(http.StatusOK).text
	require.Contains(t, listed, `"deploy"`)
	require.NotContains(t, listed, made.Secret)
	require.NotContains(t, b.as(admin, http.MethodGet, "/api/v1/audit", "").is(http.StatusOK).text, made.Secret)
	var stored int
	require.NoError(t, b.pool.QueryRow(t.Context(), "SELECT count(*) FROM ax.tokens t WHERE t::text LIKE '%' || $1 || '%'", made.Secret).Scan(&stored))
	require.Zero(t, stored)

	me := as[api.Me](b.as(made.Secret, http.MethodGet, "/api/v1/me", ""))
	require.Equal(t, api.Me{Actor: "token:deploy", Role: api.Developer, Namespaces: []string{"default"}}, me)
	b.as(admin, http.MethodPost, "/api/v1/tokens", `{"name": "deploy", "role": "viewer"}`).problem(http.StatusConflict)
	b.as(admin, http.MethodDelete, "/api/v1/tokens/"+itoa(made.ID), "").is(http.StatusNoContent)
	b.as(made.Secret, http.MethodGet, "/api/v1/me", "").problem(http.StatusUnauthorized)
	b.as(admin, http.MethodDelete, "/api/v1/tokens/"+itoa(made.ID), "").problem(http.StatusNotFound)
	require.Equal(t, `Bearer realm="ax"`, b.get("/api/v1/me").header.Get("WWW-Authenticate"))
}

func itoa(n int64) string {
	text, _ := json.Marshal(n)
	return string(text)
}

func TestTokensThatCannotBe(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	admin := b.token(api.Admin)
	for body, place := range map[string]string{
		`{"name": "a", "role": "king"}`:                                              "body.role",
		`{"name": "", "role": "viewer"}`:                                             "body.name",
		`{"name": "a", "role": "admin", "namespaces": ["default"]}`:                  "body.namespaces",
		`{"name": "a", "role": "viewer", "namespaces": []}`:                          "body.namespaces",
		`{"name": "a", "role": "viewer", "namespaces": ["nowhere"]}`:                 "body.namespaces",
		`{"name": "a", "role": "viewer", "expires_at": "2020-01-01T00:00:00Z"}`:      "body.expires_at",
		`{"name": "a", "role": "viewer", "expires_at": "9999-12-31T23:59:59-12:00"}`: "body.expires_at",
	} {
		p := b.as(admin, http.MethodPost, "/api/v1/tokens", body).problem(http.StatusUnprocessableEntity)
		require.Equal(t, place, p.Errors[0].Location, body)
	}
}

func TestATokenEndsAtItsTime(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	secret := b.token(api.Viewer)
	_, err := b.pool.Exec(t.Context(), "UPDATE ax.tokens SET expires_at = now() - interval '1 second'")
	require.NoError(t, err)
	b.as(secret, http.MethodGet, "/api/v1/me", "").problem(http.StatusUnauthorized)
	b.get("/api/v1/me").problem(http.StatusUnauthorized)
}

// Every operation of the document: without a token, with one of another namespace, and with one that may only read.
func TestNoOperationLetsInWhoMayNot(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.register("small", small)
	run := b.trigger("small", `{}`).ID
	_, err := b.store.AddNamespace(t.Context(), "other")
	require.NoError(t, err)
	foreign, viewer := b.token(api.Developer, "other"), b.token(api.Viewer)
	good := map[string]string{"namespace": "default", "workflow": "small", "run": run, "id": run + ":extract", "version": "1", "name": "holidays", "worker": "w", "backfill": "1"}
	before := b.world()
	for operation := range operations(t) {
		method, template, _ := strings.Cut(operation, " ")
		path := fill(template, good)
		if signsInByItself(template) {
			continue
		}
		b.as("", method, path, "{}").problem(http.StatusUnauthorized)
		if strings.HasPrefix(template, "/api/v1/namespaces/{namespace}/") {
			b.as(foreign, method, path, "{}").problem(http.StatusNotFound)
		}
		if method != http.MethodGet && !asksOnly(template) {
			b.as(viewer, method, path, "{}").problem(http.StatusForbidden)
		}
	}
	require.Equal(t, before, b.world(), "nothing was changed")
}

// signsInByItself tells the operations that workers call with tokens of their own.
func signsInByItself(template string) bool {
	return strings.Contains(template, "/executions/") || strings.HasSuffix(template, "/workers/{worker}/heartbeat") || strings.HasSuffix(template, "/workers/{worker}/poll")
}

// asksOnly tells the operations that change nothing though they have a body.
func asksOnly(template string) bool { return strings.HasSuffix(template, "/forecast") }

// world counts what could be changed.
func (b *bed) world() (count string) {
	b.Helper()
	require.NoError(b, b.pool.QueryRow(b.Context(), `SELECT concat_ws(' ', (SELECT count(*) FROM ax.runs), (SELECT count(*) FROM ax.versions), (SELECT count(*) FROM ax.run_intents),
		(SELECT count(*) FROM ax.pools), (SELECT count(*) FROM ax.calendars), (SELECT count(*) FROM ax.workflows WHERE paused_at IS NOT NULL))`).Scan(&count))
	return count
}

func TestAuditSaysWhoChangedWhat(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	admin, developer := b.token(api.Admin), b.token(api.Developer, "default")
	path := ns + "/calendars/holidays"
	b.as(developer, http.MethodPut, path, `{"dates": ["2026-12-25"]}`).is(http.StatusOK)
	b.as(developer, http.MethodPut, path, `{"dates": ["2026-12-26"]}`).is(http.StatusOK)
	b.as(developer, http.MethodPut, path, `{"dates": ["nonsense"]}`).problem(http.StatusUnprocessableEntity)
	b.as(developer, http.MethodGet, "/api/v1/audit", "").problem(http.StatusForbidden)
	records := as[api.Page[api.AuditRecord]](b.as(admin, http.MethodGet, "/api/v1/audit?operation=put-calendar&namespace=default", "")).Items
	require.Len(t, records, 3)
	refused, second, first := records[0], records[1], records[2]
	require.Equal(t, int16(http.StatusUnprocessableEntity), *refused.Status)
	require.Equal(t, "token:developerdefault", second.Actor)
	require.JSONEq(t, `{"dates": ["2026-12-26"]}`, string(second.Request))
	require.Contains(t, string(second.Before), "2026-12-25")
	require.Contains(t, string(second.After), "2026-12-26")
	require.Nil(t, first.Before)
	require.NotEmpty(t, first.RequestID)
	require.WithinDuration(t, time.Now(), first.At, time.Minute)
	require.Len(t, as[api.Page[api.AuditRecord]](b.as(admin, http.MethodGet, "/api/v1/audit?actor=token:nobody", "")).Items, 0)
	b.as(developer, http.MethodDelete, path+"?dry_run=true", "").problem(http.StatusUnprocessableEntity)
}

func TestNamespacesAreMadeByAdmins(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	admin, developer := b.token(api.Admin), b.token(api.Developer, "default")
	b.as(developer, http.MethodPut, "/api/v1/namespaces/team-b", "").problem(http.StatusNotFound)
	require.True(t, as[api.MadeNamespace](b.as(admin, http.MethodPut, "/api/v1/namespaces/team-b", "")).Created)
	require.False(t, as[api.MadeNamespace](b.as(admin, http.MethodPut, "/api/v1/namespaces/team-b", "")).Created)
	require.Len(t, as[api.Page[api.Namespace]](b.as(admin, http.MethodGet, "/api/v1/namespaces", "")).Items, 2)
	require.Len(t, as[api.Page[api.Namespace]](b.as(developer, http.MethodGet, "/api/v1/namespaces", "")).Items, 1)
	b.as(admin, http.MethodGet, "/api/v1/namespaces/team-b/workflows", "").is(http.StatusOK)
}

func TestThereIsAlwaysAnAdmin(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	p := b.post("/api/v1/tokens", `{"name": "eve", "role": "viewer"}`).problem(http.StatusUnprocessableEntity)
	require.Contains(t, p.Errors[0].Message, "the first token must be an admin's")
	first := as[api.NewToken](b.post("/api/v1/tokens", `{"name": "root", "role": "admin"}`).is(http.StatusCreated))
	place := "/api/v1/tokens/" + itoa(first.ID)
	require.Contains(t, b.as(first.Secret, http.MethodDelete, place, "").problem(http.StatusConflict).Detail, "the last token of an admin")
	second := as[api.NewToken](b.as(first.Secret, http.MethodPost, "/api/v1/tokens", `{"name": "other", "role": "admin"}`).is(http.StatusCreated))
	b.as(second.Secret, http.MethodDelete, place, "").is(http.StatusNoContent)
	b.get("/api/v1/me").problem(http.StatusUnauthorized)
}
