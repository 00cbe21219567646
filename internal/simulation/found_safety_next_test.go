package simulation

// foundSafetyNext are schedules of the round on safety after foundSafety. Each has ended in a violation before the decision,
// the judge or the world was corrected.
var foundSafetyNext = []struct {
	name string
	s    Schedule
}{
	{"OPTIMIZE TABLE begins right before the last look asks for it, and then nobody knows what runs", Schedule{
		Seed: 3500025879, Start: Start{Hot: 3, Tables: []string{"2", "0"}, Shards: 1, Extend: true, Driver: quickDriver, Compute: true, Backups: true, Takes: 10000, Plan: backupPlan{Every: 1, Keep: 1, AtLeast: 2, Delay: 120, Newer: 150, Skip: true}}, Steps: 267,
		Items: []Item{{What: beFound, Call: 22, A: 59, B: 54}, {What: beFound, Call: 23, A: 7, B: 47}},
	}},
	{"somebody raises the replicas that Git wants as well, right before a pod goes", Schedule{
		Seed: 3700002437, Start: Start{Hot: 3, Tables: []string{"0"}, Shards: 3, Extend: true, Zones: true, Driver: limitedDriver, Swaps: true, Backups: true, Takes: 40000, Plan: backupPlan{Every: 2, Keep: 2, AtLeast: 2, Delay: 60}}, Steps: 525,
		Items: []Item{{What: pushGrow, At: 712, A: 6, B: 4}, {What: loseVolume, Call: 23, A: 39}, {What: pauseCommand, At: 24417, A: 37, B: 38}, {What: pushVolumes, At: 9799, A: 39, B: 52}, {What: pushConsent, At: 6100, A: 47, B: 57}, {What: pushClass, At: 33156, A: 3, B: 26}, {What: scaleUpByHand, Replacing: 17, B: 43}, {What: pushUpgrade, At: 4744, A: 2, B: 8}},
	}},
	{"somebody raises the replicas of a group that Git wants larger, while disks are removed and a pod is about to go", Schedule{
		Seed: 3700010634, Start: Start{Hot: 3, Tables: []string{"0-1"}, Shards: 2, Extend: true, Leave: true, Zones: true, Driver: quickDriver, Swaps: true, Compute: true, Disks: 2}, Steps: 541,
		Items: []Item{{What: pushAddGroup, At: 4389, A: 7, B: 4}, {What: pushGrow, At: 9731, A: 2, B: 7}, {What: standStill, Call: 17, A: 26, B: 30}, {What: deafReceiver, At: 2512, A: 4, B: 37}, {What: forbid, Call: 35, A: 34, B: 4}, {What: killAfter, Call: 14, A: 45, B: 53}, {What: pushClass, At: 29046, A: 56, B: 40}, {What: pushVolumes, At: 25702, A: 16, B: 44}, {What: pushFewerDisks, At: 8967, A: 41, B: 19}, {What: loseVolume, Disking: 2, A: 25, B: 10}, {What: scaleUpByHand, Disking: 50, A: 31, B: 17}},
	}},
	{"the record is lost while somebody's StatefulSet has the name of an adopted one", Schedule{
		Seed: 3900012569, Start: Start{Masters: 3, Hot: 1, Tables: []string{"0-1", "0-1", "0-all"}, Shards: 3, Extend: true, Leave: true, Driver: quickDriver, Backups: true, Takes: 40000, Plan: backupPlan{Every: 1, AtLeast: 2, Delay: 100, Newer: 150, Skip: true}, Replaces: true, Drills: true, Comes: 2000, Adopted: true, Drill: 2, Most: 62}, Steps: 420,
		Items: []Item{{What: pushVolumes, At: 13842, A: 45, B: 24}, {What: killBefore, Recreating: 19, A: 11, B: 4}, {What: killBefore, Recreating: 2, A: 27, B: 19}, {What: makeSetByHand, Recreating: 20, A: 59, B: 14}, {What: loseRecord, At: 119872, A: 61, B: 16}},
	}},
	{"the cluster is paused while the template does without disks, and they are desired again", Schedule{
		Seed: 3700007799, Start: Start{Hot: 2, Tables: []string{"0-1", "0-all"}, Shards: 1, Extend: true, Leave: true, Zones: true, Driver: quickDriver, Compute: true, Disks: 3, Backups: true, Takes: 2000, Plan: backupPlan{Every: 1, Second: 2, AtLeast: 1, Delay: 100, Newer: 60}, Replaces: true, Drills: true, Comes: 40000, Drill: 3}, Steps: 598,
		Items: []Item{{What: pushRemoveGroup, At: 4039, A: 7, B: 7}, {What: pushPause, At: 20583, A: 12, B: 19}, {What: pushFewerDisks, At: 4878, A: 39, B: 45}, {What: pushDisksBack, At: 26036, A: 4, B: 50}, {What: restartDaemon, Disking: 66, A: 61, B: 29}},
	}},
	{"the record of a drill is lost while the cluster is paused, and a restart is pushed", Schedule{
		Seed: 3400029111, Start: Start{Hot: 2, Tables: []string{"1"}, Shards: 1, Extend: true, Leave: true, Driver: quickDriver, Backups: true, Takes: 2000, Plan: backupPlan{Every: 2, AtLeast: 2, Delay: 120}, Replaces: true, Drills: true, Comes: 2000, Adopted: true, Drill: 3}, Steps: 432,
		Items: []Item{{What: loseRecord, At: 118627, A: 37, B: 29}, {What: holdStore, Drilling: 8, A: 45, B: 21}, {What: pushPause, Drilling: 23, A: 11, B: 61}, {What: deletePodByHand, Drilling: 3, A: 41, B: 13}},
	}},
	{"the record of a drill is lost while the cluster is released, and a restart is pushed", Schedule{
		Seed: 3600001690, Start: Start{Hot: 2, Tables: []string{"1"}, Shards: 1, Leave: true, Driver: quickDriver, Swaps: true, Disks: 1, Backups: true, Takes: 10000, Plan: backupPlan{Every: 2, AtLeast: 2, Delay: 80, Newer: 150, Skip: true}, Replaces: true, Drills: true, Comes: 2000, Drill: 1}, Steps: 827,
		Items: []Item{{What: loseRecord, At: 167824, A: 48, B: 46}, {What: pushRelease, Drilling: 16, A: 48, B: 42}, {What: holdStore, Drilling: 7, A: 47, B: 49}, {What: beFound, At: 339136, A: 6, B: 8}},
	}},
	{"two of three voters go with the claims that somebody has deleted, once the faults are over", Schedule{
		Seed: 2300051238, Start: Start{Hot: 4, Tables: []string{"1"}, Shards: 1, Extend: true, Driver: quickDriver, Offline: true, Disks: 1}, Steps: 311,
		Items: []Item{{What: pushUpgrade, At: 68326, B: 7}, {What: deleteClaimByHand, At: 13864, A: 44, B: 54}, {What: deleteClaimByHand, At: 63383, A: 7, B: 9}, {What: pushMoreDisks, At: 6122, A: 53, B: 50}},
	}},
	{"somebody agrees that the volume of an adopted pod goes with it", Schedule{
		Seed: 4000029758, Start: Start{Hot: 3, Shards: 1, Extend: true, Leave: true, Driver: offlineDriver, Backups: true, Takes: 40000, Plan: backupPlan{Every: 2, Second: 1, Keep: 3, AtLeast: 2, Delay: 80, Newer: 180, Skip: true}, Replaces: true, Drills: true, Comes: 40000, Adopted: true, Drill: 3, Most: 99}, Steps: 450,
		Items: []Item{{What: pushVolumesBack, At: 18166, A: 61, B: 49}, {What: deleteClaimByHand, At: 10533, A: 52, B: 40}, {What: agreeByHand, At: 24053, A: 45, B: 16}},
	}},
	{"a pod that is to come back without a disk sticks in terminating, and another storage class is pushed", Schedule{
		Seed: 4000045154, Start: Start{Hot: 3, Tables: []string{"0", "0-1", "0-1"}, Shards: 3, Leave: true, Driver: quickDriver, Swaps: true, Compute: true, Disks: 2, Backups: true, Takes: 2000, Plan: backupPlan{Every: 1, AtLeast: 1, Delay: 40}, Replaces: true, Drills: true, Comes: 90000, Drill: 1}, Steps: 841,
		Items: []Item{{What: stickTerminating, Call: 94, A: 15, B: 60}, {What: pushConsent, At: 8249, A: 42, B: 21}, {What: pushClass, At: 19698, A: 56, B: 27}, {What: pushClass, Replacing: 174, A: 4, B: 38}, {What: pushCompute, At: 12820, A: 48, B: 52}, {What: scaleUpByHand, At: 23668, A: 47, B: 7}, {What: pushFewerDisks, At: 5639, A: 17, B: 12}, {What: pushTemplate, Disking: 45, A: 36, B: 3}},
	}},
	{"somebody has deleted a claim while a StatefulSet lacks a disk that is desired, and volumes of another class are desired", Schedule{
		Seed: 4000055421, Start: Start{Hot: 3, Shards: 1, Extend: true, Driver: quickDriver, Offline: true, Swaps: true, Disks: 2}, Steps: 575,
		Items: []Item{{What: killBefore, Call: 9, A: 20, B: 5}, {What: crashProcess, At: 1528, A: 4, B: 2}, {What: deletePodByHand, Recreating: 20, A: 46, B: 11}, {What: deleteClaimByHand, At: 9786, A: 6}, {What: pushConsent, At: 3967, A: 27, B: 8}, {What: pushClass, At: 27851, A: 35, B: 56}, {What: pushMoreDisks, At: 2978, B: 2}},
	}},
	{"a table of a restore has come, loses its shards with a node, and the other table cannot be fetched", Schedule{
		Seed: 4000051623, Start: Start{Masters: 5, Hot: 2, Tables: []string{"0-1", "0-1"}, Shards: 3, Extend: true, Driver: quickDriver, Swaps: true, Compute: true, Backups: true, Takes: 10000, Plan: backupPlan{Every: 2, Keep: 3, AtLeast: 1, Delay: 120, Newer: 60, Skip: true}, Replaces: true, Drills: true, Comes: 90000, Drill: 2}, Steps: 660,
		Items: []Item{{What: pushRestart, At: 4004, A: 2, B: 6}, {What: pushUpgrade, At: 41791, A: 5}, {What: pushBadTemplate, At: 66947, B: 3}, {What: createTable, At: 71339, A: 51, B: 61}, {What: noExec, At: 65018, A: 46, B: 46}, {What: pushBoth, At: 3426, A: 60, B: 10}, {What: pushSmaller, At: 21884, A: 5, B: 35}, {What: setPersistent, At: 25105, A: 51, B: 28}, {What: crashProcess, At: 189014, A: 7, B: 52}, {What: pushCompute, At: 6743, A: 52, B: 47}, {What: scaleUpByHand, At: 12991, A: 10, B: 33}, {What: pushGrow, At: 28680, A: 48, B: 63}, {What: fetchCommand, At: 73280, A: 33, B: 53}, {What: killNode, Drilling: 13, A: 53, B: 45}},
	}},
	{"somebody sets the filter of a drain right before it is written down", Schedule{
		Seed: 4000053091, Start: Start{Masters: 5, Hot: 2, Tables: []string{"0", "0-1"}, Shards: 1, Extend: true, Leave: true, Driver: quickDriver, Compute: true, Backups: true, Takes: 120000, Plan: backupPlan{Every: 1, Keep: 2, AtLeast: 1, Delay: 80}}, Steps: 263,
		Items: []Item{{What: pushShrink, At: 945, A: 7, B: 7}, {What: crashProcess, Call: 8, A: 40, B: 16}, {What: changePassword, At: 20708, A: 48, B: 6}, {What: pinTable, Call: 22, A: 19, B: 51}, {What: pinTable, At: 22424, A: 31, B: 49}, {What: pushCompute, At: 17262, A: 13, B: 27}, {What: killAfter, At: 20239, A: 8, B: 18}},
	}},
	{"somebody raises the replicas of a StatefulSet, and another one has its name when the faults are over", Schedule{
		Seed: 4000068142, Start: Start{Hot: 3, Tables: []string{"0", "1"}, Shards: 3, Extend: true, Leave: true, Driver: roundingDriver, Swaps: true, Disks: 2}, Steps: 588,
		Items: []Item{{What: pushGrow, At: 2764, A: 1, B: 6}, {What: standStill, Call: 25, A: 37, B: 14}, {What: crashProcess, Call: 7, A: 47, B: 61}, {What: pushVolumes, At: 3231, A: 23, B: 23}, {What: timeoutAfter, Recreating: 13, A: 3, B: 48}, {What: unavailable, Recreating: 16, A: 15, B: 57}, {What: deletePodByHand, Recreating: 8, A: 32, B: 49}, {What: makeSetByHand, Recreating: 4, A: 44, B: 30}, {What: pushMoreDisks, At: 89, A: 34, B: 38}, {What: pushShrink, Disking: 14, A: 2, B: 62}, {What: scaleUpByHand, Disking: 28, A: 24, B: 32}},
	}},
}
