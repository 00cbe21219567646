package telemetry

import (
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"stevedore.dev/stevedore/internal/record"
)

// Health as crate-operator's metric counts it.
type Health int

const (
	Green Health = iota
	Yellow
	Red
	Unreachable
)

// String is the webhook's word for it.
func (h Health) String() string {
	switch h {
	case Green:
		return "GREEN"
	case Yellow:
		return "YELLOW"
	case Red:
		return "RED"
	default:
		return "UNREACHABLE"
	}
}

// seenFor is how long a health is reported after it was last seen: as
// crate-operator, so that its users' alerts on absent series keep working.
const seenFor = 300 * time.Second

// clusterMetrics are those whose value depends on the time of the scrape.
type clusterMetrics struct {
	now func() time.Time

	mu     sync.Mutex
	health map[record.Cluster]healthSeen
	queues map[record.Cluster]map[string]queueSeen // by target
	gates  map[record.Cluster]gatesSeen
	works  map[record.Cluster]Work
	looks  map[record.Cluster]time.Time
	// backups of the clusters whose definitions have some.
	backups map[record.Cluster]Backups
}

// Work is what a cluster has and what is done to it.
type Work struct {
	// Operation is its kind; "" while there is none.
	Operation string
	// Started is when the operation began; Late is true once it takes longer than its
	// limit.
	Started time.Time
	Late    bool
	Groups  []Group
}

// Group is a group of nodes.
type Group struct {
	Name string
	// Wanted are the nodes that its StatefulSet is to have now, Ready those that
	// Kubernetes calls so.
	Wanted, Ready int
}

// gatesSeen are what a cluster waits for, and what it is refused by. They are kept
// here and not in a vector of gauges, which goes through all series of the fleet to
// find the one cluster's that are over.
type gatesSeen struct{ waiting, refused []string }

type healthSeen struct {
	databaseName string
	health       Health
	at           time.Time
}

type queueSeen struct {
	length int
	oldest time.Time
}

// The labels are crate-operator's: cluster_id is the definition's
// metadata.name, cluster_name its spec.cluster.name.
var (
	crateLabels  = []string{"cluster_id", "cluster_name", "exported_namespace"}
	healthDesc   = prometheus.NewDesc("cloud_clusters_health", "0 green, 1 yellow, 2 red, 3 unreachable; absent 300 s after the last look.", crateLabels, nil)
	lastSeenDesc = prometheus.NewDesc("cloud_clusters_last_seen", "Unix time in seconds at which a cluster was last seen reachable.", crateLabels, nil)

	stateDesc = prometheus.NewDesc("stevedore_cluster_state", "1 for each gate that a cluster waits for (state waiting) or is refused by (refused).", []string{"namespace", "cluster", "state", "gate"}, nil)

	clusterLabels = []string{"namespace", "cluster"}
	groupLabels   = []string{"namespace", "cluster", "group"}
	wantedDesc    = prometheus.NewDesc("stevedore_cluster_nodes_wanted", "Nodes that a group is to have now; 0 while the cluster is suspended.", groupLabels, nil)
	readyDesc     = prometheus.NewDesc("stevedore_cluster_nodes_ready", "Nodes of a group that Kubernetes calls ready.", groupLabels, nil)
	lookedDesc    = prometheus.NewDesc("stevedore_cluster_looked_timestamp_seconds", "Unix time in seconds at which this daemon last looked at a cluster, to the end.", clusterLabels, nil)

	operationLabels = []string{"namespace", "cluster", "operation"}
	startedDesc     = prometheus.NewDesc("stevedore_operation_started_timestamp_seconds", "Unix time in seconds at which the operation that is under way began; absent while there is none.", operationLabels, nil)
	lateDesc        = prometheus.NewDesc("stevedore_operation_late", "1 once the operation that is under way has taken longer than its limit, else 0; it goes on.", operationLabels, nil)

	queueLabels     = []string{"namespace", "cluster", "target"}
	queueLengthDesc = prometheus.NewDesc("stevedore_reports_queued", "Reports that the receiver of a target has not taken yet.", queueLabels, nil)
	queueAgeDesc    = prometheus.NewDesc("stevedore_reports_oldest_age_seconds", "Age of the oldest report that the receiver has not taken; 0 when none waits.", queueLabels, nil)
)

