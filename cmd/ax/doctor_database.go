package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ax-run/ax/internal/store"
	"github.com/ax-run/ax/migrations"
)

const (
	oldestPostgres = 150000
	// longTransaction is from when an open transaction keeps too many dead rows.
	longTransaction = time.Hour
	// oldIDs is from when on row ids are so old that something keeps them from being frozen; at 2,000 million the server stops.
	oldIDs = 1_000_000_000
	// Dead rows are too many when there are deadRows of them and deadTimes as many as live ones.
	deadRows, deadTimes = 20_000, 2
)

// server checks the version and settings of the server, its connections and its oldest rows.
func (d *doctor) server(ctx context.Context) ([]checkView, error) {
	f, err := d.rows.ServerFacts(ctx)
	if err != nil {
		return nil, err
	}
	version := checkView{"version", healthOK, "PostgreSQL " + f.Name, ""}
	if f.Number < oldestPostgres {
		version.State, version.Advice = healthFail, "ax needs 15 or newer"
	}
	return []checkView{version, settingsCheck(f), connectionsCheck(f), agesCheck(f)}, nil
}

func settingsCheck(f store.ServerFacts) checkView {
	c := checkView{"settings", healthOK, "durable, writable and vacuumed by itself", ""}
	var found, advice []string
	note := func(state health, what, do string) {
		if c.State != healthFail {
			c.State = state
		}
		found, advice = append(found, what), append(advice, do)
	}
	for _, s := range []struct {
		state    health
		wrong    bool
		what, do string
	}{
		{healthFail, f.Standby, "the server is a standby", "name the primary in --database-url"},
		{healthFail, f.Encoding != "UTF8", "the encoding is " + f.Encoding, "make the database anew with ENCODING 'UTF8'"},
		{healthFail, f.Settings["fsync"] == "off", "fsync is off", "set fsync = on, or what was acknowledged may be lost"},
		{healthFail, f.Settings["full_page_writes"] == "off", "full_page_writes is off", "set full_page_writes = on, or a crash may break the tables"},
		{healthFail, f.Settings["default_transaction_read_only"] == "on", "transactions are read only", "set default_transaction_read_only = off"},
		{healthWarn, f.Settings["synchronous_commit"] == "off", "synchronous_commit is off", "set it on for this database, or the results of the last moment may be lost with the server"},
		{healthWarn, f.Settings["autovacuum"] == "off", "autovacuum is off", "set autovacuum = on, or the tables grow without end"},
		{healthWarn, f.Settings["track_counts"] == "off", "track_counts is off", "set track_counts = on, without which nothing is vacuumed by itself"},
	} {
		if s.wrong {
			note(s.state, s.what, s.do)
		}
	}
	if c.State != healthOK {
		c.Found, c.Advice = strings.Join(found, "; "), strings.Join(advice, "; ")
	}
	return c
}

func connectionsCheck(f store.ServerFacts) checkView {
	c := checkView{"connections", healthOK, fmt.Sprintf("%d of %d are open", f.Connections, f.MaxConnections), ""}
	if f.Connections*10 > f.MaxConnections*8 {
		c.State, c.Advice = healthWarn, "raise max_connections, or give the programs smaller pools (pool_max_conns in --database-url)"
	}
	return c
}

func agesCheck(f store.ServerFacts) checkView {
	c := checkView{"ages", healthOK, fmt.Sprintf("the oldest row is %d transactions and %d multixacts old, the oldest transaction %s",
		f.TransactionAge, f.MultixactAge, durationText(f.Oldest)), ""}
	switch {
	case f.Oldest > longTransaction:
		c.State, c.Advice = healthWarn, fmt.Sprintf("end the transaction of backend %d: while it is open no dead row can be removed", f.OldestPID)
	case f.TransactionAge > oldIDs || f.MultixactAge > oldIDs:
		c.State, c.Advice = healthWarn, "see why autovacuum does not freeze rows (long transactions, unused replication slots), or run VACUUM (FREEZE)"
	}
	return c
}

// migrations checks that the schema is this program's.
func (d *doctor) migrations(ctx context.Context) ([]checkView, error) {
	all, err := migrations.Status(ctx, d.url)
	if err != nil {
		return nil, err
	}
	pending := 0
	for _, m := range all {
		if !m.Applied {
			pending++
		}
	}
	c := checkView{"migrations", healthOK, counted(len(all), "migration") + ", all applied", ""}
	if pending > 0 {
		c = checkView{"migrations", healthFail, fmt.Sprintf("%d of %s not applied", pending, counted(len(all), "migration")), "run `ax migrate`, or start a server, which does it too"}
	}
	return []checkView{c}, nil
}

// permissions checks what this user may do.
func (d *doctor) permissions(ctx context.Context) ([]checkView, error) {
	missing, err := d.rows.MissingGrants(ctx)
	if err != nil {
		return nil, err
	}
	c := checkView{"permissions", healthOK, "this user may do all that ax does", ""}
	if n := len(missing); n > 0 {
		const told = 3
		c.State, c.Found = healthFail, "this user lacks "+strings.Join(missing[:min(n, told)], ", ")
		if n > told {
			c.Found += fmt.Sprintf(" and %d more", n-told)
		}
		c.Advice = "make it the owner of the schemas ax and ax_river, or grant it these"
	}
	return []checkView{c}, nil
}

// clock compares this machine's clock with the database's (S37).
func (d *doctor) clock(ctx context.Context) ([]checkView, error) {
	before := d.now()
	there, err := d.rows.Now(ctx)
	if err != nil {
		return nil, err
	}
	took := d.now().Sub(before)
	ahead := before.Add(took / 2).Sub(there)
	c := checkView{"clock", healthOK, fmt.Sprintf("this machine and the database differ by %s", durationText(ahead.Abs())), ""}
	if ahead.Abs() > clockWarn+took/2 {
		c.State, c.Advice = healthWarn, "let both follow a time server; nothing is decided by this machine's clock, but logs and people go by it"
	}
	return []checkView{c}, nil
}

// tables checks whether dead rows pile up where rows come and go.
func (d *doctor) tables(ctx context.Context) ([]checkView, error) {
	all, err := d.rows.HotTables(ctx)
	if err != nil {
		return nil, err
	}
	var dead []string
	for _, t := range all {
		if t.Dead > deadRows && t.Dead > deadTimes*t.Live {
			dead = append(dead, fmt.Sprintf("%s has %d dead rows beside %d live ones", t.Table, t.Dead, t.Live))
		}
	}
	c := checkView{"bloat", healthOK, fmt.Sprintf("no dead rows pile up in %s", counted(len(all), "table")), ""}
	if len(dead) > 0 {
		c = checkView{"bloat", healthWarn, strings.Join(dead, "; "), "VACUUM them, and see whether a long transaction or a setting keeps autovacuum from it"}
	}
	return []checkView{c}, nil
}

// partitions checks that history has where to go.
func (d *doctor) partitions(ctx context.Context) ([]checkView, error) {
	missing, err := d.rows.MissingPartitions(ctx)
	if err != nil {
		return nil, err
	}
	c := checkView{"partitions", healthOK, "those of this month and the next are there", ""}
	if len(missing) > 0 {
		c = checkView{"partitions", healthWarn, strings.Join(missing, ", ") + " are missing",
			"start a server or worker whose user may create tables in schema ax: it makes them within a minute"}
	}
	return []checkView{c}, nil
}
