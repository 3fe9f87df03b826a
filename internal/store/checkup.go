package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// ServerFacts are what a database server says of itself, as far as ax depends on it.
type ServerFacts struct {
	// Number is server_version_num, Name the version as people write it.
	Number         int
	Name, Encoding string
	// Settings by name, as SHOW writes them.
	Settings map[string]string
	// Standby means that it only follows another server.
	Standby bool
	// Connections are open now, of at most MaxConnections.
	Connections, MaxConnections int
	// TransactionAge and MultixactAge are how many ids back the oldest row of the database is.
	TransactionAge, MultixactAge int64
	// Oldest is how long the longest open transaction has been open, by OldestPID; as far as this user may see it.
	Oldest    time.Duration
	OldestPID int
}

// ServerFacts reads them.
func (s *Store) ServerFacts(ctx context.Context) (f ServerFacts, err error) {
	f.Settings = make(map[string]string)
	b := &pgx.Batch{}
	b.Queue("SELECT current_setting('server_version_num')::int, current_setting('server_version'), current_setting('server_encoding'), pg_is_in_recovery()").
		QueryRow(func(r pgx.Row) error { return r.Scan(&f.Number, &f.Name, &f.Encoding, &f.Standby) })
	b.Queue(`SELECT name, current_setting(name) FROM pg_settings WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit', 'autovacuum', 'track_counts',
		'default_transaction_read_only')`).Query(func(rows pgx.Rows) error {
		var name, value string
		_, err := pgx.ForEachRow(rows, []any{&name, &value}, func() error { f.Settings[name] = value; return nil })
		return err
	})
	b.Queue(`SELECT (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'), current_setting('max_connections')::int,
			age(datfrozenxid), mxid_age(datminmxid) FROM pg_database WHERE datname = current_database()`).
		QueryRow(func(r pgx.Row) error {
			return r.Scan(&f.Connections, &f.MaxConnections, &f.TransactionAge, &f.MultixactAge)
		})
	b.Queue(`SELECT pid, (extract(epoch FROM now() - xact_start) * 1000000)::bigint FROM pg_stat_activity
		WHERE datname = current_database() AND xact_start < now() ORDER BY xact_start LIMIT 1`).Query(func(rows pgx.Rows) error {
		var us int64
		_, err := pgx.ForEachRow(rows, []any{&f.OldestPID, &us}, func() error { f.Oldest = time.Duration(us) * time.Microsecond; return nil })
		return err
	})
	if err := s.pool.SendBatch(ctx, b).Close(); err != nil {
		return f, fmt.Errorf("ask the server about itself: %w", err)
	}
	return f, nil
}

// TableHealth is how many rows of a table are live and dead, by the server's estimate.
type TableHealth struct {
	Table      string
	Live, Dead int64
	// Vacuumed is when it was last vacuumed; nil for never, or not since the statistics were reset.
	Vacuumed *time.Time
}

// HotTables tells of the tables whose rows come and go.
func (s *Store) HotTables(ctx context.Context) ([]TableHealth, error) {
	return list(ctx, s, "look at the tables", `SELECT schemaname || '.' || relname, n_live_tup, n_dead_tup, greatest(last_vacuum, last_autovacuum)
		FROM pg_stat_user_tables WHERE schemaname = 'ax_river' AND relname = 'river_job' OR schemaname = 'ax' AND relname IN
			('held', 'slots', 'runs', 'node_joins', 'run_intents', 'signals', 'workers', 'pools', 'schedules', 'completions', 'watched_runs', 'upstream_sets', 'delayed_runs')
		ORDER BY 1`, func(h *TableHealth) []any { return []any{&h.Table, &h.Live, &h.Dead, &h.Vacuumed} })
}

// MissingGrants lists what this user may not do and ax needs, as "INSERT on ax.held".
func (s *Store) MissingGrants(ctx context.Context) ([]string, error) {
	return list(ctx, s, "look at the permissions", `SELECT p.what || ' on ' || n.nspname || '.' || c.relname
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace CROSS JOIN (VALUES ('SELECT'), ('INSERT'), ('UPDATE'), ('DELETE')) p (what)
		WHERE n.nspname IN ('ax', 'ax_river') AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND NOT has_table_privilege(c.oid, p.what)
		UNION ALL SELECT 'USAGE on sequence ' || n.nspname || '.' || c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
			WHERE n.nspname IN ('ax', 'ax_river') AND CASE c.relkind WHEN 'S' THEN NOT has_sequence_privilege(c.oid, 'USAGE') END
		UNION ALL SELECT 'USAGE on schema ' || nspname FROM pg_namespace WHERE nspname IN ('ax', 'ax_river') AND NOT has_schema_privilege(oid, 'USAGE')
		UNION ALL SELECT 'CREATE on schema ' || nspname FROM pg_namespace WHERE nspname IN ('ax', 'ax_river') AND NOT has_schema_privilege(oid, 'CREATE')
		ORDER BY 1`, func(g *string) []any { return []any{g} })
}

// MissingPartitions lists the partitions of this month and the next that do not exist: their rows go to a table that cannot be dropped by age.
func (s *Store) MissingPartitions(ctx context.Context) ([]string, error) {
	return list(ctx, s, "look at the partitions", `SELECT name FROM (
			SELECT 'ax.' || parent || to_char(date_trunc('month', now() AT TIME ZONE 'UTC') + make_interval(months => ahead), '_YYYY_MM') AS name
			FROM unnest(ARRAY['node_runs', 'logs']) parent, generate_series(0, 1) ahead) t WHERE to_regclass(name) IS NULL ORDER BY 1`,
		func(n *string) []any { return []any{n} })
}

// list reads rows into a slice; what says what for.
func list[T any](ctx context.Context, s *Store, what, query string, targets func(*T) []any) ([]T, error) {
	rows, err := s.pool.Query(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	var got []T
	if err := collect(&got, targets)(rows); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return got, nil
}