func newClusterMetrics(now func() time.Time) *clusterMetrics {
	return &clusterMetrics{
		now: now, health: map[record.Cluster]healthSeen{}, queues: map[record.Cluster]map[string]queueSeen{}, gates: map[record.Cluster]gatesSeen{},
		works: map[record.Cluster]Work{}, looks: map[record.Cluster]time.Time{}, backups: map[record.Cluster]Backups{},
	}
}

func (c *clusterMetrics) seen(cluster record.Cluster, databaseName string, health Health, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.health[cluster] = healthSeen{databaseName, health, at}
}

// unseen drops a cluster's health, and leaves its queue.
func (c *clusterMetrics) unseen(cluster record.Cluster) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.health, cluster)
}

func (c *clusterMetrics) queued(cluster record.Cluster, target string, length int, oldest time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.queues[cluster] == nil {
		c.queues[cluster] = map[string]queueSeen{}
	}
	c.queues[cluster][target] = queueSeen{length, oldest}
}

func (c *clusterMetrics) decided(cluster record.Cluster, waiting, refused []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(waiting)+len(refused) == 0 {
		delete(c.gates, cluster)
		return
	}
	c.gates[cluster] = gatesSeen{waiting, refused}
}

func (c *clusterMetrics) working(cluster record.Cluster, work Work) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.works[cluster] = work
}

func (c *clusterMetrics) looked(cluster record.Cluster, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.looks[cluster] = at
}

func (c *clusterMetrics) forget(cluster record.Cluster) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.health, cluster)
	delete(c.queues, cluster)
	delete(c.gates, cluster)
	delete(c.works, cluster)
	delete(c.looks, cluster)
	delete(c.backups, cluster)
}

// Describe is of prometheus.Collector.
func (c *clusterMetrics) Describe(descs chan<- *prometheus.Desc) {
	all := []*prometheus.Desc{healthDesc, lastSeenDesc, queueLengthDesc, queueAgeDesc, stateDesc, wantedDesc, readyDesc, lookedDesc, startedDesc, lateDesc}
	for _, desc := range append(all, backupDescs...) {
		descs <- desc
	}
}

// Collect is of prometheus.Collector.
func (c *clusterMetrics) Collect(metrics chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		metrics <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	for cluster, seen := range c.health {
		if now.Sub(seen.at) >= seenFor {
			continue
		}
		gauge(healthDesc, float64(seen.health), cluster.Name, seen.databaseName, cluster.Namespace)
		if seen.health != Unreachable {
			gauge(lastSeenDesc, float64(seen.at.Unix()), cluster.Name, seen.databaseName, cluster.Namespace)
		}
	}
	for cluster, targets := range c.queues {
		for target, seen := range targets {
			gauge(queueLengthDesc, float64(seen.length), cluster.Namespace, cluster.Name, target)
			age := 0.0
			if seen.length > 0 {
				age = max(now.Sub(seen.oldest).Seconds(), 0)
			}
			gauge(queueAgeDesc, age, cluster.Namespace, cluster.Name, target)
		}
	}
	for cluster, work := range c.works {
		for _, group := range work.Groups {
			gauge(wantedDesc, float64(group.Wanted), cluster.Namespace, cluster.Name, group.Name)
			gauge(readyDesc, float64(group.Ready), cluster.Namespace, cluster.Name, group.Name)
		}
		if work.Operation != "" {
			gauge(startedDesc, float64(work.Started.Unix()), cluster.Namespace, cluster.Name, work.Operation)
			late := 0.0
			if work.Late {
				late = 1
			}
			gauge(lateDesc, late, cluster.Namespace, cluster.Name, work.Operation)
		}
	}
	c.collectBackups(gauge)
	for cluster, at := range c.looks {
		gauge(lookedDesc, float64(at.UnixMilli())/1000, cluster.Namespace, cluster.Name)
	}
	for cluster, seen := range c.gates {
		for state, names := range map[string][]string{"waiting": seen.waiting, "refused": seen.refused} {
			// Several reasons may be of one gate.
			for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
				gauge(stateDesc, 1, cluster.Namespace, cluster.Name, state, name)
			}
		}
	}
}
