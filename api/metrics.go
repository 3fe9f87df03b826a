package api

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/ax-run/ax/dag/progress"
	"github.com/ax-run/ax/internal/store"
	"github.com/ax-run/ax/planner"
)

// Metrics counts what movers tell it and serves it, with what the database says now, to Prometheus. Its methods are what
// the engine and the planner want of an observer; they do not block. No label has values that users can make without bound.
type Metrics struct {
	registry *prometheus.Registry

	fires       *prometheus.CounterVec
	fireDelay   prometheus.Histogram
	runs        *prometheus.CounterVec
	nodeRuns    *prometheus.CounterVec
	startDelay  prometheus.Histogram
	nodeTime    prometheus.Histogram
	batchSize   prometheus.Histogram
	batchTime   prometheus.Histogram
	clockOffset prometheus.Gauge
	found       *prometheus.CounterVec
}

// Seconds from a millisecond to a quarter of an hour, for what users wait for.
var waits = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 15, 60, 300, 900}

// NewMetrics makes the metrics of one process. What cannot be read from the database is left out and logged.
func NewMetrics(s *store.Store, log *slog.Logger) *Metrics {
	m := &Metrics{
		registry:    prometheus.NewRegistry(),
		fires:       counters("ax_fires_total", "Expected fires by what became of them.", "result"),
		fireDelay:   histogram("ax_fire_delay_seconds", "Time from when a fire was due to the commit of its run.", waits),
		runs:        counters("ax_runs_total", "Runs that ended, by state.", "state"),
		nodeRuns:    counters("ax_node_runs_total", "Attempts of node runs that ended, by what they ended as.", "state"),
		startDelay:  histogram("ax_node_start_delay_seconds", "Time from when an attempt was queued to its start.", waits),
		nodeTime:    histogram("ax_node_duration_seconds", "Time that attempts took.", append(waits, 3600, 14400)),
		batchSize:   histogram("ax_transition_batch_size", "Results moved by one commit.", prometheus.ExponentialBuckets(1, 2, 11)),
		batchTime:   histogram("ax_transition_seconds", "Time of one commit of results.", waits),
		clockOffset: prometheus.NewGauge(prometheus.GaugeOpts{Name: "ax_clock_skew_seconds", Help: "This process's clock minus the database's."}),
		found: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ax_findings_total",
			Help: "What this process found that must not be, by whether it set it right (repaired) or left it to a person (open)."}, []string{"kind", "state"}),
	}
	m.registry.MustRegister(m.fires, m.fireDelay, m.runs, m.nodeRuns, m.startDelay, m.nodeTime, m.batchSize, m.batchTime, m.clockOffset, m.found,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if s != nil {
		m.registry.MustRegister(&gauges{store: s, log: log}, &poolGauges{pool: s.Pool()})
	}
	return m
}

func counters(name, help, label string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
}

func histogram(name, help string, buckets []float64) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
}

// Fired tells of a row of the ledger, as the planner's Observe does.
func (m *Metrics) Fired(o planner.Observed) {
	m.fires.WithLabelValues(string(o.Result)).Add(float64(o.Count))
	if o.Result == store.Fired {
		m.fireDelay.Observe(o.Delay.Seconds())
	}
}

// RunEnded tells of a run's end.
func (m *Metrics) RunEnded(s progress.State) { m.runs.WithLabelValues(string(s)).Inc() }

// NodeRunStarted tells how long an attempt was queued.
func (m *Metrics) NodeRunStarted(waited time.Duration) { m.startDelay.Observe(waited.Seconds()) }

// NodeRunEnded tells of an attempt's end and how long it took.
func (m *Metrics) NodeRunEnded(s progress.State, took time.Duration) {
	m.nodeRuns.WithLabelValues(string(s)).Inc()
	m.nodeTime.Observe(took.Seconds())
}

// Transition tells of one commit of results.
func (m *Metrics) Transition(size int, took time.Duration) {
	m.batchSize.Observe(float64(size))
	m.batchTime.Observe(took.Seconds())
}

// Found tells of something that must not be, and whether it was set right.
func (m *Metrics) Found(kind string, repaired bool) {
	state := store.FindingOpen
	if repaired {
		state = store.FindingRepaired
	}
	m.found.WithLabelValues(kind, string(state)).Inc()
}

// ClockSkew tells how far this process's clock is ahead of the database's (S37).
func (m *Metrics) ClockSkew(ahead time.Duration) { m.clockOffset.Set(ahead.Seconds()) }

// handler serves the metrics.
func (m *Metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}
