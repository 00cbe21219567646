package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"stevedore.dev/stevedore/internal/record"
)

// Backups is what is known of a cluster's snapshots.
type Backups struct {
	// Running is true while one is being taken.
	Running bool
	// Waiting is since when one that is due waits, and Failed when the last one that did not succeed was
	// found; zero for none.
	Waiting, Failed time.Time
	// Proven is when the newest snapshot ended that a drill has proven, Drill when a drill last ended, and Restore how
	// long its restore took; zero for none.
	Proven, Drill time.Time
	Restore       time.Duration
	Schedules     []BackupSchedule
}

// BackupSchedule is one of them, or the snapshots that commands have asked for.
type BackupSchedule struct {
	Name string
	// LastSuccess is when its newest good one ended; zero for none, and where nobody is to be woken by it.
	LastSuccess time.Time
	// Snapshots counts those in the repository by state; nil where that is not known.
	Snapshots map[string]int
}

var (
	scheduleLabels  = []string{"namespace", "cluster", "schedule"}
	lastSuccessDesc = prometheus.NewDesc("stevedore_backup_last_success_timestamp_seconds", "Unix time in seconds at which the newest successful snapshot of a schedule ended; absent before the first, and for a schedule that the definition does not have.", scheduleLabels, nil)
	snapshotsDesc   = prometheus.NewDesc("stevedore_backup_snapshots", "Snapshots in the repository by schedule and state (success, partial, failed).", append(scheduleLabels, "state"), nil)
	runningDesc     = prometheus.NewDesc("stevedore_backup_running", "1 while a snapshot is being taken, else 0.", clusterLabels, nil)
	waitingDesc     = prometheus.NewDesc("stevedore_backup_waiting_since_timestamp_seconds", "Unix time in seconds since which a snapshot that is due waits; absent while none does.", clusterLabels, nil)
	provenDesc      = prometheus.NewDesc("stevedore_backup_last_proven_timestamp_seconds", "Unix time in seconds at which the newest snapshot ended of which a drill has restored and compared each table; absent before the first.", clusterLabels, nil)
	drillDesc       = prometheus.NewDesc("stevedore_backup_last_drill_timestamp_seconds", "Unix time in seconds at which a drill last ended, however it did; absent before the first.", clusterLabels, nil)
	restoreDesc     = prometheus.NewDesc("stevedore_backup_restore_seconds", "Time in seconds that the last drill which proved a snapshot took to restore its tables, once and without replicas; absent before the first.", clusterLabels, nil)
	lastFailureDesc = prometheus.NewDesc("stevedore_backup_last_failure_timestamp_seconds", "Unix time in seconds at which a snapshot last did not succeed; absent before the first.", clusterLabels, nil)
)

var backupDescs = []*prometheus.Desc{lastSuccessDesc, snapshotsDesc, runningDesc, waitingDesc, lastFailureDesc, provenDesc, drillDesc, restoreDesc}

// Backups replaces what is said of a cluster's snapshots; nil where its definition has none.
func (m *Metrics) Backups(cluster record.Cluster, backups *Backups) {
	m.clusters.mu.Lock()
	defer m.clusters.mu.Unlock()
	if backups == nil {
		delete(m.clusters.backups, cluster)
		return
	}
	m.clusters.backups[cluster] = *backups
}

// collectBackups is part of Collect, which holds the lock.
func (c *clusterMetrics) collectBackups(gauge func(desc *prometheus.Desc, value float64, labels ...string)) {
	for cluster, of := range c.backups {
		at := func(desc *prometheus.Desc, at time.Time, labels ...string) {
			if !at.IsZero() {
				gauge(desc, float64(at.UnixMilli())/1000, append([]string{cluster.Namespace, cluster.Name}, labels...)...)
			}
		}
		running := 0.0
		if of.Running {
			running = 1
		}
		gauge(runningDesc, running, cluster.Namespace, cluster.Name)
		at(waitingDesc, of.Waiting)
		at(lastFailureDesc, of.Failed)
		at(provenDesc, of.Proven)
		at(drillDesc, of.Drill)
		if of.Restore > 0 {
			gauge(restoreDesc, of.Restore.Seconds(), cluster.Namespace, cluster.Name)
		}
		for _, schedule := range of.Schedules {
			at(lastSuccessDesc, schedule.LastSuccess, schedule.Name)
			for state, count := range schedule.Snapshots {
				gauge(snapshotsDesc, float64(count), cluster.Namespace, cluster.Name, schedule.Name, state)
			}
		}
	}
}
