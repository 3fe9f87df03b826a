package api

import (
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ax-run/ax/internal/store"
)

// gaugeTime bounds what a scrape may take of the database.
const gaugeTime = 3 * time.Second

var (
	queueDepth  = desc("ax_queue_depth", "Jobs that no worker has taken yet.", "queue")
	waiting     = desc("ax_waiting", "Runs and node runs that are held back, by reason.", "reason")
	workers     = desc("ax_workers", "Worker processes.", "state")
	deadLetters = desc("ax_dead_letters", "Dead letters that nobody has resolved.")
	findings    = desc("ax_findings", "What is there that must not be and is for a person to look at (ax doctor tells it).", "kind")
	poolSlots   = desc("ax_pool_slots", "Slots of pools: how many there are, are in use, are in use by bodies that have not stopped yet, and how many nodes wait.", "pool", "kind")

	poolConnections = desc("ax_db_connections", "Connections of this process's database pool.", "state")
	poolWaits       = desc("ax_db_waits_total", "Acquisitions that found no idle connection.")
	poolWaitTime    = desc("ax_db_wait_seconds_total", "Time spent waiting for a connection.")
)

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

// gauges reads from the database what is there now, at each scrape.
type gauges struct {
	store *store.Store
	log   *slog.Logger
}

// Describe implements prometheus.Collector.
func (g *gauges) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{queueDepth, waiting, workers, deadLetters, poolSlots, findings} {
		to <- d
	}
}

// Collect implements prometheus.Collector. While the database is away the rest is served without these.
func (g *gauges) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), gaugeTime)
	defer cancel()
	now, err := g.store.Gauges(ctx)
	if err != nil {
		g.log.Warn("metrics of the database are left out", slog.Any("error", err))
		return
	}
	for queue, n := range now.QueueDepth {
		to <- gauge(queueDepth, n, queue)
	}
	held := make(map[Reason]int64)
	for kind, n := range now.Held {
		held[reasonOfHold(kind)] += n
	}
	for reason, n := range held {
		to <- gauge(waiting, n, string(reason))
	}
	for _, p := range now.Pools {
		collectPool(to, p)
	}
	for state, n := range now.Workers {
		to <- gauge(workers, n, state)
	}
	to <- gauge(waiting, now.QueuedRuns, string(QueuedMaxActive))
	to <- gauge(deadLetters, now.DeadLetters)
	for kind, n := range now.Findings {
		to <- gauge(findings, n, kind)
	}
}

// collectPool tells of one pool. Those of other namespaces than the default one are called by both names.
func collectPool(to chan<- prometheus.Metric, p store.Pool) {
	name := p.Name
	if p.NamespaceName != "default" {
		name = p.NamespaceName + "/" + p.Name
	}
	if p.Slots != nil {
		to <- gauge(poolSlots, int64(*p.Slots), name, "limit")
	}
	to <- gauge(poolSlots, int64(p.Used), name, "used")
	to <- gauge(poolSlots, int64(p.Stopping), name, "stopping")
	to <- gauge(poolSlots, int64(p.Waiting), name, "waiting")
}

// poolGauges tells of the connection pool.
type poolGauges struct{ pool *pgxpool.Pool }

// Describe implements prometheus.Collector.
func (p *poolGauges) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{poolConnections, poolWaits, poolWaitTime} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (p *poolGauges) Collect(to chan<- prometheus.Metric) {
	s := p.pool.Stat()
	to <- gauge(poolConnections, int64(s.AcquiredConns()), "used")
	to <- gauge(poolConnections, int64(s.IdleConns()), "idle")
	to <- gauge(poolConnections, int64(s.MaxConns()), "max")
	to <- prometheus.MustNewConstMetric(poolWaits, prometheus.CounterValue, float64(s.EmptyAcquireCount()))
	to <- prometheus.MustNewConstMetric(poolWaitTime, prometheus.CounterValue, s.EmptyAcquireWaitTime().Seconds())
}

func gauge(d *prometheus.Desc, n int64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n), labels...)
}
