package simulation

// foundMillion are schedules that broke safety, pace or rest in a run of a million fresh ones from seed 6,000,000,000 on. Each has
// ended in a violation before the decision, the executor or the judge was corrected.
var foundMillion = []struct {
	name string
	s    Schedule
}{
	{"a release opens a budget, is taken back, and the watch of budgets shows it closed all the time", Schedule{
		Seed: 6000011118, Start: Start{Hot: 2, Tables: []string{}, Shards: 1, Extend: true, Leave: true, Driver: quickDriver, Swaps: true, Disks: 1, Backups: true, Takes: 10000, Plan: backupPlan{Every: 1, Second: 1, AtLeast: 1, Delay: 120, Newer: 150}, Replaces: true, Drills: true, Comes: 2000, Drill: 2, Most: 107}, Steps: 840,
		Items: []Item{{What: stallWatch, Call: 37, A: 46, B: 49}, {What: releaseCommand, Call: 42, A: 27, B: 35}, {What: pushConsent, At: 2371, A: 50, B: 7}, {What: pushMoreDisks, At: 4840, A: 60, B: 38}, {What: pushRestart, At: 13870, A: 34, B: 38}},
	}},
	{"a node is drained before its pod gets a disk back, and pods of another StatefulSet are to restart too", Schedule{
		Seed: 6000506797, Start: Start{Masters: 3, Hot: 2, Tables: []string{"0-all"}, Shards: 1, Extend: true, Leave: true, Zones: true, Driver: quickDriver, Swaps: true, Compute: true, Disks: 1, Backups: true, Takes: 120000, Plan: backupPlan{Every: 1, Second: 2, Keep: 1, AtLeast: 2, Delay: 100, Skip: true}, Replaces: true, Drills: true, Comes: 10000, Drill: 2, Most: 104}, Steps: 850,
		Items: []Item{{What: pinTable, At: 823, A: 59, B: 39}, {What: pushShrink, At: 6909, A: 1, B: 6}, {What: pushCompute, At: 10758, A: 51, B: 45}, {What: loseRecord, At: 16737, A: 4, B: 31}, {What: pushMoreDisks, At: 8171, A: 6, B: 42}, {What: pushFewerDisks, At: 139523, A: 39, B: 56}, {What: pushSuspend, Disking: 126, A: 55, B: 18}, {What: stallWatch, Disking: 8, A: 7, B: 44}, {What: pushSuspend, Disking: 24, A: 4, B: 42}, {What: pushPause, Backing: 6, A: 9, B: 25}},
	}},
}
