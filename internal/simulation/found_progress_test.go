package simulation

// foundInProgress are schedules in which a cluster did not come to what Git says once the faults were over, or went on too
// fast. Each has ended in a violation before the decision, or the judge, was corrected.
var foundInProgress = []struct {
	name string
	s    Schedule
}{
	{"a repository holds the restore of a copy, which cannot be fetched when it answers", Schedule{
		Seed: 3000005071, Start: Start{Hot: 1, Tables: []string{"0"}, Shards: 1, Driver: quickDriver, Swaps: true, Backups: true, Takes: 40000, Plan: backupPlan{Every: 1, Second: 0, Keep: 3, AtLeast: 1, Delay: 80, Newer: 240, Skip: true}, Replaces: true, Drills: true, Comes: 40000, Drill: 2}, Steps: 609,
		Items: []Item{{What: setPersistent, At: 31043, A: 24, B: 2}, {What: holdStore, Drilling: 11, A: 59, B: 15}, {What: fetchCommand, At: 74276, A: 25, B: 33}},
	}},
	{"the daemon is killed right after a copy was asked for, and it cannot be fetched", Schedule{
		Seed: 3000005305, Start: Start{Hot: 1, Warm: 1, Tables: []string{"0"}, Shards: 1, Extend: true, Leave: true, Backups: true, Takes: 2000, Plan: backupPlan{Every: 1, Second: 0, Keep: 0, AtLeast: 1, Delay: 20, Newer: 0, Skip: true}, Replaces: true, Drills: true, Comes: 40000, Drill: 3}, Steps: 370,
		Items: []Item{{What: stickTerminating, At: 138005, A: 19, B: 62}, {What: loseRecord, At: 79952, A: 17, B: 1}, {What: crashProcess, Backing: 13, A: 52, B: 22}, {What: fetchCommand, At: 108364, A: 59, B: 19}, {What: killBefore, Drilling: 18, A: 20, B: 6}},
	}},
	{"the answer of CrateDB to a copy is not recorded for a conflict, and the copy cannot be fetched", Schedule{
		Seed: 3000022540, Start: Start{Hot: 3, Warm: 1, Tables: []string{"0-1", "1-all", "0", "1-all"}, Shards: 2, Extend: true, Leave: true, Driver: quickDriver, Disks: 1, Backups: true, Takes: 2000, Plan: backupPlan{Every: 1, Second: 3, Keep: 1, AtLeast: 2, Delay: 80, Newer: 0, Skip: false}, Replaces: true, Drills: true, Comes: 2000, Drill: 2, Most: 101}, Steps: 584,
		Items: []Item{{What: pushMoreDisks, At: 8713, A: 37, B: 42}, {What: setPersistent, Disking: 32, A: 32, B: 55}, {What: pushShrink, At: 26822, A: 61, B: 30}, {What: releaseCommand, At: 156700, A: 13, B: 2}, {What: pushShrink, Backing: 3, A: 9, B: 50}, {What: conflict, Drilling: 14, A: 46, B: 10}, {What: fetchCommand, At: 169539, A: 62, B: 16}},
	}},
	{"the process stands still right after a copy was asked for, and it cannot be fetched", Schedule{
		Seed: 2900002640, Start: Start{Hot: 3, Tables: []string{"2", "0-1"}, Shards: 3, Extend: true, Driver: quickDriver, Swaps: true, Disks: 3, Backups: true, Takes: 10000, Plan: backupPlan{Every: 2, Second: 2, Keep: 1, AtLeast: 1, Delay: 60, Newer: 0, Skip: false}, Replaces: true, Drills: true, Comes: 2000, Drill: 3}, Steps: 898,
		Items: []Item{{What: pushSetting, At: 4301, A: 5, B: 6}, {What: pushSetting, At: 63858, A: 7, B: 5}, {What: evict, At: 68731, A: 48, B: 50}, {What: pushVolumesBack, At: 51397, A: 2, B: 12}, {What: fillDisks, At: 19444, A: 39, B: 39}, {What: deleteClaimByHand, At: 37181, A: 38, B: 43}, {What: deleteClaimByHand, At: 9586, A: 52, B: 57}, {What: pushOffline, At: 61627, A: 12, B: 2}, {What: agreeByHand, At: 24691, A: 54, B: 9}, {What: pushBoth, At: 3944, A: 37, B: 26}, {What: pushUpgrade, At: 17998, A: 10, B: 55}, {What: killBefore, Backing: 31, A: 33, B: 43}, {What: fetchCommand, At: 137237, A: 52, B: 5}, {What: standStill, Drilling: 18, A: 49, B: 4}},
	}},
}
