// Package telemetry lets others watch the daemon: Prometheus metrics with a
// registry of its own, and the HTTP server for them, liveness and readiness.
package telemetry

import (
	"net/http"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"stevedore.dev/stevedore/internal/record"
)

// Build says what runs.
type Build struct{ Version, Revision string }

// Metrics are all of the daemon's, in a registry of their own. Its methods
// return at once and may be called by several goroutines.
type Metrics struct {
	registry *prometheus.Registry

	sourceLooks    *prometheus.CounterVec
	sourceLook     *prometheus.HistogramVec
	sourceSuccess  *prometheus.GaugeVec
	sourceFailed   *prometheus.GaugeVec
	render         prometheus.Histogram
	renderProblems *prometheus.GaugeVec
	decisions      *prometheus.CounterVec
	applies        *prometheus.CounterVec
	actions        *prometheus.CounterVec
	statements     *prometheus.CounterVec
	reconcile      *prometheus.HistogramVec
	deliveries     *prometheus.CounterVec
	statuses       *prometheus.CounterVec
	statusesQueued *prometheus.GaugeVec
	eventsDropped  prometheus.Counter
	pushes         *prometheus.CounterVec
	leader         prometheus.Gauge

	clusters *clusterMetrics
}

// NewMetrics makes them. Now nil: time.Now.
func NewMetrics(build Build, now func() time.Time) *Metrics {
	if now == nil {
		now = time.Now
	}
	m := &Metrics{registry: prometheus.NewRegistry(), clusters: newClusterMetrics(now)}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		vec := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "stevedore_" + name, Help: help}, labels)
		m.registry.MustRegister(vec)
		return vec
	}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		vec := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "stevedore_" + name, Help: help}, labels)
		m.registry.MustRegister(vec)
		return vec
	}
	// From a cached look (1 ms) to a bootstrap's slow exec (minutes).
	buckets := []float64{.001, .005, .02, .1, .5, 2, 10, 60, 300}
	histogram := func(name, help string, labels ...string) *prometheus.HistogramVec {
		vec := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "stevedore_" + name, Help: help, Buckets: buckets}, labels)
		m.registry.MustRegister(vec)
		return vec
	}
	m.sourceLooks = counter("source_looks_total", "Looks at a source, by result: ok or error.", "source", "result")
	m.sourceLook = histogram("source_look_duration_seconds", "Duration of a look at a source, a fetch included.", "source")
	m.sourceSuccess = gauge("source_last_success_timestamp_seconds", "When the last look at a source succeeded.", "source")
	m.sourceFailed = gauge("source_failed", "1 while looks at a source fail, with the reason.", "source", "reason")
	m.render = histogram("render_duration_seconds", "Duration of rendering one snapshot.").WithLabelValues().(prometheus.Histogram)
	m.renderProblems = gauge("render_problems", "Problems found in a source's last snapshot.", "source")
	m.decisions = counter("decisions_total", "Decisions by outcome (done, act, wait, refuse) and the first gate or refusal named.", "outcome", "gate")
	m.applies = counter("applies_total", "Objects looked at by apply, by result (in-sync, applied, pruned, failed).", "result")
	m.actions = counter("actions_total", "Actions carried out, by kind and result: ok or error.", "action", "result")
	m.statements = counter("database_statements_total", "Statements sent to the nodes of a cluster, logins not counted.", "namespace", "cluster")
	m.reconcile = histogram("reconcile_duration_seconds", "Duration of one turn of a cluster, by its outcome.", "outcome")
	m.deliveries = counter("reports_deliveries_total", "Deliveries of reports by target and result: delivered, unanswered, failed (5xx, 408, 429), rejected (other 4xx, redirects), coalesced (never sent as such).", "target", "result")
	m.statuses = counter("commit_statuses_total", "Attempts to post a commit status by result: delivered, unanswered, failed (5xx, 408, limits), rejected (other 4xx, redirects), coalesced (given up, too many waited).", "result")
	m.statusesQueued = gauge("commit_statuses_queued", "Commit statuses that the repository's server has not taken yet.", "namespace", "cluster")
	m.eventsDropped = counter("events_dropped_total", "Kubernetes events that were not written.").WithLabelValues()
	m.pushes = counter("pushes_total", "Requests to the receiver of pushes, by result.", "result")
	m.leader = gauge("leader", "1 while this process holds the lease.").WithLabelValues()
	info := gauge("build_info", "1; what runs is in the labels.", "version", "revision", "go_version")
	info.WithLabelValues(build.Version, build.Revision, runtime.Version()).Set(1)
	m.registry.MustRegister(m.clusters, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Handler serves the metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		Registry: m.registry, MaxRequestsInFlight: 4, Timeout: limits.collect, EnableOpenMetrics: true,
	})
}

// Gatherer for tests and for who serves the metrics in another way.
func (m *Metrics) Gatherer() prometheus.Gatherer { return m.registry }

