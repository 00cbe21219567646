package gates

// SnapshotRunningRule is the rule snapshot-running.
var SnapshotRunningRule = Rule{
	Name:   "snapshot-running",
	Kind:   Waits,
	Says:   "No node goes down while a snapshot runs, which would become a partial one.",
	Do:     "Wait until the snapshot has ended: `SELECT * FROM sys.snapshots WHERE state = 'IN_PROGRESS'`.",
	Source: "CrateDB manual, sys.snapshots",
}

// SnapshotRunning counts them.
func SnapshotRunning(running int) (Reason, bool) {
	if running == 0 {
		return Reason{}, false
	}
	return SnapshotRunningRule.because("%d snapshot(s) are in progress", running), true
}
