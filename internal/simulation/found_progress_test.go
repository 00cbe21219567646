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
	{"the daemon pauses right after a copy was asked for, and it cannot be fetched", Schedule{
		Seed: 2900002640, Start: Start{Hot: 3, Tables: []string{"2", "0-1"}, Shards: 3, Extend: true, Driver: quickDriver, Swaps: true, Disks: 3, Backups: true, Takes: 10000, Plan: backupPlan{Every: 2, Second: 2, Keep: 1, AtLeast: 1, Delay: 60, Newer: 0, Skip: false}, Replaces: true, Drills: true, Comes: 2000, Drill: 3}, Steps: 898,
		Items: []Item{{What: pushSetting, At: 4301, A: 5, B: 6}, {What: pushSetting, At: 63858, A: 7, B: 5}, {What: evict, At: 68731, A: 48, B: 50}, {What: pushVolumesBack, At: 51397, A: 2, B: 12}, {What: fillDisks, At: 19444, A: 39, B: 39}, {What: deleteClaimByHand, At: 37181, A: 38, B: 43}, {What: deleteClaimByHand, At: 9586, A: 52, B: 57}, {What: pushOffline, At: 61627, A: 12, B: 2}, {What: agreeByHand, At: 24691, A: 54, B: 9}, {What: pushBoth, At: 3944, A: 37, B: 26}, {What: pushUpgrade, At: 17998, A: 10, B: 55}, {What: killBefore, Backing: 31, A: 33, B: 43}, {What: fetchCommand, At: 137237, A: 52, B: 5}, {What: standStill, Drilling: 18, A: 49, B: 4}},
	}},
	{"a StatefulSet is without a disk that a pod has, and its claims grow with a driver that works offline", Schedule{
		Seed: 2400005342, Start: Start{Hot: 3, Tables: []string{}, Shards: 1, Extend: true, Leave: true, Zones: true, Driver: offlineDriver, Disks: 1}, Steps: 321,
		Items: []Item{{What: pushGrow, At: 2277, A: 4, B: 4}, {What: pushVolumes, At: 17149, A: 13, B: 20}, {What: crashProcess, At: 37756, A: 15, B: 3}, {What: pushMoreDisks, At: 7057, A: 24, B: 30}},
	}},
	{"a new claim of a further disk waits for its volume, and counts as the first that has grown", Schedule{
		Seed: 2400026186, Start: Start{Hot: 3, Tables: []string{"1"}, Shards: 1, Leave: true, Driver: quickDriver, Swaps: true, Compute: true, Disks: 3, Backups: true, Takes: 40000, Plan: backupPlan{Every: 2, Second: 0, Keep: 1, AtLeast: 1, Delay: 120, Newer: 120, Skip: false}}, Steps: 785,
		Items: []Item{{What: pushAddGroup, At: 2296, B: 6}, {What: killNode, Call: 18, A: 60, B: 42}, {What: pushVolumes, At: 17824, A: 40, B: 53}, {What: pushVolumes, At: 30431, A: 58, B: 25}, {What: pushConsent, At: 4005, A: 15, B: 57}, {What: pushClass, At: 9157, A: 48, B: 37}, {What: dropConsent, Replacing: 176, A: 4, B: 7}, {What: cutDatabase, At: 17792, A: 60, B: 29}, {What: pushTemplate, At: 34032, A: 31, B: 2}, {What: closeTable, Backing: 13, A: 56, B: 61}},
	}},
	{"the same, while volumes are replaced", Schedule{
		Seed: 2800041746, Start: Start{Hot: 2, Tables: []string{"1", "0", "1", "0"}, Shards: 1, Leave: true, Driver: quickDriver, Swaps: true, Disks: 2, Backups: true, Takes: 40000, Plan: backupPlan{Every: 1, Second: 0, Keep: 2, AtLeast: 1, Delay: 120, Newer: 0, Skip: false}, Replaces: true, Drills: true, Comes: 2000, Drill: 2}, Steps: 1214,
		Items: []Item{{What: loseVolume, Call: 9, A: 51, B: 35}, {What: loseRecord, At: 36455, A: 40, B: 51}, {What: pushConsent, At: 100, A: 24, B: 1}, {What: pushClass, At: 18284, A: 25, B: 34}, {What: pushMoreDisks, At: 5579, A: 34, B: 44}, {What: pushShrink, At: 21285, A: 42, B: 19}},
	}},
	{"a copy waits for a node that an upgrade brings back, and that for a snapshot, which waits for the copy", Schedule{
		Seed: 3000028572, Start: Start{Masters: 3, Hot: 1, Tables: []string{"0-1", "0-1"}, Shards: 1, Leave: true, Driver: quickDriver, Swaps: true, Backups: true, Takes: 40000, Plan: backupPlan{Every: 1, Second: 0, Keep: 1, AtLeast: 1, Delay: 120, Newer: 30, Skip: false}, Replaces: true, Drills: true, Comes: 40000, Drill: 1, Most: 92}, Steps: 638,
		Items: []Item{{What: pushBadTemplate, At: 14501, A: 2, B: 2}, {What: pauseCommand, Call: 1, A: 55, B: 28}, {What: loseRecord, Call: 78, A: 21, B: 40}, {What: pushClass, At: 22056, A: 30, B: 46}, {What: fetchCommand, At: 99212, A: 18, B: 15}, {What: drainNode, At: 198851, A: 50, B: 62}, {What: pushUpgrade, Drilling: 27, A: 42, B: 3}, {What: fetchCommand, At: 187283, A: 29, B: 27}},
	}},
	{"a group is to go that never started, and its drain waits for a stuck node of another one that an upgrade corrects", Schedule{
		Seed: 3000014513, Start: Start{Hot: 3, Warm: 2, Tables: []string{}, Shards: 1, Leave: true, Zones: true, Early: true, Driver: quickDriver, Offline: true, Swaps: true, Disks: 3, Backups: true, Takes: 40000, Plan: backupPlan{Every: 1, Second: 0, Keep: 1, AtLeast: 2, Delay: 100, Newer: 150, Skip: false}, Replaces: true, Drills: true, Comes: 10000, Drill: 1}, Steps: 892,
		Items: []Item{{What: pushBadTemplate, At: 1793, A: 6, B: 4}, {What: conflict, Call: 14, A: 52, B: 40}, {What: deleteClaimByHand, At: 19464, B: 31}, {What: pushRemoveGroup, At: 157841, A: 50, B: 54}, {What: pushUpgrade, At: 181559, A: 48, B: 50}, {What: fetchCommand, At: 577611, A: 49, B: 47}},
	}},
	{"the cluster state changes after the last reading before the next pod goes", Schedule{
		Seed: 3200053980, Start: Start{Hot: 3, Tables: []string{"1"}, Shards: 3, Extend: true, Leave: true, Driver: quickDriver, Disks: 1, Backups: true, Takes: 2000, Plan: backupPlan{Every: 2, Second: 0, Keep: 1, AtLeast: 2, Delay: 120, Newer: 60, Skip: true}}, Steps: 428,
		Items: []Item{{What: pushSetting, At: 2136, A: 7, B: 2}, {What: pushRelease, At: 23523, A: 7, B: 6}, {What: pushBadTemplate, At: 38680, A: 6, B: 3}, {What: unavailable, Call: 31, A: 29, B: 62}, {What: killBefore, Call: 19, A: 30, B: 50}, {What: killNode, Call: 2, A: 6, B: 19}, {What: pinTable, At: 94786, A: 59, B: 53}, {What: pushShrink, At: 108741, A: 4, B: 3}, {What: pushMoreDisks, At: 6248, A: 49, B: 7}, {What: pushVolumes, Disking: 83, A: 47, B: 23}, {What: pushShrink, At: 14838, A: 23, B: 12}, {What: denySystem, Backing: 16, A: 10, B: 48}},
	}},
	{"the same, and nobody answers", Schedule{
		Seed: 3000034629, Start: Start{Hot: 1, Warm: 1, Tables: []string{"1", "0-all"}, Shards: 3, Leave: true, Driver: slowDriver, Compute: true, Backups: true, Takes: 120000, Plan: backupPlan{Every: 2, Second: 0, Keep: 2, AtLeast: 2, Delay: 60, Newer: 60, Skip: false}, Replaces: true, Drills: true, Comes: 40000}, Steps: 469,
		Items: []Item{{What: pushBadTemplate, At: 4186, A: 4, B: 3}, {What: pushRemoveGroup, At: 44081, A: 6}, {What: crashProcess, Call: 26, A: 40, B: 23}, {What: pushVolumes, At: 1214, A: 34, B: 16}, {What: pushVolumesBack, At: 25418, A: 43, B: 30}, {What: releaseCommand, Recreating: 2, A: 11, B: 49}, {What: deleteClaimByHand, At: 4933, A: 20, B: 42}, {What: deleteClaimByHand, At: 2183, A: 20, B: 31}, {What: pushOffline, At: 32629, A: 14, B: 29}, {What: pushCompute, At: 11401, A: 23, B: 7}, {What: loseRecord, At: 18622, A: 21, B: 63}, {What: abortCommand, At: 22624, A: 42, B: 32}, {What: pushShrink, At: 17015, A: 36, B: 42}, {What: pushGrow, At: 5510, A: 48, B: 47}, {What: pushUpgrade, At: 111220, A: 7, B: 25}},
	}},
	{"the same, the stuck node is a master, and volumes are to be replaced", Schedule{
		Seed: 3000046969, Start: Start{Masters: 3, Hot: 1, Warm: 1, Tables: []string{"1"}, Shards: 1, Extend: true, Leave: true, Driver: silentDriver, Swaps: true, Backups: true, Takes: 40000, Plan: backupPlan{Every: 2, Second: 0, Keep: 1, AtLeast: 2, Delay: 40, Newer: 120, Skip: false}}, Steps: 530,
		Items: []Item{{What: pushBadTemplate, At: 4685, A: 5, B: 4}, {What: pushUpgrade, At: 48997, A: 1, B: 4}, {What: pushGrow, At: 102481, A: 3, B: 2}, {What: loseRecord, Call: 37, A: 44, B: 60}, {What: replaceCommand, At: 337242, A: 56, B: 9}, {What: pushVolumes, At: 9131, A: 51, B: 63}, {What: deleteClaimByHand, Recreating: 24, A: 24, B: 54}, {What: pushConsent, At: 8785, A: 35, B: 34}, {What: pushClass, At: 32551, A: 36, B: 1}, {What: stallController, Replacing: 12, A: 60, B: 56}, {What: pushRelease, Replacing: 153, A: 60, B: 53}},
	}},
	{"a set has its template while all nodes are away, no pod comes onto it, and another set is stuck without it", Schedule{
		Seed: 3500015625, Start: Start{Hot: 3, Tables: []string{"1", "2", "0-all"}, Shards: 2, Leave: true, Zones: true, Driver: quickDriver, Swaps: true, Disks: 2, Backups: true, Takes: 10000, Plan: backupPlan{Every: 2, Second: 0, Keep: 0, AtLeast: 1, Delay: 80, Newer: 0, Skip: false}}, Steps: 670,
		Items: []Item{{What: pushAddGroup, At: 2207, A: 1, B: 4}, {What: pushBadTemplate, At: 24952, A: 5, B: 1}, {What: pushUpgrade, At: 60929, A: 3, B: 6}, {What: stallController, Call: 14, A: 22, B: 51}, {What: unavailable, Call: 71, A: 3, B: 50}, {What: crashProcess, Call: 44, A: 29, B: 26}, {What: crashProcess, At: 25216, A: 25, B: 18}, {What: killNode, At: 75044, A: 47, B: 52}, {What: scaleUpByHand, At: 155854, A: 49, B: 12}, {What: pushConsent, At: 644, A: 17, B: 32}, {What: pushClass, At: 25523, A: 52, B: 42}, {What: loseVolume, Replacing: 199, A: 3, B: 50}, {What: pushMoreDisks, At: 7040, A: 25, B: 4}, {What: pushFewerDisks, At: 32412, A: 10, B: 9}, {What: loseRecord, Disking: 52, A: 1, B: 45}, {What: holdStore, At: 17134, A: 30, B: 11}},
	}},
	// Where the judge, or the people of the model, were wrong.
	{"the record of a restore is lost, and a shard of it never comes", Schedule{
		Seed: 3000015943, Start: Start{Masters: 5, Hot: 2, Tables: []string{"0", "0-1", "1", "1-all"}, Shards: 2, Extend: true, Driver: slowDriver, Swaps: true, NoRight: true, Disks: 2, Backups: true, Takes: 2000, Plan: backupPlan{Every: 1, Second: 1, Keep: 3, AtLeast: 1, Delay: 60, Newer: 0, Skip: false}, Replaces: true, Drills: true, Comes: 2000, Drill: 2}, Steps: 889,
		Items: []Item{{What: pushMoreDisks, At: 8265, A: 22, B: 1}, {What: loseRecord, At: 180551, A: 29, B: 34}, {What: pushRestart, At: 4849, A: 12, B: 21}, {What: standStill, Backing: 30, A: 49, B: 16}, {What: fetchCommand, At: 188315, A: 27, B: 13}, {What: pushSuspend, At: 103357, A: 34, B: 58}, {What: loseRecord, At: 255154, A: 43, B: 46}, {What: breakSnapshot, Drilling: 3, A: 56, B: 42}},
	}},
	{"the same, once", Schedule{
		Seed: 3100000596, Start: Start{Hot: 4, Warm: 1, Tables: []string{"1", "1", "0-all"}, Shards: 1, Extend: true, Leave: true, Early: true, Driver: quickDriver, Swaps: true, Compute: true, Backups: true, Takes: 2000, Plan: backupPlan{Every: 2, Second: 2, Keep: 0, AtLeast: 1, Delay: 60, Newer: 150, Skip: true}, Replaces: true, Drills: true, Comes: 40000, Drill: 2}, Steps: 661,
		Items: []Item{{What: pushShrink, At: 4700, B: 6}, {What: conflict, Call: 57, A: 51, B: 57}, {What: pushClass, At: 17337, A: 45, B: 30}, {What: pushCompute, At: 3380, A: 32, B: 49}, {What: fetchCommand, At: 89263, A: 6, B: 50}, {What: loseRecord, At: 238938, A: 42, B: 55}},
	}},
	{"somebody hides the allocation lock, and a pod is held back for its disk", Schedule{
		Seed: 3100003774, Start: Start{Hot: 3, Tables: []string{"1", "1-all", "0-1", "0-1"}, Shards: 1, Extend: true, Driver: quickDriver, Disks: 2}, Steps: 270,
		Items: []Item{{What: killNode, Call: 35, A: 46, B: 8}, {What: setTransient, Call: 43, A: 32, B: 58}, {What: pushMoreDisks, At: 8823, A: 38, B: 52}},
	}},
	{"a cluster of one node is resumed whose volumes are to be replaced", Schedule{
		Seed: 3500007364, Start: Start{Hot: 1, Tables: []string{}, Shards: 1, Leave: true, Driver: quickDriver, Swaps: true, Backups: true, Takes: 40000, Plan: backupPlan{Every: 1, Second: 2, Keep: 0, AtLeast: 2, Delay: 120, Newer: 0, Skip: true}, Replaces: true, Drills: true, Comes: 10000}, Steps: 1078,
		Items: []Item{{What: pushSuspend, At: 1309, B: 6}, {What: pushConsent, At: 4926, A: 50, B: 13}, {What: pushClass, At: 26437, A: 1, B: 37}, {What: fetchCommand, At: 617109, A: 19, B: 33}},
	}},
}