// SourceLooked counts a look; source is its identity, which has no credentials.
func (m *Metrics) SourceLooked(source string, took time.Duration, at time.Time, err error) {
	m.sourceLooks.WithLabelValues(source, okOrError(err)).Inc()
	m.sourceLook.WithLabelValues(source).Observe(took.Seconds())
	if err == nil {
		m.sourceSuccess.WithLabelValues(source).Set(float64(at.UnixMilli()) / 1000)
	}
}

// SourceFailed says why looks at a source fail; "" that they do not.
func (m *Metrics) SourceFailed(source, reason string) {
	m.sourceFailed.DeletePartialMatch(prometheus.Labels{"source": source})
	if reason != "" {
		m.sourceFailed.WithLabelValues(source, reason).Set(1)
	}
}

// PushReceived counts a request to the receiver of pushes, by what became of it.
func (m *Metrics) PushReceived(result string) { m.pushes.WithLabelValues(result).Inc() }

// Rendered counts a build and says how many problems it has.
func (m *Metrics) Rendered(source string, took time.Duration, problems int) {
	m.render.Observe(took.Seconds())
	m.renderProblems.WithLabelValues(source).Set(float64(problems))
}

// Decided counts a decision and replaces what is said of the cluster's state:
// the names of the gates it waits for and of those that refuse.
func (m *Metrics) Decided(cluster record.Cluster, outcome string, waiting, refused []string) {
	gate := ""
	switch {
	case len(refused) > 0:
		gate = refused[0]
	case len(waiting) > 0:
		gate = waiting[0]
	}
	m.decisions.WithLabelValues(outcome, gate).Inc()
	m.clusters.decided(cluster, waiting, refused)
}

// StatementSent counts one statement more for a cluster each time it is called.
func (m *Metrics) StatementSent(cluster record.Cluster) func() {
	return m.statements.WithLabelValues(cluster.Namespace, cluster.Name).Inc
}

// Applied counts objects by what apply did with them.
func (m *Metrics) Applied(result string, objects int) {
	m.applies.WithLabelValues(result).Add(float64(objects))
}

// Acted counts an action of a decision.
func (m *Metrics) Acted(kind string, err error) {
	m.actions.WithLabelValues(kind, okOrError(err)).Inc()
}

// Reconciled measures one turn of a cluster.
func (m *Metrics) Reconciled(outcome string, took time.Duration) {
	m.reconcile.WithLabelValues(outcome).Observe(took.Seconds())
}

// Leading says whether this process holds the lease.
func (m *Metrics) Leading(leads bool) {
	if leads {
		m.leader.Set(1)
	} else {
		m.leader.Set(0)
	}
}

// EventDropped counts a Kubernetes event that was not written.
func (m *Metrics) EventDropped() { m.eventsDropped.Inc() }

// Target measures the queue of one target of reports (reports.Measure).
type Target struct {
	metrics *Metrics
	name    string
}

// Target is the measure of a target by its name.
func (m *Metrics) Target(name string) Target {
	for _, result := range []string{"delivered", "unanswered", "failed", "rejected", "coalesced"} {
		m.deliveries.WithLabelValues(name, result) // 0, and not absent, until there is one
	}
	return Target{m, name}
}

// ReportsQueued says how many reports of a cluster wait, and since when the oldest does.
func (t Target) ReportsQueued(cluster record.Cluster, length int, oldest time.Time) {
	t.metrics.clusters.queued(cluster, t.name, length, oldest)
}

// ReportDelivery counts attempts by result.
func (t Target) ReportDelivery(result string, count int) {
	t.metrics.deliveries.WithLabelValues(t.name, result).Add(float64(count))
}

// Health of a cluster at a time; databaseName is spec.cluster.name.
func (m *Metrics) Health(cluster record.Cluster, databaseName string, health Health, at time.Time) {
	m.clusters.seen(cluster, databaseName, health, at)
}

// Working says what a cluster has and what is done to it.
func (m *Metrics) Working(cluster record.Cluster, work Work) { m.clusters.working(cluster, work) }

// Looked says when a cluster was looked at to the end.
func (m *Metrics) Looked(cluster record.Cluster, at time.Time) { m.clusters.looked(cluster, at) }

// Suspended drops the health of a cluster that is suspended: it has none, and
// nobody is to be woken by it.
func (m *Metrics) Suspended(cluster record.Cluster) { m.clusters.unseen(cluster) }

// Forget drops every series of a cluster that is no longer kept.
func (m *Metrics) Forget(cluster record.Cluster) {
	m.clusters.forget(cluster)
	m.statements.DeleteLabelValues(cluster.Namespace, cluster.Name)
}

// ForgetSource drops every series of a source that is no longer followed.
func (m *Metrics) ForgetSource(source string) {
	labels := prometheus.Labels{"source": source}
	m.sourceLooks.DeletePartialMatch(labels)
	m.sourceLook.DeletePartialMatch(labels)
	m.sourceSuccess.DeletePartialMatch(labels)
	m.sourceFailed.DeletePartialMatch(labels)
	m.renderProblems.DeletePartialMatch(labels)
}

func okOrError(err error) string {
	if err != nil {
		return "error"
	}
	return "ok"
}
