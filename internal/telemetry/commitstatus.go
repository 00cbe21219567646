package telemetry

import (
	"time"

	"stevedore.dev/stevedore/internal/record"
)

// CommitStatuses measures the queue of commit statuses (reports.Measure).
type CommitStatuses struct{ metrics *Metrics }

// CommitStatuses is the measure of commit statuses.
func (m *Metrics) CommitStatuses() CommitStatuses { return CommitStatuses{m} }

// ReportsQueued says how many statuses of a cluster, or of the sources, wait.
func (c CommitStatuses) ReportsQueued(cluster record.Cluster, length int, _ time.Time) {
	if length == 0 {
		c.metrics.statusesQueued.DeleteLabelValues(cluster.Namespace, cluster.Name)
		return
	}
	c.metrics.statusesQueued.WithLabelValues(cluster.Namespace, cluster.Name).Set(float64(length))
}

// ReportDelivery counts attempts by result.
func (c CommitStatuses) ReportDelivery(result string, count int) {
	c.metrics.statuses.WithLabelValues(result).Add(float64(count))
}
