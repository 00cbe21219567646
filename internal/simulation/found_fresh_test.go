package simulation

// foundFresh are schedules that were found in a run of fresh ones from seed 5,000,000,000 on. Each has ended in a
// violation before the decision, the judge or the world was corrected.
var foundFresh = []struct {
	name string
	s    Schedule
}{
	{"a restart gives way to a StatefulSet that is recreated for its disks, and begins anew when a node has just come back", Schedule{
		Seed: 3300001023, Start: Start{Hot: 4, Tables: []string{"0-all", "1", "1", "0"}, Shards: 2, Extend: true, Leave: true, Driver: quickDriver, Disks: 1, Backups: true, Takes: 120000, Plan: backupPlan{Every: 2, Keep: 3, AtLeast: 2, Delay: 120, Newer: 30}, Replaces: true, Drills: true, Comes: 10000, Drill: 2}, Steps: 565,
		Items: []Item{{What: pushPause, At: 81167, A: 2, B: 3}, {What: failProbe, At: 43072, A: 55, B: 37}, {What: pushMoreDisks, At: 6040, A: 35, B: 54}, {What: pushFewerDisks, At: 40047, A: 49, B: 23}, {What: pushTemplate, At: 26442, A: 48, B: 58}, {What: createTable, At: 172524, A: 41, B: 7}, {What: holdStore, At: 296131, A: 9, B: 33}},
	}},
	{"the same after a release, with a pod whose readiness probe fails", Schedule{
		Seed: 5000000849, Start: Start{Hot: 4, Shards: 1, Extend: true, Leave: true, Early: true, Driver: quickDriver, Swaps: true, Disks: 1, Backups: true, Takes: 40000, Plan: backupPlan{Every: 2, Keep: 1, AtLeast: 2, Delay: 80, Newer: 30, Skip: true}}, Steps: 674,
		Items: []Item{{What: pushRevert, At: 4676, A: 3, B: 1}, {What: pushRelease, At: 33208, A: 2, B: 2}, {What: killAfter, Call: 13, A: 9, B: 21}, {What: failProbe, At: 118231, A: 31, B: 25}, {What: pushMoreDisks, At: 3270, A: 63, B: 43}, {What: pushDisksBack, At: 11716, A: 16, B: 32}, {What: rotateKeys, At: 116198, A: 47, B: 59}},
	}},
	{"a snapshot has a table without any rows, which cannot lack any", Schedule{
		Seed: 5000007546, Start: Start{Hot: 4, Tables: []string{"0", "0-all"}, Shards: 1, Extend: true, Driver: quickDriver, Swaps: true, Backups: true, Takes: 2000, Plan: backupPlan{Every: 2, Second: 3, Keep: 1, AtLeast: 2, Delay: 40, Newer: 60, Skip: true}, Replaces: true, Drills: true, Comes: 2000, Drill: 2}, Steps: 620,
		Items: []Item{{What: pushAddGroup, At: 1198, A: 4, B: 2}, {What: standStill, Call: 31, A: 32, B: 54}, {What: pushClass, At: 14038, A: 34, B: 2}, {What: crashProcess, Backing: 21, A: 8, B: 32}, {What: fetchCommand, At: 281331, A: 14, B: 16}, {What: fetchCommand, At: 235080, A: 63, B: 26}, {What: restartDaemon, Drilling: 20, A: 34, B: 19}, {What: pushRestart, Drilling: 17, A: 28, B: 27}, {What: pushDrill, Drilling: 1, A: 26, B: 27}, {What: fetchCommand, At: 592261, A: 19, B: 39}, {What: beFound, At: 324837, A: 9, B: 8}},
	}},
}
