package simulation

// foundSixBillion are schedules that broke safety, pace or rest from seed 6,000,000,000 on. Each has
// ended in a violation before the decision, the executor or the judge was corrected.
var foundSixBillion = []struct {
	name string
	s    Schedule
}{
	{"a release gives an exclusion back whose pod goes with its volume, and the record is lost meanwhile", Schedule{
		Seed: 6200072306, Start: Start{Hot: 3, Tables: []string{"0-1", "0-all"}, Shards: 3, Extend: true, Leave: true, Zones: true, Driver: quickDriver, Swaps: true}, Steps: 338,
		Items: []Item{{What: pushGrow, At: 817, A: 6, B: 7}, {What: pushPause, At: 63387, A: 2, B: 7}, {What: conflict, Call: 2, A: 13, B: 51}, {What: loseRecord, Call: 13, A: 10, B: 30}, {What: pushConsent, At: 8341, A: 43}, {What: pushSmaller, At: 33125, A: 54, B: 18}, {What: releaseCommand, At: 77514, B: 17}, {What: loseRecord, Replacing: 97, A: 50, B: 42}, {What: setTransient, Replacing: 64, A: 58, B: 27}},
	}},
	{"the record is lost after a template was applied, a second set gets it too, a pod of the first is deleted by hand, and one of the second is ready before a reading shows its node", Schedule{
		Seed: 6200022497, Start: Start{Masters: 3, Hot: 1, Tables: []string{"0-1", "0-1", "0-1", "0-1"}, Shards: 1, Extend: true, Leave: true, Driver: quickDriver, Compute: true, Backups: true, Takes: 10000, Plan: backupPlan{Every: 1, Second: 3, Keep: 2, AtLeast: 1, Delay: 20, Skip: true}, Replaces: true, Drills: true, Comes: 10000, Adopted: true, Drill: 3}, Steps: 425,
		Items: []Item{{What: pushGrow, At: 839, A: 1, B: 7}, {What: pushTemplate, At: 18681, A: 2, B: 4}, {What: loseRecord, Call: 33, A: 53, B: 60}, {What: pushCompute, At: 12555, A: 56, B: 26}, {What: deletePodByHand, At: 15845, A: 22, B: 4}, {What: pushTemplate, At: 1041, A: 30, B: 59}},
	}},
	{"the same, with a pod of the second that has joined since the nodes were read, and is not shown ready", Schedule{
		Seed: 6200022535, Start: Start{Masters: 3, Hot: 1, Tables: []string{"0-1", "0-1", "0-1", "0-1"}, Shards: 1, Extend: true, Leave: true, Driver: quickDriver, Compute: true, Backups: true, Takes: 10000, Plan: backupPlan{Every: 1, Second: 3, Keep: 2, AtLeast: 1, Delay: 20, Skip: true}, Replaces: true, Drills: true, Comes: 10000, Adopted: true, Drill: 3}, Steps: 425,
		Items: []Item{{What: pushGrow, At: 839, A: 1, B: 7}, {What: pushTemplate, At: 18681, A: 2, B: 4}, {What: loseRecord, Call: 33, A: 53, B: 60}, {What: pushCompute, At: 12555, A: 56, B: 26}, {What: deletePodByHand, At: 15845, A: 22, B: 4}, {What: pushTemplate, At: 1041, A: 30, B: 59}},
	}},
	{"an upgrade is taken back and pushed again, the node that had started it loses its volume, and another template is pushed", Schedule{
		Seed: 6200098334, Start: Start{Hot: 1, Tables: []string{"0-1"}, Shards: 1, Extend: true, Leave: true, Driver: quickDriver, Compute: true, Backups: true, Takes: 10000, Plan: backupPlan{Every: 1, Second: 3, AtLeast: 2, Delay: 60}, Adopted: true}, Steps: 275,
		Items: []Item{{What: pushAddGroup, At: 286, A: 2, B: 3}, {What: pushUpgrade, At: 47165, A: 3, B: 5}, {What: pushCompute, At: 1850, A: 53, B: 54}, {What: pushRevert, At: 12496, A: 10, B: 38}, {What: loseVolume, Backing: 28, A: 26, B: 15}, {What: pushTemplate, At: 74417, A: 38, B: 30}},
	}},
	{"a release opens the budget, the daemon is killed right after, and has no Lease while pods lack a further disk", Schedule{
		Seed: 6200050814, Start: Start{Hot: 3, Tables: []string{"0", "0-1", "0-1"}, Shards: 1, Extend: true, Leave: true, Driver: offlineDriver, Offline: true, Swaps: true, Disks: 1, Backups: true, Takes: 10000, Plan: backupPlan{Every: 1, AtLeast: 2, Delay: 60}}, Steps: 730,
		Items: []Item{{What: pushAddGroup, At: 3873, A: 4, B: 1}, {What: pushVolumes, At: 18404, B: 34}, {What: deleteClaimByHand, At: 28095, A: 7, B: 48}, {What: deleteClaimByHand, At: 30414, A: 40, B: 8}, {What: pushConsent, At: 8004, A: 53, B: 42}, {What: pushSmaller, At: 32884, A: 54, B: 37}, {What: pushMoreDisks, At: 9629, A: 32, B: 63}, {What: evict, Disking: 41, A: 37, B: 41}, {What: evict, Disking: 12, A: 51, B: 33}, {What: pushRelease, Disking: 178, A: 37, B: 1}, {What: pushTemplate, At: 17297, A: 22, B: 4}, {What: killAfter, Backing: 10, A: 26, B: 38}, {What: pushRelease, Backing: 1, A: 19, B: 60}},
	}},
	{"a release opens a budget, is taken back, and the watch of budgets shows it closed all the time", Schedule{
		Seed: 6000011118, Start: Start{Hot: 2, Tables: []string{}, Shards: 1, Extend: true, Leave: true, Driver: quickDriver, Swaps: true, Disks: 1, Backups: true, Takes: 10000, Plan: backupPlan{Every: 1, Second: 1, AtLeast: 1, Delay: 120, Newer: 150}, Replaces: true, Drills: true, Comes: 2000, Drill: 2, Most: 107}, Steps: 840,
		Items: []Item{{What: stallWatch, Call: 37, A: 46, B: 49}, {What: releaseCommand, Call: 42, A: 27, B: 35}, {What: pushConsent, At: 2371, A: 50, B: 7}, {What: pushMoreDisks, At: 4840, A: 60, B: 38}, {What: pushRestart, At: 13870, A: 34, B: 38}},
	}},
	{"the record is lost right before the only StatefulSet is gone that says which setting is ours", Schedule{
		Seed: 6000064998, Start: Start{Hot: 1, Tables: []string{"0"}, Shards: 1, Leave: true, Driver: limitedDriver, Offline: true, Swaps: true, Compute: true, Disks: 3, Backups: true, Takes: 120000, Plan: backupPlan{Every: 2, Second: 3, Keep: 1, AtLeast: 2, Delay: 20, Newer: 240, Skip: true}}, Steps: 758,
		Items: []Item{{What: pushSetting, At: 4787, A: 3, B: 4}, {What: settingByHand, At: 62607, A: 51, B: 45}, {What: restartDaemon, Recreating: 8, A: 39, B: 24}, {What: loseRecord, Recreating: 5, A: 61, B: 1}, {What: pushFewerDisks, At: 3088, A: 23, B: 44}},
	}},
	{"the record is lost while somebody's StatefulSet has the name of one of a group that has left the definition, and its pod is evicted", Schedule{
		Seed: 6000562770, Start: Start{Hot: 3, Warm: 1, Tables: []string{"2", "1", "1-all", "1"}, Shards: 3, Leave: true, Driver: limitedDriver, Offline: true, Swaps: true, NoRight: true, Compute: true, Disks: 1}, Steps: 612,
		Items: []Item{{What: pushRestart, At: 1909, A: 1, B: 1}, {What: standStill, Call: 4, A: 30, B: 62}, {What: loseVolume, Call: 79, A: 54, B: 38}, {What: pauseCommand, At: 173433, A: 20, B: 50}, {What: pushVolumes, At: 17252, A: 38, B: 4}, {What: killBefore, Recreating: 11, A: 32, B: 30}, {What: makeSetByHand, Recreating: 9, A: 3, B: 12}, {What: pushRemoveGroup, At: 59959, A: 45, B: 11}, {What: pushMoreDisks, At: 7332, A: 6, B: 14}, {What: loseRecord, At: 132753, A: 26, B: 61}, {What: pushPause, At: 104515, A: 62, B: 2}, {What: drainNode, Disking: 111, A: 36, B: 34}, {What: pushRelease, Disking: 110, A: 25, B: 12}},
	}},
	{"a pod is about to be ready when an upgrade chooses it, and another one has just come back", Schedule{
		Seed: 6000579546, Start: Start{Hot: 3, Warm: 1, Tables: []string{"0", "1"}, Shards: 1, Extend: true, Leave: true, Driver: quickDriver, Offline: true, Disks: 2}, Steps: 330,
		Items: []Item{{What: pushBadTemplate, At: 4594, A: 6, B: 5}, {What: releaseCommand, Call: 69, A: 12, B: 58}, {What: evict, At: 21842, A: 55, B: 26}, {What: timeoutAfter, Call: 45, A: 19, B: 56}, {What: replaceCommand, At: 308281, A: 51, B: 12}, {What: replaceCommand, At: 133492, A: 34, B: 29}, {What: pushVolumes, At: 14086, A: 4, B: 17}, {What: deleteClaimByHand, Recreating: 10, A: 60, B: 27}, {What: deleteClaimByHand, At: 6456, A: 31, B: 35}, {What: pushTemplate, At: 59389, A: 38, B: 50}, {What: pushFewerDisks, At: 2913, A: 33, B: 6}, {What: pushTemplate, At: 77950, A: 36, B: 12}, {What: stallWatch, At: 68151, A: 8, B: 62}, {What: pushUpgrade, At: 98028, A: 7, B: 30}, {What: killBefore, Disking: 142, A: 7, B: 24}},
	}},
	{"a release comes while a template does without a disk, right after a live setting was set", Schedule{
		Seed: 6000075201, Start: Start{Hot: 2, Warm: 1, Tables: []string{"0-1", "0-all"}, Shards: 2, Driver: quickDriver, Disks: 2}, Steps: 260,
		Items: []Item{{What: pushRevert, At: 3610, B: 3}, {What: pushSetting, At: 54480, A: 6, B: 2}, {What: stallController, Call: 35, A: 30, B: 41}, {What: createTable, Call: 36, A: 11, B: 12}, {What: pushFewerDisks, At: 9613, A: 41, B: 59}, {What: pushRelease, Disking: 94, A: 59, B: 12}},
	}},
	{"a group that was made on a template that cannot run has left the definition when the bootstrap ends, and an upgrade is due", Schedule{
		Seed: 791377780, Start: Start{Hot: 11, Warm: 1, Shards: 1, Leave: true, Early: true}, Steps: 55,
		Items: []Item{{What: pushBadTemplate, At: 3924, A: 2, B: 6}, {What: pushUpgrade, At: 29621, A: 4, B: 7}, {What: pushRemoveGroup, At: 80350, A: 6, B: 4}, {What: timeoutAfter, Call: 46, A: 17, B: 36}, {What: killAfter, Call: 7, A: 47, B: 21}, {What: killAfter, Call: 107, A: 5, B: 42}},
	}},
	{"the record is lost while a StatefulSet is recreated, somebody makes one in its place, a release opens the budget, and each write that closes it meets a fault", Schedule{
		Seed: 6021012295, Start: Start{Hot: 3, Warm: 1, Tables: []string{"1"}, Shards: 1, Extend: true, Leave: true, Zones: true, Driver: roundingDriver, Offline: true, Swaps: true, Compute: true}, Steps: 409,
		Items: []Item{{What: pushVolumes, At: 10370, A: 45, B: 16}, {What: killBefore, Recreating: 22, A: 53, B: 17}, {What: makeSetByHand, Recreating: 18, A: 59, B: 58}, {What: releaseCommand, Recreating: 14, A: 15, B: 13}, {What: unavailable, Recreating: 24, A: 38, B: 32}, {What: loseRecord, Recreating: 7, A: 25, B: 16}, {What: conflict, Recreating: 19, A: 59, B: 2}, {What: pushConsent, At: 1442, A: 4, B: 34}, {What: pushClass, At: 30792, A: 30, B: 45}, {What: pushCompute, At: 10524, A: 33, B: 58}},
	}},
	{"the record of an adopted cluster is lost, and during a pause a pod is evicted onto a template that cannot run", Schedule{
		Seed: 6021025970, Start: Start{Masters: 1, Hot: 3, Warm: 1, Tables: []string{"0-1", "0-all", "1", "0-all"}, Shards: 1, Driver: quickDriver, Compute: true, Adopted: true}, Steps: 152,
		Items: []Item{{What: pushPause, At: 34628, B: 6}, {What: timeoutAfter, Call: 5, A: 34}, {What: snapshot, Call: 17, A: 6, B: 10}, {What: pushCompute, At: 2024, A: 38, B: 51}, {What: releaseCommand, At: 12474, A: 15, B: 58}, {What: pushBadTemplate, At: 6901, A: 47, B: 38}, {What: drainNode, At: 51933, A: 26, B: 59}, {What: loseRecord, At: 28469, A: 61, B: 19}},
	}},
}
