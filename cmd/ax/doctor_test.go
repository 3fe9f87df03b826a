package main

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/ax-run/ax/internal/dbtest"
	"github.com/ax-run/ax/internal/store"
)

// examined is what the doctor says of a database: the states of its checks by name, and all it says of each.
func examined(t *testing.T, url string) (states map[string]health, said map[string]string) {
	t.Helper()
	got := shell{env: map[string]string{"AX_DATABASE_URL": url}}.ax("doctor", "-o", "json")
	var view doctorView
	require.NoError(t, json.Unmarshal([]byte(got.out), &view), got.err)
	require.Equal(t, map[health]int{healthOK: exitDone, healthWarn: exitDone, healthFail: exitFailed}[view.State], got.code)
	states, said = make(map[string]health), make(map[string]string)
	for _, c := range view.Checks {
		require.Equal(t, c.State == healthOK, c.Advice == "", "%+v", c)
		states[c.Check], said[c.Check] = c.State, c.Found+": "+c.Advice
	}
	return states, said
}

// TestDoctorFindsWhatIsWrong breaks one thing after another.
func TestDoctorFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	url := dbtest.NewURL(t)
	pool, err := pgxpool.New(t.Context(), url)
	require.NoError(t, err)
	defer pool.Close()
	states, _ := examined(t, url)
	for _, check := range []string{"version", "connections", "ages", "migrations", "permissions", "clock", "schedules", "queues", "findings", "bloat", "partitions"} {
		require.Equal(t, healthOK, states[check], check)
	}
	require.Equal(t, healthWarn, states["workers"], "there is none")
	require.Equal(t, healthWarn, states["engine"], "nobody reconciles")
	const setup = `INSERT INTO ax.queues (namespace_id, name) VALUES (1, 'slow'), (1, 'off'), (1, 'lonely');
		INSERT INTO ax.workflows (namespace_id, code) VALUES (1, 'w')`
	_, err = pool.Exec(t.Context(), setup)
	require.NoError(t, err)
	for _, c := range []struct {
		check  string
		state  health
		damage string
		says   string
	}{
		{"workers", healthOK, "INSERT INTO ax.workers (incarnation, name, namespace_id, queues, kinds, capacity, lease) VALUES ('i', 'n', 1, '{}', '{}', 1, '1 hour')", "1 online"},
		{"workers", healthWarn, "INSERT INTO ax.workers (incarnation, name, namespace_id, queues, kinds, capacity, lease, beat_at) VALUES ('j', 'm', 1, '{}', '{}', 1, '1 hour', '-infinity')", "1 lost"},
		{"engine", healthOK, "INSERT INTO ax.duties VALUES ('reconcile', 'somebody', now())", "the reconciler looks"},
		{"engine", healthWarn, "UPDATE ax.duties SET due_at = now() - interval '1 hour'", "does not look"},
		{"engine", healthFail, "INSERT INTO ax.held (run_id, node, shard, generation, attempt, kind, state, queue, job_kind, priority, due_at) VALUES (1, 'a', -1, 1, 1, 'due', 'retrying', 'q1', 'go:f', 2, now() - interval '5 minutes')", "1 node run is due"},
		{"schedules", healthFail, "INSERT INTO ax.schedules (workflow_id, name, spec, anchor, next_fire_at) SELECT id, 's', '{}', now(), now() - interval '2 hours' FROM ax.workflows", "1 schedule is due and not fired, the oldest for 2h00m"},
		{"queue slow", healthWarn, `INSERT INTO ax_river.river_job (args, kind, max_attempts, queue, scheduled_at) SELECT '""', 'go:f', 1, 'q' || id, now() - interval '30 minutes' FROM ax.queues WHERE name = 'slow'`, "1 node run waits for a free place"},
		{"queue off", healthWarn, `WITH p AS (UPDATE ax.queues SET paused_at = now() WHERE name = 'off' RETURNING id) INSERT INTO ax_river.river_job (args, kind, max_attempts, queue) SELECT '""', 'go:f', 1, 'q' || id FROM p`, "it is paused, and 1 node run waits"},
		{"queue lonely", healthWarn, "INSERT INTO ax.held (run_id, node, shard, generation, attempt, kind, state, queue, job_kind, priority) SELECT 2, 'a', -1, 1, 1, 'worker', 'waiting', 'q' || id || '-7', 'go:rare', 2 FROM ax.queues WHERE name = 'lonely'", "waits for a worker that takes handler rare"},
		{"findings", healthWarn, "INSERT INTO ax.findings (kind, subject, detail, state) VALUES ('left_job', 'x', 'y', 'repaired')", "set right in the last week: left_job of x"},
		{"finding", healthFail, "INSERT INTO ax.findings (kind, subject, run_id, detail, state) VALUES ('no_deadline', '1', 1, 'it is running and has no deadline', 'open')", "ax run 0000000000002"},
		{"partitions", healthWarn, "DO $$ BEGIN EXECUTE 'DROP TABLE ax.logs_' || to_char(now() AT TIME ZONE 'UTC' + interval '1 month', 'YYYY_MM'); END $$", "ax.logs_"},
		{"migrations", healthFail, "DELETE FROM ax.goose_db_version WHERE version_id = (SELECT max(version_id) FROM ax.goose_db_version)", "run `ax migrate`"},
	} {
		_, err := pool.Exec(t.Context(), c.damage)
		require.NoError(t, err, c.damage)
		states, said := examined(t, url)
		require.Equal(t, c.state, states[c.check], "%s: %s", c.check, said[c.check])
		require.Contains(t, said[c.check], c.says)
	}
	text := shell{env: map[string]string{"AX_DATABASE_URL": url}}.ax("doctor")
	require.Equal(t, exitFailed, text.code)
	require.Contains(t, text.out, "queue lonely")
}

