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
	{"a pod vanishes of the same group as one that lacks a disk, and comes back by itself", Schedule{
		Seed: 5000011010, Start: Start{Masters: 3, Hot: 2, Warm: 1, Tables: []string{"1"}, Shards: 1, Driver: quickDriver, Swaps: true, Compute: true, Disks: 1, Backups: true, Takes: 2000, Plan: backupPlan{Every: 1, AtLeast: 1, Delay: 40}}, Steps: 710,
		Items: []Item{{What: pushUpgrade, At: 4116}, {What: standStill, Call: 34, A: 53, B: 17}, {What: replaceCommand, At: 49681, A: 54, B: 61}, {What: pushConsent, At: 6314, A: 56, B: 38}, {What: pushSmaller, At: 27833, A: 30, B: 29}, {What: stickTerminating, At: 50062, A: 3, B: 15}, {What: abortCommand, Replacing: 7, A: 1, B: 17}, {What: pushCompute, At: 18261, A: 2, B: 44}, {What: crashProcess, At: 23951, A: 56, B: 3}, {What: pushMoreDisks, At: 2760, A: 37, B: 27}, {What: stallCollector, Disking: 109, A: 24, B: 30}, {What: pushRestart, At: 3734, A: 55, B: 1}, {What: loseVolume, At: 38937, A: 5, B: 25}, {What: loseAnswer, At: 143584, A: 14, B: 59}, {What: holdStore, Backing: 3, A: 58, B: 20}},
	}},
	{"somebody adds a node that never starts, and a snapshot that has waited for long begins", Schedule{
		Seed: 4100006134, Start: Start{Hot: 3, Tables: []string{"0-1", "0-1", "0-1", "0-1"}, Shards: 3, Leave: true, Driver: quickDriver, Compute: true, Disks: 1, Backups: true, Takes: 10000, Plan: backupPlan{Every: 1, Second: 2, Keep: 2, AtLeast: 2, Delay: 60, Skip: true}}, Steps: 477,
		Items: []Item{{What: pushRelease, At: 3143, A: 3, B: 1}, {What: pushCompute, At: 2346, A: 51, B: 12}, {What: pushBadTemplate, At: 6459, A: 48, B: 56}, {What: pushRelease, At: 7239, A: 10, B: 20}, {What: scaleUpByHand, At: 14269, A: 34, B: 43}, {What: pushUpgrade, At: 5566, A: 41, B: 39}, {What: pushPause, Backing: 27, A: 52, B: 34}},
	}},
	{"a table is to be replaced once more, and what is kept of it is denied to system", Schedule{
		Seed: 5000058581, Start: Start{Hot: 1, Tables: []string{"0-1", "0-1", "0-1"}, Shards: 1, Leave: true, Zones: true, Driver: quickDriver, Swaps: true, Backups: true, Takes: 2000, Plan: backupPlan{Every: 2, Second: 3, Keep: 1, AtLeast: 1, Delay: 100, Newer: 120, Skip: true}, Replaces: true, Drills: true, Comes: 40000, Drill: 1}, Steps: 601,
		Items: []Item{{What: pushClass, At: 27118, A: 17, B: 56}, {What: denySystem, At: 284610, A: 17, B: 10}, {What: fetchCommand, Drilling: 29, A: 2, B: 19}, {What: fetchCommand, At: 315487, A: 19, B: 39}},
	}},
	{"a pod that has just lost its master is evicted before the disruption controller has seen that", Schedule{
		Seed: 5000086875, Start: Start{Hot: 1, Warm: 1, Tables: []string{"1", "1"}, Shards: 3, Zones: true, Driver: silentDriver, Offline: true, Swaps: true, Backups: true, Takes: 10000, Plan: backupPlan{Every: 1, AtLeast: 2, Delay: 100, Newer: 30}}, Steps: 550,
		Items: []Item{{What: pushRestart, At: 4935, A: 1, B: 3}, {What: stickTerminating, Call: 36, A: 13, B: 27}, {What: pushVolumes, At: 7737, A: 32, B: 1}},
	}},
	{"somebody adds a node that Git wants as well, right before a pod goes, and a table has a copy on each node", Schedule{
		Seed: 5000028211, Start: Start{Hot: 3, Tables: []string{"0", "1-all"}, Shards: 1, Extend: true, Zones: true, Driver: quickDriver, Compute: true, Disks: 1}, Steps: 318,
		Items: []Item{{What: pushUpgrade, At: 3854, A: 5, B: 1}, {What: createTable, Call: 9, A: 40, B: 43}, {What: pushMoreDisks, At: 4143, A: 16, B: 42}, {What: scaleUpByHand, Disking: 64, A: 22, B: 20}},
	}},
	{"another pod vanishes while the one that is to come back without a disk is on a dead machine", Schedule{
		Seed: 5000068531, Start: Start{Masters: 3, Hot: 2, Tables: []string{"0-1", "0-1"}, Shards: 1, Extend: true, Leave: true, Driver: quickDriver, Swaps: true, NoRight: true, Compute: true, Disks: 2, Backups: true, Takes: 40000, Plan: backupPlan{Every: 2, Second: 3, Keep: 2, AtLeast: 2, Delay: 20, Newer: 180, Skip: true}, Replaces: true, Drills: true, Comes: 40000}, Steps: 871,
		Items: []Item{{What: killNode, Call: 31, A: 45, B: 34}, {What: pushConsent, At: 712, A: 1, B: 10}, {What: pushFewerDisks, At: 3160, A: 30, B: 37}, {What: deletePodByHand, Disking: 35, A: 52, B: 53}},
	}},
	{"somebody's StatefulSet has the name of ours while disks are removed, and the record is lost", Schedule{
		Seed: 5000054486, Start: Start{Hot: 3, Tables: []string{"1", "1"}, Shards: 1, Leave: true, Driver: limitedDriver, Swaps: true, Compute: true, Disks: 2, Backups: true, Takes: 40000, Plan: backupPlan{Every: 2, Second: 3, AtLeast: 1, Delay: 60, Newer: 90, Skip: true}, Replaces: true, Drills: true, Comes: 2000, Drill: 3}, Steps: 917,
		Items: []Item{{What: pushVolumes, At: 9664, A: 2, B: 48}, {What: makeSetByHand, Recreating: 10, A: 30, B: 60}, {What: loseRecord, Recreating: 9, A: 22, B: 18}, {What: stickTerminating, At: 21754, A: 51, B: 35}, {What: pushFewerDisks, At: 4974, A: 39, B: 16}},
	}},
	{"somebody's StatefulSet has the name of ours while disks are removed, and the daemon was killed", Schedule{
		Seed: 5000089304, Start: Start{Masters: 3, Hot: 2, Warm: 1, Tables: []string{"0-1", "0"}, Shards: 1, Extend: true, Driver: quickDriver, Offline: true, Swaps: true, Disks: 2, Backups: true, Takes: 2000, Plan: backupPlan{Every: 2, Second: 3, AtLeast: 2, Delay: 120, Newer: 150, Skip: true}}, Steps: 748,
		Items: []Item{{What: pushSuspend, At: 2520, A: 3}, {What: loseVolume, Call: 18, A: 17, B: 60}, {What: pushVolumes, At: 10242, A: 23, B: 48}, {What: loseRecord, Recreating: 4, A: 20, B: 27}, {What: makeSetByHand, Recreating: 12, A: 62, B: 40}, {What: killBefore, Recreating: 20, A: 61, B: 50}, {What: killNode, Recreating: 16, A: 1, B: 28}, {What: pushConsent, At: 3479, A: 23, B: 5}, {What: pushFewerDisks, At: 7814, A: 12, B: 55}, {What: pushMoreDisks, At: 42530, A: 45, B: 6}, {What: pushGrow, At: 6192, A: 47, B: 48}, {What: pushTemplate, Backing: 30, A: 8, B: 43}, {What: pushRevert, Backing: 29, A: 14, B: 22}, {What: crashProcess, Backing: 38, A: 11, B: 4}},
	}},
	{"the last look keeps a pod that is to come back without a disk, for a table is being restored", Schedule{
		Seed: 5000171229, Start: Start{Masters: 3, Hot: 2, Tables: []string{"1", "1-all", "1", "0-all"}, Shards: 3, Leave: true, Zones: true, Driver: quickDriver, Swaps: true, Disks: 2, Backups: true, Takes: 10000, Plan: backupPlan{Every: 1, Keep: 1, AtLeast: 1, Delay: 20, Newer: 60, Skip: true}, Replaces: true, Drills: true, Comes: 40000, Drill: 3}, Steps: 803,
		Items: []Item{{What: standStill, Call: 21, A: 40, B: 3}, {What: killAfter, Call: 37, A: 63, B: 38}, {What: loseRecord, Call: 5, A: 1, B: 14}, {What: abortCommand, At: 76318, A: 41, B: 63}, {What: pushConsent, At: 1276, A: 5, B: 35}, {What: pushClass, At: 30124, A: 17, B: 57}, {What: pushGrow, At: 62365, A: 58, B: 51}, {What: pushFewerDisks, At: 3305, A: 12, B: 46}, {What: pushDisksBack, At: 14691, A: 16, B: 48}, {What: pushFewerDisks, At: 154539, A: 26, B: 10}, {What: pushGrow, At: 17441, A: 11, B: 41}, {What: fetchCommand, At: 81937, A: 14, B: 49}, {What: fetchCommand, At: 69379, A: 53, B: 34}, {What: beFound, At: 87471, A: 35, B: 28}},
	}},
	{"a volume is lost right before two tables exchange their names", Schedule{
		Seed: 5000147680, Start: Start{Hot: 2, Tables: []string{"0", "0-all"}, Shards: 2, Leave: true, Driver: quickDriver, Compute: true, Backups: true, Takes: 2000, Plan: backupPlan{Every: 1, Keep: 1, AtLeast: 2, Delay: 80, Newer: 180, Skip: true}, Replaces: true, Drills: true, Comes: 40000, Drill: 1}, Steps: 390,
		Items: []Item{{What: setTransient, At: 82136, A: 15, B: 5}, {What: loseVolume, At: 137339, A: 17, B: 29}, {What: pushRestart, At: 19917, A: 21, B: 10}, {What: abortCommand, At: 25533, A: 8, B: 32}, {What: pushShrink, At: 11258, A: 4, B: 2}, {What: pushSchedules, Backing: 5, A: 6, B: 11}, {What: pushSchedules, Backing: 9, A: 29, B: 39}, {What: fetchCommand, At: 112152, A: 31, B: 26}, {What: pushSchedules, Drilling: 23, A: 34, B: 16}, {What: fetchCommand, At: 124388, A: 47, B: 13}},
	}},
	{"somebody adds the first node that was ever away, right before a pod goes", Schedule{
		Seed: 5000207126, Start: Start{Hot: 4, Tables: []string{"1", "2"}, Shards: 1, Leave: true, Driver: quickDriver, Compute: true, Disks: 1, Backups: true, Takes: 2000, Plan: backupPlan{Every: 1, Second: 1, AtLeast: 2, Delay: 60}, Replaces: true, Drills: true, Comes: 2000, Drill: 3, Most: 30}, Steps: 628,
		Items: []Item{{What: pushRestart, At: 4235, A: 2, B: 1}, {What: pushTemplate, At: 35238}, {What: standStill, Call: 9, A: 42, B: 55}, {What: pushGrow, At: 24242, A: 13, B: 9}, {What: scaleUpByHand, Backing: 16, A: 46, B: 51}},
	}},
	{"the record of a drill is lost that the store holds up, and spec.backups is gone", Schedule{
		Seed: 5000111834, Start: Start{Hot: 2, Tables: []string{"1"}, Shards: 1, Backups: true, Takes: 120000, Plan: backupPlan{Every: 2, Keep: 2, AtLeast: 2, Delay: 120, Newer: 150}, Replaces: true, Drills: true, Comes: 10000, Adopted: true, Drill: 3}, Steps: 368,
		Items: []Item{{What: pushShrink, At: 175, A: 4, B: 2}, {What: replaceCommand, At: 77573, A: 62, B: 12}, {What: pushNoBackups, Drilling: 12, A: 21, B: 42}, {What: holdStore, Drilling: 9, A: 48, B: 46}, {What: loseRecord, Drilling: 26, A: 7, B: 21}, {What: pushBadTemplate, At: 28902, A: 14}, {What: fetchCommand, At: 377398, A: 37, B: 62}},
	}},
	{"a table is to be restored that is there and denied to system", Schedule{
		Seed: 5000186067, Start: Start{Hot: 1, Tables: []string{"0-1"}, Shards: 1, Extend: true, Leave: true, Driver: quickDriver, Swaps: true, Backups: true, Takes: 10000, Plan: backupPlan{Every: 2, AtLeast: 2, Delay: 20, Skip: true}, Replaces: true, Drills: true, Comes: 40000}, Steps: 616,
		Items: []Item{{What: createTable, At: 115859, A: 59, B: 43}, {What: denySystem, At: 154040, A: 61, B: 30}, {What: createTable, Drilling: 15, A: 6, B: 43}, {What: fetchCommand, At: 230318, A: 27, B: 15}, {What: fetchCommand, At: 121697, A: 60, B: 35}},
	}},
	{"another node with a copy dies in the moment in which one leaves its zone with it", Schedule{
		Seed: 5000242535, Start: Start{Masters: 3, Hot: 3, Warm: 1, Tables: []string{"2", "1", "0-1"}, Shards: 2, Aware: true, Driver: slowDriver, Offline: true, Compute: true}, Steps: 185,
		Items: []Item{{What: pushGrow, At: 28670, A: 7}, {What: pushBadTemplate, At: 38157, A: 3, B: 3}, {What: crashProcess, Call: 39, A: 22, B: 29}, {What: snapshot, Call: 7, A: 21, B: 22}, {What: pushVolumes, At: 10586, A: 4, B: 14}, {What: pushRelease, At: 13456, A: 24, B: 39}, {What: pushShrink, At: 37345, A: 52, B: 54}, {What: pushShrink, At: 39049, A: 2, B: 7}, {What: pushShrink, At: 130751, A: 2, B: 3}},
	}},
	{"a release is taken back while the watch of StatefulSets shows nothing of what was written", Schedule{
		Seed: 5000259634, Start: Start{Hot: 3, Tables: []string{"0-1", "0-1", "0-all"}, Shards: 2, Leave: true, Driver: quickDriver, Offline: true, Swaps: true, Compute: true, Disks: 2, Backups: true, Takes: 40000, Plan: backupPlan{Every: 2, Keep: 1, AtLeast: 1, Delay: 20}}, Steps: 769,
		Items: []Item{{What: releaseCommand, Call: 93, A: 1, B: 51}, {What: restartDaemon, Call: 19, A: 35, B: 22}, {What: pushVolumes, At: 11586, A: 20, B: 49}, {What: loseVolume, At: 50972, A: 59}, {What: deleteClaimByHand, At: 3399, A: 58, B: 24}, {What: pushMoreDisks, At: 5880, A: 37, B: 56}, {What: stallWatch, Disking: 96, B: 48}},
	}},
	{"the record is lost while a StatefulSet is gone of which one of three voters is away", Schedule{
		Seed: 5000264115, Start: Start{Hot: 3, Warm: 1, Tables: []string{}, Shards: 1, Leave: true, Driver: quickDriver, Swaps: true, Compute: true, Disks: 1, Backups: true, Takes: 10000, Plan: backupPlan{Every: 1, AtLeast: 2, Delay: 80, Newer: 60, Skip: true}, Replaces: true, Drills: true, Comes: 90000, Drill: 2, Most: 77}, Steps: 876,
		Items: []Item{{What: restartDaemon, Call: 30, A: 48, B: 21}, {What: pushConsent, At: 6264, A: 14, B: 51}, {What: pushCompute, At: 19538, A: 39, B: 49}, {What: scaleUpByHand, At: 27680, A: 63, B: 44}, {What: loseRecord, At: 52654, B: 31}, {What: pushMoreDisks, At: 4363, A: 60, B: 56}, {What: deletePodByHand, Disking: 92, A: 62, B: 44}, {What: killAfter, Disking: 114, A: 34, B: 12}, {What: pushShrink, At: 13859, A: 33, B: 9}, {What: pushRevert, At: 42103, A: 45, B: 10}},
	}},
	{"a watch does not show for long that a pod has gone which comes back without a disk", Schedule{
		Seed: 5000269188, Start: Start{Hot: 2, Warm: 1, Tables: []string{}, Shards: 1, Leave: true, Zones: true, Driver: quickDriver, Compute: true, Disks: 3}, Steps: 856,
		Items: []Item{{What: stallWatch, Call: 36, A: 1, B: 42}, {What: pushFewerDisks, At: 108, A: 30}, {What: deletePodByHand, Disking: 119, A: 50, B: 16}},
	}},
	{"the cluster is paused while the controller has not seen that the template has the disk again", Schedule{
		Seed: 5000288744, Start: Start{Hot: 3, Tables: []string{}, Shards: 1, Leave: true, Driver: quickDriver, Disks: 2, Backups: true, Takes: 10000, Plan: backupPlan{Every: 2, Keep: 1, AtLeast: 1, Delay: 100, Skip: true}, Replaces: true, Drills: true, Comes: 10000, Drill: 2}, Steps: 1068,
		Items: []Item{{What: pushPause, At: 16760, A: 7, B: 4}, {What: stallController, Call: 15, A: 14, B: 48}, {What: pushFewerDisks, At: 876, A: 15, B: 16}},
	}},
	{"another version is pushed while a cluster is made that keeps copies in different zones", Schedule{
		Seed: 5000195660, Start: Start{Masters: 3, Hot: 4, Warm: 2, Tables: []string{"2"}, Shards: 1, Extend: true, Leave: true, Aware: true, Early: true, Driver: quickDriver, Compute: true}, Steps: 126,
		Items: []Item{{What: pushUpgrade, At: 659, A: 3, B: 2}},
	}},
	{"an upgrade of a cluster in zones, and a volume is lost", Schedule{
		Seed: 5000034886, Start: Start{Hot: 4, Warm: 1, Tables: []string{"2", "1"}, Shards: 3, Extend: true, Zones: true, Aware: true, Backups: true, Takes: 40000, Plan: backupPlan{Every: 2, Keep: 1, AtLeast: 1, Delay: 120}, Adopted: true}, Steps: 217,
		Items: []Item{{What: excludeByName, Call: 16, A: 27, B: 4}, {What: pushUpgrade, At: 27838, A: 42, B: 44}, {What: loseVolume, Backing: 4, A: 21, B: 24}},
	}},
	{"an upgrade begins after another snapshot, and the nodes run the version already", Schedule{
		Seed: 5000022645, Start: Start{Hot: 3, Tables: []string{"2", "1-all", "0"}, Shards: 3, Leave: true, Driver: quickDriver, Disks: 2, Backups: true, Takes: 10000, Plan: backupPlan{Every: 1, Second: 1, Keep: 1, AtLeast: 1, Delay: 40, Skip: true}, Replaces: true, Drills: true, Comes: 40000, Drill: 2, Most: 26}, Steps: 566,
		Items: []Item{{What: pushSuspend, At: 49314, A: 6, B: 1}, {What: standStill, Call: 15, A: 14, B: 46}, {What: restartDaemon, Call: 2, A: 31, B: 47}, {What: killBefore, Call: 23, A: 35, B: 63}, {What: pushFewerDisks, At: 1763, A: 7, B: 61}, {What: pushDisksBack, At: 88587, A: 32, B: 61}, {What: deletePodByHand, Disking: 180, A: 51, B: 54}, {What: setTransient, Disking: 86, A: 53, B: 59}, {What: pushUpgrade, At: 27214, A: 51, B: 52}, {What: pushSchedules, Backing: 5, A: 20, B: 63}, {What: drainNode, Backing: 19, A: 60, B: 44}, {What: fetchCommand, At: 93551, A: 8, B: 4}, {What: fetchCommand, At: 625311, A: 4, B: 35}},
	}},
	{"a node that somebody has added has a shard of a table that came, and dies while the other one is awaited", Schedule{
		Seed: 3900005622, Start: Start{Hot: 2, Tables: []string{"0", "1", "0-all"}, Shards: 1, Second: true, Zones: true, Driver: quickDriver, Compute: true, Backups: true, Takes: 10000, Plan: backupPlan{Every: 1, Keep: 2, AtLeast: 2, Delay: 60, Newer: 210}, Replaces: true, Drills: true, Comes: 2000, Adopted: true, Drill: 2}, Steps: 399,
		Items: []Item{{What: pushGrow, At: 4283, A: 6}, {What: cutDatabase, At: 16491, A: 37, B: 58}, {What: crashProcess, At: 137438, A: 4, B: 58}, {What: scaleUpByHand, At: 52865, A: 36, B: 51}, {What: pushGrow, At: 12181, A: 1, B: 26}, {What: killAfter, Backing: 30, A: 53, B: 7}, {What: fetchCommand, At: 115952, A: 63, B: 61}, {What: abortCommand, Drilling: 21, A: 15, B: 43}, {What: beFound, Call: 36, A: 34, B: 24}},
	}},
	{"the record is lost before an upgrade, and the repository is asked for as the desired version would have it", Schedule{
		Seed: 5000375223, Start: Start{Hot: 1, Tables: []string{"0-1", "0-1", "0-1", "0-1"}, Shards: 3, Leave: true, Zones: true, Driver: quickDriver, Compute: true, Backups: true, Takes: 10000, Plan: backupPlan{Every: 1, Second: 1, Keep: 1, AtLeast: 1, Delay: 80, Newer: 90}, Replaces: true, Drills: true, Comes: 10000, Adopted: true, Drill: 2}, Steps: 415,
		Items: []Item{{What: pushPause, At: 2345, A: 3, B: 5}, {What: pushUpgrade, At: 100012, A: 7, B: 2}, {What: pushCompute, At: 5045, A: 40, B: 15}, {What: deletePodByHand, At: 13259, A: 29, B: 34}, {What: pushGrow, At: 14637, A: 21, B: 40}, {What: loseRecord, At: 6485, A: 57, B: 34}},
	}},
	{"a group is taken back and pushed again while the cluster is released, and nothing of it was made", Schedule{
		Seed: 5000375705, Start: Start{Hot: 3, Tables: []string{"0-1", "1-all", "1-all", "1"}, Shards: 1, Extend: true, Leave: true, Driver: quickDriver, Swaps: true, Compute: true, Disks: 2}, Steps: 554,
		Items: []Item{{What: pushSetting, At: 3040, A: 5, B: 1}, {What: pushAddGroup, At: 23199, A: 6}, {What: pushRelease, At: 25836, B: 7}, {What: killAfter, Call: 33, B: 23}, {What: killAfter, Call: 30, A: 27, B: 34}, {What: pushRemoveGroup, At: 40804, A: 46, B: 19}, {What: pushRevert, At: 126089, A: 8, B: 37}, {What: pushFewerDisks, At: 141, A: 9, B: 60}, {What: pushMoreDisks, At: 6762, A: 47, B: 44}},
	}},
	{"the record is lost while the only pod that may become master is stuck on the template before", Schedule{
		Seed: 5000034009, Start: Start{Masters: 1, Hot: 1, Tables: []string{}, Shards: 1, Leave: true, Driver: roundingDriver, Compute: true, Backups: true, Takes: 10000, Plan: backupPlan{Every: 1, Keep: 1, AtLeast: 2, Delay: 60}, Replaces: true, Drills: true, Comes: 40000, Adopted: true}, Steps: 459,
		Items: []Item{{What: stallController, Call: 73, A: 47, B: 62}, {What: pushVolumes, At: 17412, A: 6, B: 46}, {What: pushCompute, At: 10028, A: 20, B: 4}, {What: pushUpgrade, At: 27647, A: 19, B: 55}, {What: loseRecord, Backing: 12, A: 34, B: 27}, {What: pushBadTemplate, At: 4542, A: 8, B: 11}},
	}},
	{"the same, in the middle of a restart", Schedule{
		Seed: 5000265754, Start: Start{Hot: 1, Warm: 1, Tables: []string{}, Shards: 1, Extend: true, Leave: true, Zones: true, Driver: quickDriver, Compute: true, Backups: true, Takes: 2000, Plan: backupPlan{Every: 1, Keep: 1, AtLeast: 1, Delay: 60, Newer: 90}, Replaces: true, Drills: true, Comes: 10000, Adopted: true, Drill: 3}, Steps: 418,
		Items: []Item{{What: pushBadTemplate, At: 3680, A: 4, B: 5}, {What: loseRecord, Call: 26, A: 44, B: 44}, {What: stickTerminating, Call: 3, A: 1, B: 35}, {What: pushTemplate, At: 8751, A: 36, B: 8}},
	}},
	{"a definition is refused while the template does without disks for a pod, and then all nodes are to stop", Schedule{
		Seed: 5200027001, Start: Start{Hot: 2, Tables: []string{}, Shards: 1, Extend: true, Leave: true, Driver: roundingDriver, Disks: 3}, Steps: 337,
		Items: []Item{{What: pushSetting, At: 4196, A: 4, B: 5}, {What: stallWatch, Call: 34, A: 19, B: 37}, {What: pushSuspend, At: 41104, A: 51, B: 34}, {What: pushShrink, At: 27845, A: 11, B: 29}, {What: pushFewerDisks, At: 3331, A: 55, B: 53}},
	}},
	{"a StatefulSet has no disk for a moment whose claims are to be replaced", Schedule{
		Seed: 5300008772, Start: Start{Hot: 3, Tables: []string{"0", "0-all", "1-all"}, Shards: 1, Leave: true, Driver: quickDriver, Swaps: true, Compute: true, Disks: 1, Backups: true, Takes: 120000, Plan: backupPlan{Every: 2, Keep: 2, AtLeast: 1, Delay: 20, Skip: true}, Replaces: true, Drills: true, Comes: 2000, Drill: 3}, Steps: 1486,
		Items: []Item{{What: pushShrink, At: 4303, A: 1}, {What: pushRevert, At: 44369, A: 2, B: 1}, {What: pushConsent, At: 2643, A: 43, B: 48}, {What: pushClass, At: 27565, A: 5, B: 2}, {What: pushCompute, At: 18582, A: 27, B: 57}, {What: pushMoreDisks, At: 4405, A: 23, B: 40}, {What: loseVolume, Disking: 191, A: 23, B: 9}, {What: standStill, Disking: 29, A: 13, B: 27}, {What: pushGrow, At: 9781, A: 42, B: 55}},
	}},
	{"a claim waits for a volume, and its pod was scaled away", Schedule{
		Seed: 5200006438, Start: Start{Hot: 3, Tables: []string{}, Shards: 1, Extend: true, Zones: true, Driver: limitedDriver, Compute: true, Disks: 2, Backups: true, Takes: 10000, Plan: backupPlan{Every: 2, Keep: 2, AtLeast: 1, Delay: 120, Newer: 180}, Replaces: true, Drills: true, Comes: 90000, Drill: 2}, Steps: 671,
		Items: []Item{{What: pushGrow, At: 2431, A: 4, B: 4}, {What: killNode, Call: 6, A: 59, B: 19}, {What: pushVolumes, At: 10974, A: 44, B: 51}, {What: pushShrink, At: 6986, A: 28, B: 4}},
	}},
	{"a pause comes in the middle of a restart, and the group of another StatefulSet leaves", Schedule{
		Seed: 5000315572, Start: Start{Hot: 3, Warm: 1, Tables: []string{"0-all", "1"}, Shards: 2, Leave: true, Driver: quickDriver, Disks: 2}, Steps: 283,
		Items: []Item{{What: pushRevert, At: 1149, A: 7, B: 5}, {What: pushPause, At: 27803, A: 3, B: 2}, {What: killBefore, Call: 62, A: 23, B: 63}, {What: pushFewerDisks, At: 3952, A: 18, B: 54}, {What: pushRemoveGroup, Disking: 127, A: 59, B: 54}, {What: pushBadTemplate, Disking: 40, A: 31, B: 13}},
	}},
	{"a group leaves while its pod is on a template that cannot run, and a suspension ends", Schedule{
		Seed: 5100015412, Start: Start{Hot: 3, Warm: 1, Tables: []string{"1-all", "1", "0-1", "1"}, Shards: 1, Extend: true, Leave: true, Driver: quickDriver, Offline: true, Swaps: true, Compute: true, Backups: true, Takes: 40000, Plan: backupPlan{Every: 2, Keep: 2, AtLeast: 1, Delay: 100, Newer: 150}, Replaces: true, Drills: true, Comes: 2000}, Steps: 727,
		Items: []Item{{What: pushSuspend, At: 1689, A: 1, B: 2}, {What: pushGrow, At: 43016, A: 3, B: 5}, {What: pushBadTemplate, At: 62911, A: 1, B: 1}, {What: killNode, Call: 29, A: 33, B: 61}, {What: pushVolumes, At: 16217, A: 27, B: 56}, {What: pushSmaller, At: 30711, A: 29, B: 30}, {What: pushRemoveGroup, At: 80624, A: 39, B: 49}, {What: pushRestart, At: 18958, A: 54, B: 26}},
	}},
	{"the record of a drill is lost, and a table that was replaced is kept", Schedule{
		Seed: 5200004944, Start: Start{Hot: 3, Tables: []string{"0-1", "0-1", "0-all"}, Shards: 2, Extend: true, Driver: quickDriver, Offline: true, Swaps: true, Compute: true, Disks: 1, Backups: true, Takes: 120000, Plan: backupPlan{Every: 1, Keep: 2, AtLeast: 2, Delay: 20}, Replaces: true, Drills: true, Comes: 2000, Drill: 1, Most: 78}, Steps: 905,
		Items: []Item{{What: pushSuspend, At: 3795, A: 6, B: 3}, {What: pushRelease, At: 23329, A: 4, B: 6}, {What: pinTable, At: 68912, A: 20, B: 8}, {What: loseRecord, At: 31541, A: 39, B: 44}, {What: pushShrink, At: 30450, A: 56, B: 30}, {What: pushConsent, At: 1560, A: 9, B: 56}, {What: pushClass, At: 9636, A: 6, B: 38}, {What: pushCompute, At: 6763, A: 4, B: 58}, {What: loseVolume, At: 8670, A: 62, B: 62}, {What: killAfter, At: 13477, A: 9, B: 59}, {What: pushMoreDisks, At: 6271, A: 43, B: 11}, {What: pushRelease, At: 50685, A: 52, B: 28}, {What: loseRecord, At: 156861, A: 4, B: 47}, {What: deleteClaimByHand, Disking: 62, A: 13, B: 20}, {What: pushFewerDisks, Disking: 90, A: 61, B: 19}, {What: pushUpgrade, At: 25128, A: 58, B: 50}, {What: fetchCommand, At: 114417, A: 10, B: 34}},
	}},
	{"the record is lost while the StatefulSet of a group is gone, and its pod goes with its claim", Schedule{
		Seed: 5300051467, Start: Start{Masters: 3, Hot: 2, Warm: 1, Tables: []string{"1-all", "0-all", "0-1", "1"}, Shards: 3, Extend: true, Leave: true, Zones: true, Driver: roundingDriver, Compute: true, Disks: 1, Backups: true, Takes: 2000, Plan: backupPlan{Every: 2, AtLeast: 1, Delay: 100, Newer: 240}, Replaces: true, Drills: true, Comes: 2000, Drill: 1, Most: 27}, Steps: 679,
		Items: []Item{{What: pushRemoveGroup, At: 60190, A: 6, B: 7}, {What: loseRecord, Call: 31, A: 49, B: 25}, {What: pushVolumes, At: 10992, A: 61, B: 12}, {What: deleteClaimByHand, At: 56787, A: 18, B: 47}, {What: killAfter, At: 6028, A: 48, B: 47}, {What: pushMoreDisks, At: 3274, A: 35, B: 56}, {What: loseRecord, At: 162213, A: 20, B: 56}, {What: makeSetByHand, Disking: 69, A: 40, B: 36}},
	}},
	{"the record is lost while a StatefulSet is gone, and somebody makes that StatefulSet", Schedule{
		Seed: 5300123277, Start: Start{Hot: 3, Warm: 1, Tables: []string{"0-all"}, Shards: 2, Zones: true, Driver: roundingDriver, Compute: true, Disks: 2, Backups: true, Takes: 10000, Plan: backupPlan{Every: 1, Keep: 1, AtLeast: 2, Delay: 100, Newer: 120, Skip: true}}, Steps: 534,
		Items: []Item{{What: pushRevert, At: 4872, A: 4, B: 4}, {What: loseRecord, Call: 13, A: 60, B: 59}, {What: excludeByID, At: 89111, A: 28, B: 47}, {What: waitForAll, At: 100591, A: 47, B: 3}, {What: pushVolumes, At: 13316, A: 20, B: 12}, {What: deletePodByHand, Recreating: 11, A: 5, B: 38}, {What: makeSetByHand, Recreating: 17, A: 57, B: 39}, {What: dropResize, At: 26346, A: 11, B: 28}, {What: unavailable, At: 21268, A: 50, B: 47}, {What: pushMoreDisks, At: 5603, A: 13, B: 48}, {What: stallWatch, At: 54126, A: 63, B: 62}, {What: standStill, At: 115309, A: 19, B: 37}, {What: timeoutAfter, At: 42791, A: 8, B: 48}, {What: releaseCommand, Disking: 32, A: 8, B: 50}, {What: pushGrow, At: 2814, A: 42, B: 14}, {What: holdStore, At: 139890, A: 62, B: 23}, {What: excludeByID, At: 36510, A: 44, B: 54}, {What: scaleUpByHand, At: 150524, A: 42, B: 2}, {What: pushSuspend, Backing: 4, A: 52, B: 32}},
	}},
	{"a resume has started voters that answer and have no master, and another version is desired", Schedule{
		Seed: 5000198116, Start: Start{Masters: 3, Hot: 1, Tables: []string{}, Shards: 1, Leave: true, Zones: true, Driver: quickDriver, Swaps: true, Compute: true, Disks: 1, Backups: true, Takes: 10000, Plan: backupPlan{Every: 2, Second: 1, Keep: 1, AtLeast: 2, Delay: 60, Newer: 180}, Replaces: true, Drills: true, Comes: 2000, Drill: 1}, Steps: 915,
		Items: []Item{{What: pushBadTemplate, At: 1990, A: 6, B: 2}, {What: pushSuspend, At: 56896, A: 7, B: 7}, {What: deleteClaimByHand, At: 4127, A: 37, B: 12}, {What: loseRecord, At: 60255, A: 60, B: 24}, {What: pushUpgrade, At: 167680, A: 53, B: 1}, {What: fetchCommand, At: 512643, A: 37, B: 10}},
	}},
	{"a replacement of volumes is taken back for a growth, and a pod has still to start", Schedule{
		Seed: 5400007156, Start: Start{Hot: 10, Tables: []string{"0-1"}, Shards: 1, Leave: true, Driver: quickDriver, Swaps: true, Backups: true, Takes: 2000, Plan: backupPlan{Every: 1, AtLeast: 2, Delay: 80, Newer: 30}, Replaces: true, Drills: true, Comes: 90000, Drill: 1}, Steps: 604,
		Items: []Item{{What: pushBadTemplate, At: 3935, B: 7}, {What: pushConsent, At: 3240, A: 34, B: 36}, {What: pushClass, At: 20648, A: 30, B: 22}, {What: pushClass, Replacing: 61, A: 31, B: 28}, {What: pushRelease, Replacing: 119, A: 30, B: 23}, {What: fetchCommand, At: 455441, A: 37, B: 1}},
	}},
	{"a group is made on a template that cannot run, and the cluster is suspended and resumed", Schedule{
		Seed: 5400012363, Start: Start{Hot: 2, Tables: []string{"1", "1", "1"}, Shards: 2, Extend: true, Leave: true, Driver: quickDriver, Compute: true, Backups: true, Takes: 40000, Plan: backupPlan{Every: 1, Keep: 2, AtLeast: 1, Delay: 80}}, Steps: 269,
		Items: []Item{{What: pushAddGroup, At: 802, A: 6, B: 2}, {What: pushBadTemplate, At: 5639, A: 5, B: 6}, {What: pushSuspend, At: 25633, A: 6, B: 4}, {What: pushCompute, At: 11603, A: 56}, {What: crashProcess, At: 20715, A: 7, B: 30}, {What: pushUpgrade, At: 28479, A: 13, B: 44}, {What: snapshot, Backing: 6, A: 49, B: 27}, {What: beFound, At: 126298, A: 26, B: 35}},
	}},
	{"the name of a table that stayed, and became whole, is another table's by now", Schedule{
		Seed: 5400006818, Start: Start{Hot: 10, Warm: 2, Tables: []string{"1"}, Shards: 2, Extend: true, Driver: quickDriver, Swaps: true, Backups: true, Takes: 40000, Plan: backupPlan{Every: 1, Keep: 2, AtLeast: 1, Delay: 120}, Replaces: true, Drills: true, Comes: 90000}, Steps: 616,
		Items: []Item{{What: pushShrink, At: 1348}, {What: pushAddGroup, At: 37297, A: 6}, {What: filterTable, Call: 19, A: 46, B: 60}, {What: conflict, Call: 14, A: 51, B: 54}, {What: stickTerminating, At: 80658, A: 63, B: 10}, {What: denySystem, Call: 28, A: 38}, {What: denySystem, At: 104195, A: 27, B: 15}, {What: noExec, Call: 15, A: 46, B: 30}, {What: pushConsent, At: 4260, A: 21, B: 36}, {What: pushClass, At: 29067, A: 43, B: 22}, {What: cutDatabase, At: 208532, A: 10, B: 43}, {What: pushRestart, At: 8064, A: 15, B: 7}, {What: crashProcess, Backing: 13, A: 31, B: 36}, {What: pushRemoveGroup, Backing: 34, A: 17, B: 19}, {What: unreadView, Backing: 12, A: 57, B: 30}, {What: fetchCommand, At: 60315, A: 26, B: 19}, {What: fetchCommand, At: 81219, A: 35, B: 20}, {What: fetchCommand, At: 228065, A: 36, B: 47}, {What: killNode, At: 123050, A: 4, B: 6}, {What: holdStore, Drilling: 16, A: 4, B: 36}, {What: crashProcess, Drilling: 24, A: 62, B: 40}, {What: fetchCommand, Drilling: 28, A: 1, B: 60}, {What: fetchCommand, At: 79178, A: 54, B: 47}, {What: fetchCommand, At: 325747, A: 21, B: 54}, {What: fetchCommand, At: 242804, A: 56, B: 13}, {What: fetchCommand, At: 166646, A: 5, B: 17}, {What: fetchCommand, At: 226430, A: 9, B: 43}, {What: fetchCommand, At: 256771, A: 58, B: 57}, {What: beFound, At: 221325, A: 7, B: 13}},
	}},
	{"the record is lost twice after a setting was recorded, and before it was set", Schedule{
		Seed: 5400001325, Start: Start{Masters: 3, Hot: 2, Tables: []string{"0-all", "1", "0"}, Shards: 1, Extend: true, Leave: true, Zones: true, Driver: quickDriver, Compute: true, Backups: true, Takes: 40000, Plan: backupPlan{Every: 2, Second: 1, Keep: 1, AtLeast: 1, Delay: 20}, Replaces: true, Drills: true, Comes: 10000, Adopted: true}, Steps: 430,
		Items: []Item{{What: pushSetting, At: 1787, A: 4, B: 6}, {What: pushSuspend, At: 8140, A: 5, B: 7}, {What: loseVolume, Call: 31, A: 47, B: 20}, {What: pushCompute, At: 1707, A: 15, B: 14}, {What: deletePodByHand, At: 10352, A: 40, B: 17}, {What: loseRecord, Backing: 39, A: 32, B: 60}, {What: loseRecord, Backing: 17, A: 14, B: 41}, {What: loseRecord, At: 1825, A: 46, B: 40}, {What: pushSetting, At: 14960, A: 36, B: 57}, {What: fetchCommand, At: 704994, A: 31, B: 48}},
	}},
	{"a table is lost, dropped and not written to since, and a drill tries what is left of it", Schedule{
		Seed: 5500002552, Start: Start{Masters: 3, Hot: 2, Tables: []string{"0-1"}, Shards: 2, Extend: true, Leave: true, Zones: true, Driver: quickDriver, Swaps: true, Backups: true, Takes: 40000, Plan: backupPlan{Every: 2, Keep: 1, AtLeast: 1, Delay: 20}, Replaces: true, Drills: true, Comes: 40000, Drill: 1}, Steps: 634,
		Items: []Item{{What: pushShrink, At: 566, A: 5, B: 5}, {What: stallController, Call: 3, A: 11, B: 18}, {What: killNode, At: 121792, A: 14, B: 1}, {What: abortCommand, At: 103907, A: 22, B: 23}, {What: pinTable, At: 12438, A: 16, B: 15}, {What: pinTable, At: 32825, A: 27, B: 59}, {What: pushConsent, At: 9104, A: 55, B: 55}, {What: pushClass, At: 20195, A: 17, B: 61}, {What: loseRecord, Replacing: 7, A: 62, B: 61}, {What: pushGrow, At: 28734, A: 46, B: 25}, {What: backupCommand, Backing: 21, A: 35, B: 11}, {What: pushRestart, Backing: 2, A: 34, B: 37}, {What: fetchCommand, At: 207049, A: 29, B: 6}, {What: fetchCommand, At: 272255, A: 31, B: 40}, {What: fetchCommand, At: 225361, A: 18, B: 24}, {What: abortCommand, At: 178718, A: 53, B: 25}, {What: denySystem, Drilling: 11, A: 54, B: 25}, {What: pushTemplate, Drilling: 9, A: 62, B: 50}, {What: unavailable, Drilling: 8, A: 37, B: 5}, {What: fetchCommand, At: 255990, A: 36, B: 36}, {What: fetchCommand, At: 174931, A: 20, B: 43}, {What: fetchCommand, At: 646650, A: 7, B: 62}},
	}},
	{"a disk comes back while all nodes are to stop, and another storage class is desired", Schedule{
		Seed: 5300080193, Start: Start{Hot: 4, Tables: []string{}, Shards: 1, Extend: true, Leave: true, Driver: quickDriver, Swaps: true, NoRight: true, Compute: true, Disks: 1, Backups: true, Takes: 120000, Plan: backupPlan{Every: 2, Keep: 1, AtLeast: 2, Delay: 100, Skip: true}, Replaces: true, Drills: true, Comes: 90000, Drill: 2, Most: 33}, Steps: 840,
		Items: []Item{{What: killNode, Call: 26, A: 19, B: 55}, {What: pushClass, At: 22080, A: 40, B: 62}, {What: pushCompute, At: 13673, A: 35, B: 48}, {What: pushSuspend, At: 21686, A: 59, B: 43}, {What: loseVolume, At: 17974, A: 40, B: 23}, {What: pushMoreDisks, At: 2550, A: 33, B: 17}, {What: fetchCommand, At: 452193, A: 13, B: 12}},
	}},
	{"the same after a release, and the consent was lost with the record", Schedule{
		Seed: 5000114284, Start: Start{Hot: 3, Tables: []string{}, Shards: 1, Extend: true, Leave: true, Zones: true, Driver: quickDriver, Swaps: true, Disks: 1, Backups: true, Takes: 40000, Plan: backupPlan{Every: 2, AtLeast: 2, Delay: 80}}, Steps: 659,
		Items: []Item{{What: pushRelease, At: 517, A: 7, B: 2}, {What: pushRelease, At: 9965, A: 1}, {What: scaleUpByHand, At: 113279, A: 22, B: 4}, {What: pushConsent, At: 1878, A: 5, B: 43}, {What: pushClass, At: 13994, A: 20, B: 12}, {What: loseRecord, Replacing: 100, A: 2, B: 19}, {What: pushMoreDisks, At: 4228, A: 61, B: 14}, {What: pushRelease, At: 23346, A: 24, B: 2}},
	}},
	{"nodes come, the quorum is lost while a pod is stuck, and the correction is of another version", Schedule{
		Seed: 5300046321, Start: Start{Masters: 3, Hot: 2, Tables: []string{"1", "1"}, Shards: 1, Extend: true, Leave: true, JSON: true, Driver: quickDriver, Disks: 1, Backups: true, Takes: 2000, Plan: backupPlan{Every: 2, Keep: 2, AtLeast: 1, Delay: 60, Newer: 120}, Replaces: true, Drills: true, Comes: 2000, Drill: 2}, Steps: 567,
		Items: []Item{{What: pushTemplate, At: 1355, A: 7, B: 4}, {What: pushBadTemplate, At: 9323, A: 3}, {What: releaseCommand, At: 19627, A: 20, B: 27}, {What: killNode, At: 109814, A: 60, B: 51}, {What: pushGrow, At: 9973, A: 22, B: 63}, {What: pushUpgrade, Backing: 24, A: 49, B: 9}},
	}},
	{"nodes have come whose probes fail, and the correction is of another version", Schedule{
		Seed: 5300060679, Start: Start{Hot: 3, Tables: []string{"0-1", "0-1"}, Shards: 2, Extend: true, Leave: true, Zones: true, Driver: silentDriver, Disks: 2, Backups: true, Takes: 10000, Plan: backupPlan{Every: 2, Second: 1, Keep: 1, AtLeast: 2, Delay: 60, Newer: 60}, Replaces: true, Drills: true, Comes: 40000}, Steps: 1144,
		Items: []Item{{What: pushBadTemplate, At: 850, A: 5, B: 1}, {What: crashProcess, Call: 29, A: 55, B: 41}, {What: loseVolume, At: 70511, A: 17, B: 23}, {What: pushFewerDisks, At: 249, A: 57, B: 42}, {What: deletePodByHand, Disking: 128, A: 50, B: 56}, {What: pushUpgrade, At: 48094, A: 17, B: 37}},
	}},
	{"an upgrade is taken back after a pod has started on the newer version, and the record is lost", Schedule{
		Seed: 5300050845, Start: Start{Masters: 3, Hot: 2, Tables: []string{"0-1", "0"}, Shards: 1, Extend: true, Leave: true, Driver: quickDriver, Swaps: true, Compute: true, Backups: true, Takes: 2000, Plan: backupPlan{Every: 1, AtLeast: 1, Delay: 60}, Replaces: true, Drills: true, Comes: 10000, Drill: 3}, Steps: 736,
		Items: []Item{{What: pushBadTemplate, At: 1322, A: 5, B: 1}, {What: crashProcess, Call: 33, A: 29, B: 33}, {What: pauseCommand, At: 11216, A: 5, B: 37}, {What: pushCompute, At: 17070, A: 43, B: 9}, {What: deletePodByHand, At: 20546, A: 2, B: 58}, {What: loseRecord, At: 18393, A: 6, B: 49}, {What: pushBadTemplate, At: 20772, A: 23, B: 24}, {What: pushUpgrade, At: 11810, A: 47, B: 55}},
	}},
	{"the same with two daemons", Schedule{
		Seed: 5000196147, Start: Start{Masters: 1, Hot: 2, Tables: []string{"0-1"}, Shards: 2, Second: true, Extend: true, Leave: true, Zones: true, Backups: true, Takes: 10000, Plan: backupPlan{Every: 1, Keep: 2, AtLeast: 2, Delay: 120, Newer: 180}, Replaces: true, Drills: true, Comes: 2000, Adopted: true}, Steps: 378,
		Items: []Item{{What: pushGrow, At: 20522, A: 61, B: 61}, {What: crashProcess, At: 135431, A: 54, B: 40}, {What: pushUpgrade, Backing: 12, A: 8, B: 1}, {What: abortCommand, At: 292468, A: 55, B: 49}, {What: drainNode, Drilling: 26, A: 42, B: 27}, {What: killNode, At: 27869, A: 8, B: 5}, {What: pushBadTemplate, At: 51074, A: 62, B: 31}, {What: fetchCommand, At: 144422, A: 19, B: 18}},
	}},
	{"tables of a restore may be somebody else's, and the node that lists the tables is behind", Schedule{
		Seed: 5000290576, Start: Start{Hot: 3, Tables: []string{"1", "1", "0-all"}, Shards: 3, Zones: true, Driver: quickDriver, Swaps: true, Backups: true, Takes: 40000, Plan: backupPlan{Every: 1, Keep: 1, AtLeast: 2, Delay: 60, Newer: 30}, Replaces: true, Drills: true, Comes: 10000, Drill: 3}, Steps: 635,
		Items: []Item{{What: pushBadTemplate, At: 228, A: 2, B: 5}, {What: crashProcess, Call: 4, A: 15, B: 19}, {What: setTransient, At: 29502, A: 13, B: 12}, {What: pushConsent, At: 6005, A: 34, B: 5}, {What: pushClass, At: 22878, A: 11, B: 32}, {What: setTransient, At: 73826, A: 48, B: 8}, {What: pauseCommand, Replacing: 56, A: 9, B: 31}, {What: pushUpgrade, At: 26303, A: 7, B: 34}, {What: conflict, Drilling: 23, A: 35, B: 28}, {What: lagListing, Drilling: 10, A: 31, B: 25}, {What: fetchCommand, At: 109151, A: 15, B: 34}},
	}},
	{"pods have disks that are desired no more and of which the StatefulSet has no claim template, and all nodes are to stop", Schedule{
		Seed: 5300134156, Start: Start{Hot: 3, Tables: []string{"0-1", "0-1", "1-all", "1"}, Shards: 2, Extend: true, Leave: true, Driver: quickDriver, Swaps: true, Disks: 1, Backups: true, Takes: 40000, Plan: backupPlan{Every: 2, Keep: 1, AtLeast: 1, Delay: 60, Newer: 180}}, Steps: 1016,
		Items: []Item{{What: pushGrow, At: 1698, B: 7}, {What: pinTable, At: 128273, A: 11, B: 6}, {What: pinTable, At: 181670, A: 15, B: 38}, {What: pushMoreDisks, At: 718, A: 4, B: 47}, {What: pushDisksBack, At: 27007, A: 39, B: 33}, {What: deletePodByHand, At: 148682, A: 14, B: 51}, {What: crashProcess, At: 93417, A: 55, B: 62}, {What: deletePodByHand, Backing: 19, A: 2, B: 43}, {What: pushSuspend, Backing: 32, A: 56, B: 59}},
	}},
}
