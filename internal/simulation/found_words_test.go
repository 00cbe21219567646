package simulation

// foundWords are schedules of that million in which a report, a snapshot or a table was missing, or one too many. Each has
// ended in a violation before the decision, the judge or the world was corrected.
var foundWords = []struct {
	name string
	s    Schedule
}{
	{"spec.backups is gone, and the record is lost while tables of a drill come", Schedule{
		Seed: 6000012308, Start: Start{Hot: 2, Tables: []string{"1", "0-1", "0-all"}, Shards: 1, Extend: true, Leave: true, Driver: quickDriver, Disks: 1, Backups: true, Takes: 40000, Plan: backupPlan{Every: 2, AtLeast: 2, Delay: 20}, Replaces: true, Drills: true, Comes: 2000, Drill: 1}, Steps: 552,
		Items: []Item{{What: killNode, Call: 36, A: 15, B: 17}, {What: standStill, Call: 5, A: 28, B: 50}, {What: loseRecord, Call: 79, A: 3, B: 19}, {What: pushMoreDisks, At: 3635, B: 57}, {What: pushFewerDisks, At: 87021, A: 45, B: 17}, {What: pushUpgrade, At: 11381, A: 1, B: 12}, {What: loseRecord, At: 171817, A: 59, B: 23}, {What: pushNoBackups, Drilling: 14, A: 31, B: 9}, {What: killBefore, Drilling: 14, A: 13, B: 5}, {What: fetchCommand, At: 649412, A: 49, B: 51}},
	}},
	{"the record is lost while the store holds a restore, which fails later", Schedule{
		Seed: 6000534242, Start: Start{Hot: 2, Tables: []string{"1-all"}, Shards: 1, Leave: true, Driver: quickDriver, Swaps: true, NoRight: true, Compute: true, Backups: true, Takes: 40000, Plan: backupPlan{Every: 2, AtLeast: 2, Delay: 120, Skip: true}, Replaces: true, Drills: true, Comes: 2000, Drill: 2}, Steps: 1158,
		Items: []Item{{What: pushTemplate, At: 583, A: 6}, {What: setTransient, At: 91643, B: 19}, {What: pushUpgrade, At: 22625, A: 4, B: 57}, {What: loseRecord, Drilling: 12, A: 35, B: 2}, {What: holdStore, Drilling: 7, A: 41, B: 30}, {What: beFound, At: 236710, A: 63, B: 48}},
	}},
	{"snapshots are to go to another folder, and the newest one is in the former", Schedule{
		Seed: 6000004539, Start: Start{Hot: 2, Tables: []string{"1", "0-1", "0-all"}, Shards: 1, Extend: true, Leave: true, Backups: true, Takes: 10000, Plan: backupPlan{Every: 1, Keep: 3, AtLeast: 2, Delay: 60, Newer: 180}, Replaces: true, Drills: true, Comes: 10000, Drill: 2}, Steps: 382,
		Items: []Item{{What: pushGrow, At: 187, A: 2, B: 7}, {What: unavailable, Call: 4, A: 17, B: 37}, {What: loseRecord, Call: 15, A: 17, B: 43}, {What: loseRecord, Call: 9, B: 56}, {What: evict, At: 28414, A: 1, B: 34}, {What: denySystem, Call: 13, A: 11, B: 26}, {What: pushShrink, At: 5654, A: 41, B: 25}, {What: fetchCommand, At: 69058, A: 7, B: 20}, {What: pushSchedules, Drilling: 25, A: 55, B: 63}, {What: holdStore, Drilling: 14, A: 38, B: 32}, {What: crashProcess, Drilling: 13, A: 30, B: 41}},
	}},
}