// TestDoctorTellsWhatAUserMayNot asks as somebody with few rights: what cannot be checked keeps nobody from the rest.
func TestDoctorTellsWhatAUserMayNot(t *testing.T) {
	t.Parallel()
	url := dbtest.NewURL(t)
	pool, err := pgxpool.New(t.Context(), url)
	require.NoError(t, err)
	defer pool.Close()
	_, err = pool.Exec(t.Context(), `DO $$ BEGIN CREATE ROLE doctor_guest; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$;
		GRANT USAGE ON SCHEMA ax, ax_river TO doctor_guest; GRANT SELECT ON ALL TABLES IN SCHEMA ax TO doctor_guest; REVOKE SELECT ON ax.findings FROM doctor_guest`)
	require.NoError(t, err)
	guest, err := pgxpool.ParseConfig(url)
	require.NoError(t, err)
	guest.ConnConfig.RuntimeParams["role"] = "doctor_guest"
	asGuest, err := pgxpool.NewWithConfig(t.Context(), guest)
	require.NoError(t, err)
	defer asGuest.Close()
	d := doctor{url: url, rows: store.New(asGuest), now: time.Now}
	states := make(map[string]health)
	said := make(map[string]string)
	for _, c := range d.examine(context.Background()).Checks {
		states[c.Check], said[c.Check] = c.State, c.Found
	}
	require.Equal(t, healthFail, states["permissions"])
	require.Contains(t, said["permissions"], "this user lacks CREATE on schema ax, CREATE on schema ax_river, DELETE on ")
	require.Equal(t, healthFail, states["findings"])
	require.Contains(t, said["findings"], "it cannot be checked")
	require.Equal(t, healthOK, states["partitions"])
}

func TestDoctorReadsTheServersSettings(t *testing.T) {
	t.Parallel()
	good := func() store.ServerFacts {
		return store.ServerFacts{Encoding: "UTF8", Settings: map[string]string{"fsync": "on", "full_page_writes": "on", "synchronous_commit": "on", "autovacuum": "on",
			"track_counts": "on", "default_transaction_read_only": "off"}, MaxConnections: 100, Connections: 10}
	}
	require.Equal(t, healthOK, settingsCheck(good()).State)
	require.Equal(t, healthOK, connectionsCheck(good()).State)
	require.Equal(t, healthOK, agesCheck(good()).State)
	for name, c := range map[string]struct {
		harm  func(*store.ServerFacts)
		check func(store.ServerFacts) checkView
		state health
	}{
		"not durable":         {func(f *store.ServerFacts) { f.Settings["fsync"] = "off" }, settingsCheck, healthFail},
		"torn pages":          {func(f *store.ServerFacts) { f.Settings["full_page_writes"] = "off" }, settingsCheck, healthFail},
		"read only":           {func(f *store.ServerFacts) { f.Settings["default_transaction_read_only"] = "on" }, settingsCheck, healthFail},
		"a standby":           {func(f *store.ServerFacts) { f.Standby = true }, settingsCheck, healthFail},
		"another encoding":    {func(f *store.ServerFacts) { f.Encoding = "LATIN1" }, settingsCheck, healthFail},
		"commits are lazy":    {func(f *store.ServerFacts) { f.Settings["synchronous_commit"] = "off" }, settingsCheck, healthWarn},
		"nothing is vacuumed": {func(f *store.ServerFacts) { f.Settings["autovacuum"] = "off" }, settingsCheck, healthWarn},
		"worst of several":    {func(f *store.ServerFacts) { f.Settings["fsync"], f.Settings["autovacuum"] = "off", "off" }, settingsCheck, healthFail},
		"crowded":             {func(f *store.ServerFacts) { f.Connections = 90 }, connectionsCheck, healthWarn},
		"a long transaction":  {func(f *store.ServerFacts) { f.Oldest = 2 * time.Hour }, agesCheck, healthWarn},
		"old multixacts":      {func(f *store.ServerFacts) { f.MultixactAge = 1_500_000_000 }, agesCheck, healthWarn},
	} {
		facts := good()
		c.harm(&facts)
		got := c.check(facts)
		require.Equal(t, c.state, got.State, name)
		require.NotEmpty(t, got.Advice, name)
	}
}

func TestDoctorWithoutADatabase(t *testing.T) {
	t.Parallel()
	sh := shell{env: map[string]string{"AX_DATABASE_URL": "postgres://nobody@127.0.0.1:1/none"}}
	got := sh.ax("doctor", "-o", "json")
	require.Equal(t, exitUnreachable, got.code)
	var view doctorView
	require.NoError(t, json.Unmarshal([]byte(got.out), &view))
	require.Equal(t, healthFail, view.State)
	require.Equal(t, "database", view.Checks[0].Check)
	shell{}.ax("doctor").fails(t, exitUsage, "no database is named")
}
