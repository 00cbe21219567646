package gates

// ClusterHealthRule is the rule cluster-health.
var ClusterHealthRule = Rule{
	Name:   "cluster-health",
	Kind:   Waits,
	Says:   "From 6.0 on `sys.cluster_health` counts the shards of all tables, those that the user `system` may not see included: while it counts more missing copies than `sys.health` shows, no node goes down and none is removed. `settledYellow: proceed` lets a restart go on while it is yellow.",
	Do:     "Look as `crate`: `SELECT * FROM sys.health WHERE health <> 'GREEN'`. If tables are hidden from `system`, the rule system-denied names the statement that shows them.",
	Source: "CrateDB manual, sys.cluster_health",
}

// ClusterHealth compares what all tables lack with what those lack that are seen; why is
// said where it could not be read. Settled: a yellow is accepted.
func ClusterHealth(why, colour string, settled, hidden bool, missing, underreplicated, seenMissing, seenUnderreplicated int64) (Reason, bool) {
	switch {
	case why != "":
		return ClusterHealthRule.because("the health of the whole cluster is not known: %s", why), true
	case !hidden, colour == "yellow" && settled:
		return Reason{}, false
	}
	return ClusterHealthRule.because("the cluster is %s: of all its tables %d shards are missing and %d lack copies, and of those that the user system sees %d and %d: tables are hidden from it, or the cluster has just changed",
		colour, missing, underreplicated, seenMissing, seenUnderreplicated), true
}
