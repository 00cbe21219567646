package simulation

// foundSince are schedules of the runs after the first ones with volumes that grow. Each has ended in
// a violation before the decision, or the judge, was corrected.
var foundSince = []struct {
	name string
	s    Schedule
}{
	{"somebody sets the filter that a drain has written down and not set yet", Schedule{
		Seed: 1300197999, Start: Start{Masters: 3, Hot: 2, Tables: []string{"0-1"}, Shards: 1, Extend: true, Driver: quickDriver, Offline: true}, Steps: 136,
		Items: []Item{{What: killBefore, Call: 3, A: 6, B: 43}, {What: pinTable, At: 7249, A: 37, B: 15}, {What: pinTable, At: 22705, A: 58, B: 47}, {What: pushVolumes, At: 18495, A: 24, B: 6}},
	}},
	{"somebody puts a table's filter back, and the drain sets its list again after fewer nodes were pushed", Schedule{
		Seed: 1300228485, Start: Start{Masters: 3, Hot: 2, Tables: []string{"1", "0-1", "0-all", "1"}, Shards: 1, Extend: true, Leave: true, Zones: true}, Steps: 616,
		Items: []Item{{What: pushAddGroup, At: 25126, A: 7, B: 7}, {What: pushRevert, At: 38176, A: 7}, {What: killBefore, Call: 8, A: 24, B: 2}, {What: pinTable, At: 50736, A: 35, B: 56}, {What: pinTable, At: 50736, A: 38, B: 5}, {What: pushShrink, At: 61059, A: 4, B: 4}, {What: pinTable, At: 103914, A: 30, B: 1}},
	}},
	{"the record is lost while a StatefulSet is deleted, and a release ends right after it opened the budget", Schedule{
		Seed: 1300244608, Start: Start{Hot: 3, Tables: []string{"1-all", "0"}, Shards: 2, Extend: true, Leave: true, Zones: true, Driver: limitedDriver, Offline: true}, Steps: 118,
		Items: []Item{{What: pushPause, At: 3577, A: 1, B: 4}, {What: pushGrow, At: 18075, A: 3, B: 4}, {What: forbid, Call: 17, A: 59, B: 49}, {What: loseAnswer, At: 121277, A: 21, B: 4}, {What: excludeByID, Call: 38, A: 21, B: 57}, {What: replaceCommand, At: 271616, A: 49, B: 40}, {What: replaceCommand, At: 192084, A: 50, B: 52}, {What: pushVolumes, At: 3770, A: 31, B: 28}, {What: forbid, Recreating: 9, A: 7, B: 57}, {What: stallCollector, Recreating: 3, A: 4, B: 15}, {What: loseRecord, Recreating: 11, A: 47, B: 57}, {What: pushRelease, Recreating: 10, A: 33, B: 42}},
	}},
	{"the record is lost while the only StatefulSet is gone, and with it that a setting was set live", Schedule{
		Seed: 1300189090, Start: Start{Hot: 1, Tables: []string{"0"}, Shards: 1, Extend: true, Leave: true, Driver: quickDriver, Offline: true}, Steps: 580,
		Items: []Item{{What: pushSetting, At: 176, B: 7}, {What: pushSetting, At: 43354, A: 5}, {What: loseRecord, Call: 8, A: 24, B: 59}, {What: pushVolumes, At: 12346, A: 31, B: 32}},
	}},
	{"a claim goes with its pod right after an upgrade that it held back began, and before that is taken back", Schedule{
		Seed: 1500044201, Start: Start{Hot: 10, Warm: 2, Tables: []string{"1", "1", "0-1"}, Shards: 1, Driver: offlineDriver, Offline: true}, Steps: 126,
		Items: []Item{{What: pushGrow, At: 4872, A: 5, B: 3}, {What: loseAnswer, Call: 10, A: 9, B: 28}, {What: setTransient, Call: 26, A: 49, B: 44}, {What: replaceCommand, At: 46510, A: 62, B: 57}, {What: pushVolumes, At: 6320, A: 31, B: 14}, {What: deleteClaimByHand, At: 36738, A: 13, B: 25}, {What: deleteClaimByHand, At: 34691, A: 2, B: 39}, {What: pushOffline, At: 36759, A: 1, B: 48}, {What: pushUpgrade, At: 83499, A: 29, B: 39}},
	}},
	{"the record is lost while a StatefulSet is deleted, and a command to release ends right after the budget opened", Schedule{
		Seed: 1500023412, Start: Start{Hot: 3, Warm: 1, Tables: []string{"1"}, Shards: 3, Leave: true, Zones: true, Driver: limitedDriver}, Steps: 124,
		Items: []Item{{What: pushPause, At: 4757, B: 1}, {What: pushTemplate, At: 20191, A: 4, B: 6}, {What: killAfter, Call: 2, A: 63, B: 41}, {What: loseRecord, Call: 10, A: 8, B: 52}, {What: pushVolumes, At: 2743, A: 56, B: 39}, {What: evict, At: 62201, A: 55, B: 12}, {What: releaseCommand, Recreating: 19, A: 58, B: 58}, {What: deleteClaimByHand, At: 19528, A: 47, B: 57}, {What: replaceCommand, At: 30999, A: 7, B: 51}, {What: pushTemplate, At: 36269, A: 42, B: 50}, {What: pushOffline, At: 16992, A: 23, B: 26}, {What: pushTemplate, At: 22969, A: 15, B: 23}, {What: agreeByHand, At: 46321, A: 53, B: 62}},
	}},
	{"the first claim that has grown goes with its pod while the others are asked", Schedule{
		Seed: 1500042107, Start: Start{Hot: 3, Tables: []string{"0-all", "1"}, Shards: 1, Leave: true, Zones: true, Driver: quickDriver, Offline: true}, Steps: 112,
		Items: []Item{{What: pushPause, At: 470, A: 4}, {What: timeoutAfter, Call: 25, B: 32}, {What: releaseCommand, At: 56328, A: 18, B: 54}, {What: restartDaemon, At: 171394, A: 16, B: 55}, {What: replaceCommand, At: 295288, A: 49}, {What: pushVolumes, At: 8095, A: 13, B: 38}, {What: deleteClaimByHand, At: 13649, A: 24, B: 43}, {What: pushUpgrade, At: 57591, A: 36, B: 1}, {What: agreeByHand, At: 73723, A: 3, B: 60}},
	}},
	{"the cluster state changes twice after the reading on which a shrink begins", Schedule{
		Seed: 1500083493, Start: Start{Hot: 10, Warm: 1, Tables: []string{"0-1"}, Shards: 1, Second: true, Zones: true, Driver: quickDriver}, Steps: 116,
		Items: []Item{{What: pushRelease, At: 1921, A: 2, B: 7}, {What: pushShrink, At: 10398, A: 5, B: 3}, {What: pushRestart, At: 30910, A: 4, B: 3}, {What: cutDatabase, At: 123809, A: 25, B: 5}, {What: pushVolumes, At: 18891, A: 48, B: 54}, {What: pushOffline, At: 27194, A: 20, B: 14}, {What: fillDisks, At: 69272, A: 2, B: 37}},
	}},
	{"a StatefulSet is recreated, without a pod, in a write whose answer is lost", Schedule{
		Seed: 1500001387, Start: Start{Hot: 1, Warm: 1, Tables: []string{"1", "1-all", "0-1"}, Shards: 2, Extend: true, Leave: true, Driver: offlineDriver, Offline: true}, Steps: 136,
		Items: []Item{{What: pushShrink, At: 533, A: 4, B: 7}, {What: timeoutAfter, Call: 6, A: 21, B: 49}, {What: stickTerminating, At: 10199, A: 27, B: 17}, {What: pushVolumes, At: 1691, B: 42}, {What: timeoutAfter, Recreating: 11, A: 49, B: 11}, {What: deletePodByHand, Recreating: 8, A: 49, B: 14}},
	}},
	{"an upgrade is taken back after its first pod was decided to go, and before it did", Schedule{
		Seed: 1100003701, Start: Start{Hot: 1, Tables: []string{}, Shards: 1, Leave: true, Driver: quickDriver, Offline: true}, Steps: 110,
		Items: []Item{{What: pushShrink, At: 7902, A: 2, B: 3}, {What: pushRevert, At: 53138, A: 4}, {What: killAfter, Call: 27, A: 33, B: 58}, {What: killAfter, Call: 4, A: 36, B: 17}, {What: pushVolumes, At: 16327, A: 6, B: 52}},
	}},
	{"a volume has been replaced, and the watch of claims still shows the one before", Schedule{
		Seed: 1500143251, Start: Start{Masters: 3, Hot: 1, Tables: []string{}, Shards: 1, Extend: true, Leave: true, Zones: true, Driver: silentDriver, Offline: true}, Steps: 748,
		Items: []Item{{What: stallWatch, Call: 13, A: 14, B: 39}, {What: deleteClaimByHand, At: 9170, A: 3, B: 46}, {What: agreeByHand, At: 31200, A: 51, B: 6}},
	}},
	{"a cluster is paused while a table with the filter of a drain is hidden, and nobody is told", Schedule{
		Seed: 1500186518, Start: Start{Masters: 3, Hot: 2, Tables: []string{"0-1"}, Shards: 1, Extend: true}, Steps: 81,
		Items: []Item{{What: pushPause, At: 58360, A: 1, B: 7}, {What: denySystem, Call: 24, A: 14, B: 22}, {What: pinTable, At: 8646, A: 14, B: 6}, {What: pushShrink, At: 25542, A: 7, B: 3}},
	}},
	{"a volume is lost while a cluster is made, and the other pod is never ready", Schedule{
		Seed: 1500191679, Start: Start{Hot: 2, Tables: []string{}, Shards: 1, Leave: true, Early: true, Driver: limitedDriver}, Steps: 132,
		Items: []Item{{What: pushRelease, At: 1501, A: 6, B: 7}, {What: failProbe, At: 33296, A: 51, B: 49}, {What: deleteClaimByHand, At: 31616, A: 4, B: 37}},
	}},
	{"the record is lost while somebody's StatefulSet stands in the place of one that is gone, and a growth ends", Schedule{
		Seed: 1500233904, Start: Start{Hot: 1, Warm: 1, Tables: []string{"0-all"}, Shards: 1, Leave: true, Driver: limitedDriver}, Steps: 129,
		Items: []Item{{What: loseRecord, Call: 33, A: 41, B: 38}, {What: pushVolumes, At: 8263, A: 12, B: 36}, {What: makeSetByHand, Recreating: 15, A: 4, B: 62}, {What: deletePodByHand, Recreating: 21, A: 22, B: 5}, {What: deleteClaimByHand, At: 7362, A: 13, B: 10}, {What: crashProcess, At: 8798, A: 41, B: 57}},
	}},
	{"a release ends where a StatefulSet is gone, and was saved with larger claims than Git says by now", Schedule{
		Seed: 1500237052, Start: Start{Hot: 2, Tables: []string{"0-1"}, Shards: 2, Extend: true, Leave: true, Zones: true, Driver: quickDriver, Offline: true}, Steps: 134,
		Items: []Item{{What: loseRecord, Call: 6, A: 37, B: 9}, {What: releaseCommand, At: 136636, A: 38, B: 29}, {What: pushVolumes, At: 16001, A: 29, B: 17}, {What: pushVolumesBack, Recreating: 11, A: 26, B: 16}, {What: pushRelease, Recreating: 13, A: 13, B: 13}, {What: killAfter, Recreating: 20, A: 57, B: 35}, {What: drainNode, Recreating: 8, A: 16, B: 14}, {What: deleteClaimByHand, At: 862, A: 29, B: 3}},
	}},
	{"a group comes back on a claim that grows, and its pod has still to come", Schedule{
		Seed: 1500283098, Start: Start{Hot: 3, Warm: 1, Tables: []string{"2", "0-all"}, Shards: 3, Leave: true, Driver: quickDriver}, Steps: 548,
		Items: []Item{{What: pushAddGroup, At: 58468, A: 6, B: 2}, {What: pushVolumes, At: 12677, A: 11, B: 23}, {What: killNode, Recreating: 12, A: 31, B: 5}, {What: stallController, Recreating: 14, A: 3, B: 50}},
	}},
	{"a group that runs on no template goes out of the definition while it is upgraded", Schedule{
		Seed: 1500018671, Start: Start{Hot: 1, Tables: []string{}, Shards: 1, Extend: true, Leave: true, Driver: silentDriver, Offline: true}, Steps: 130,
		Items: []Item{{What: pushBadTemplate, At: 2214, A: 4, B: 6}, {What: pushAddGroup, At: 3463, A: 3, B: 5}, {What: pushVolumes, At: 13299, A: 6, B: 36}, {What: pushVolumes, At: 47186, A: 51, B: 39}},
	}},
	{"a file system follows while the watch of claims brings nothing, and its pod is restarted for it", Schedule{
		Seed: 1500433145, Start: Start{Hot: 1, Tables: []string{"0-1", "0-1"}, Shards: 1, Driver: slowDriver, Offline: true}, Steps: 140,
		Items: []Item{{What: pushShrink, At: 1541, A: 5, B: 2}, {What: stallWatch, At: 44355, A: 20, B: 63}, {What: releaseCommand, At: 142900, A: 8, B: 55}, {What: pushVolumes, At: 16665, A: 8, B: 55}},
	}},
	{"of a cluster neither a record nor a StatefulSet nor a volume is left", Schedule{
		Seed: 1500654976, Start: Start{Hot: 2, Tables: []string{"0-all", "0-all", "0-1", "0-1"}, Shards: 2, Extend: true, Leave: true, Zones: true, Driver: quickDriver, Offline: true}, Steps: 149,
		Items: []Item{{What: pushBadTemplate, At: 3698, A: 5, B: 1}, {What: killBefore, Call: 35, A: 11, B: 33}, {What: killBefore, Call: 8, A: 61, B: 22}, {What: pushVolumes, At: 8238, A: 2, B: 28}, {What: pushVolumesBack, At: 61687, A: 31, B: 31}, {What: pushGrow, At: 31535, A: 28, B: 9}, {What: deleteClaimByHand, At: 52968, A: 9, B: 27}, {What: deleteClaimByHand, At: 33126, A: 10, B: 13}, {What: loseRecord, At: 59929, A: 21, B: 9}, {What: pushVolumes, At: 27916, A: 31, B: 43}, {What: killAfter, Recreating: 5, A: 6, B: 22}},
	}},
	{"a claim that no pod uses has grown but for its file system, and is deleted while the others are asked", Schedule{
		Seed: 1500679020, Start: Start{Hot: 4, Warm: 1, Tables: []string{"1"}, Shards: 3, Leave: true, Driver: quickDriver, Offline: true}, Steps: 140,
		Items: []Item{{What: pushShrink, At: 3871, A: 6, B: 1}, {What: createTable, At: 22880, A: 53, B: 46}, {What: excludeByName, At: 27031, A: 33, B: 55}, {What: pushVolumes, At: 2141, A: 24, B: 10}, {What: deleteClaimByHand, At: 37508, A: 35, B: 11}, {What: pushSuspend, At: 33969, A: 29, B: 21}},
	}},
}
