package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/api"
)

func TestRegisterYAMLAndJSON(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	first := as[api.Registered](b.put(ns+"/workflows/small", small).is(http.StatusCreated))
	require.Equal(t, 1, first.Version)
	require.True(t, first.Created)
	require.Len(t, first.Digest, 64)
	require.Len(t, first.Upcoming, 1)
	require.Equal(t, "yearly", first.Upcoming[0].Schedule)
	require.Equal(t, "Asia/Shanghai", first.Upcoming[0].Timezone)
	require.Len(t, first.Upcoming[0].Fires, 5)
	fire := first.Upcoming[0].Fires[0]
	require.True(t, fire.Local.Equal(fire.UTC))
	require.Equal(t, 2, fire.Local.Hour(), "as the schedule's zone tells it")
	require.Equal(t, 18, fire.UTC.Hour())

	again := as[api.Registered](b.put(ns+"/workflows/small", small).is(http.StatusOK))
	require.False(t, again.Created)
	require.Equal(t, first.Digest, again.Digest)

	json := `{"workflow": "small", "nodes": {"a": {"handler": "a"}}}`
	second := as[api.Registered](b.do(http.MethodPut, ns+"/workflows/small", "application/json", json).is(http.StatusCreated))
	require.Equal(t, 2, second.Version)
	detail := as[api.WorkflowDetail](b.get(ns + "/workflows/small").is(http.StatusOK))
	require.Equal(t, 2, detail.Version)
	require.Empty(t, detail.Schedules)
}

func TestRegisterDryRunStoresNothing(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	dry := as[api.Registered](b.put(ns+"/workflows/small?dry_run=true", small).is(http.StatusOK))
	require.True(t, dry.Created)
	require.True(t, dry.DryRun)
	require.Zero(t, dry.Version)
	require.Len(t, dry.Upcoming[0].Fires, 5)
	b.get(ns + "/workflows/small").problem(http.StatusNotFound)

	b.register("small", small)
	dry = as[api.Registered](b.put(ns+"/workflows/small?dry_run=true", small).is(http.StatusOK))
	require.False(t, dry.Created)
	require.Equal(t, 1, dry.Version)
	b.put(ns+"/workflows/small?dry_run=true", "workflow: small\nnodes: {}").problem(http.StatusUnprocessableEntity)
}

func TestRegisterPaused(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.put(ns+"/workflows/small?paused=true", small).is(http.StatusCreated)
	got := as[api.WorkflowDetail](b.get(ns + "/workflows/small"))
	require.NotNil(t, got.Paused)
	require.Equal(t, "user:local", got.Paused.By)
}

func TestRegisterTellsEveryProblemWithItsPlace(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	p := b.put(ns+"/workflows/small", `workflow: small
nodes:
  a: {handler: a, needs: [c]}
  b: {handler: b, needs: [a], timeout: -5s}
  c: {handler: c, needs: [b], retries: 3}
schedules:
  - {name: x, cron: "61 * * * *"}
`).problem(http.StatusUnprocessableEntity)
	require.Subset(t, codes(p), []string{"body.nodes.c.retries unknown_key", "body.nodes.b.timeout invalid_duration", "body.schedules[0].cron invalid_cron"})
	for _, e := range p.Errors {
		require.NotZero(t, e.Line, e)
		require.NotEmpty(t, e.Message)
		require.Equal(t, "error", e.Severity)
	}
	require.Equal(t, `did you mean "retry"?`, p.Errors[2].Hint, p.Errors)
	b.get(ns + "/workflows/small").problem(http.StatusNotFound)
}

func TestRegisterBadDocuments(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	for name, c := range map[string]struct {
		body   string
		status int
	}{
		"empty":      {"", http.StatusBadRequest},
		"binary":     {"\x00\x01\x02\xff", http.StatusBadRequest},
		"bad yaml":   {"a: [", http.StatusBadRequest},
		"bad json":   {`{"workflow": "small",`, http.StatusBadRequest},
		"a list":     {"[1, 2]", http.StatusUnprocessableEntity},
		"other code": {strings.Replace(small, "workflow: small", "workflow: other", 1), http.StatusUnprocessableEntity},
		"too large":  {"# " + strings.Repeat("x", 4<<20), http.StatusRequestEntityTooLarge},
		"10 MB":      {strings.Repeat("x", 10<<20), http.StatusRequestEntityTooLarge},
		"aliases": {"a: &a [x]\n" + strings.Repeat("b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n", 1) +
			"c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: [*d,*d,*d,*d,*d,*d,*d,*d,*d]", http.StatusUnprocessableEntity},
	} {
		t.Run(name, func(t *testing.T) {
			p := b.put(ns+"/workflows/small", c.body)
			require.Equal(t, c.status, p.status, p.text)
		})
	}
	b.put("/api/v1/namespaces/nowhere/workflows/small", small).problem(http.StatusNotFound)
	b.put(ns+"/workflows/sm%20all", small).problem(http.StatusUnprocessableEntity)
}

func TestDefinitionsComeAsYAMLOrJSON(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	path := ns + "/workflows/small?dry_run=true"
	for _, media := range []string{"", "application/yaml", "application/x-yaml; charset=utf-8", "text/yaml", "text/plain"} {
		b.do(http.MethodPut, path, media, small).is(http.StatusOK)
	}
	for _, media := range []string{"image/png", "application/x-www-form-urlencoded", "yaml", ";"} {
		require.Contains(t, b.do(http.MethodPut, path, media, small).problem(http.StatusUnsupportedMediaType).Detail, "application/yaml", media)
	}
	for encoding, status := range map[string]int{"gzip": http.StatusUnsupportedMediaType, "identity": http.StatusOK} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, b.url+path, strings.NewReader(small))
		require.NoError(t, err)
		r.Header.Set("Content-Encoding", encoding)
		b.send(r).is(status)
	}
}

// TestUnknownChildrenAreWarnedOf registers a parent before its child, which is allowed, and told of.
func TestUnknownChildrenAreWarnedOf(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	const parent = "workflow: parent\nnodes: {x: {workflow: {code: child}}, y: {needs: [x], workflow: {code: child}}}"
	for _, query := range []string{"?dry_run=true", ""} {
		got := as[api.Registered](b.put(ns+"/workflows/parent"+query, parent))
		require.Len(t, got.Warnings, 1)
		require.Equal(t, []string{"body.nodes.x.workflow", "unknown_workflow", "warning"}, []string{got.Warnings[0].Location, got.Warnings[0].Code, got.Warnings[0].Severity})
		require.NotEmpty(t, got.Warnings[0].Hint)
	}
	b.register("child", "workflow: child\nnodes: {a: {handler: h}}")
	require.Empty(t, as[api.Registered](b.put(ns+"/workflows/parent", parent).is(http.StatusOK)).Warnings)
}
