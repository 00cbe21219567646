package gates

import "cmp"

// SnapshotRunningRule is the rule snapshot-running.
var SnapshotRunningRule = Rule{
	Name:   "snapshot-running",
	Kind:   Waits,
	Says:   "No node goes down while a snapshot runs, which would become a partial one, nor while it is unknown whether one runs: CrateDB lists its snapshots only after every repository has answered.",
	Do:     "Wait until the snapshot has ended: `SELECT * FROM sys.snapshots WHERE state = 'IN_PROGRESS'`. Where a repository does not answer, bring it back, or run `DROP REPOSITORY`: what is in it stays, it can be created again, and CrateDB refuses while a snapshot runs in it.",
	Source: "CrateDB manual, sys.snapshots",
}

// SnapshotRunning counts them; why is said where they are not known.
func SnapshotRunning(known bool, running int, why string) (Reason, bool) {
	switch {
	case running > 0:
		return SnapshotRunningRule.because("%d snapshot(s) are in progress", running), true
	case !known:
		return SnapshotRunningRule.because("it is unknown whether a snapshot runs: %s", cmp.Or(why, "sys.snapshots was not read yet")), true
	}
	return Reason{}, false
}
