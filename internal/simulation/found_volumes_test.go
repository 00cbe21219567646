package simulation

// foundInVolumes are schedules in which volumes grow. Each has failed on the decisions of before;
// some reach the same by another way since.
var foundInVolumes = []struct {
	name string
	s    Schedule
}{
	{"a StatefulSet that is gone cannot be made for a moment, and nobody is told", Schedule{
		Seed: 1100000499, Start: Start{Hot: 4, Warm: 1, Tables: []string{"0", "0-1", "0-1", "0"}, Shards: 1, Driver: slowDriver}, Steps: 137,
		Items: []Item{{What: conflict, Call: 29, A: 23, B: 28}, {What: conflict, Call: 1, A: 37, B: 22}, {What: replaceCommand, At: 313934, A: 15, B: 36}, {What: pushVolumes, At: 8077, A: 16, B: 42}, {What: drainNode, Recreating: 5, A: 44, B: 63}, {What: loseRecord, Recreating: 13, A: 14, B: 33}},
	}},
	{"a StatefulSet is recreated while the watch of claims shows none of it", Schedule{
		Seed: 1100000510, Start: Start{Hot: 1, Tables: []string{"0", "0-1"}, Shards: 1, Leave: true, Driver: quickDriver}, Steps: 149,
		Items: []Item{{What: pushAddGroup, At: 2272, A: 5, B: 5}, {What: stallWatch, Call: 3, A: 14, B: 10}, {What: pushVolumes, At: 10711, A: 50, B: 59}, {What: pushShrink, At: 10850, A: 53, B: 8}},
	}},
	{"the record is lost while the masters' StatefulSet is gone, and the definition is refused", Schedule{
		Seed: 1100003619, Start: Start{Hot: 2, Masters: 3, Tables: []string{"1", "0", "1", "0"}, Shards: 1, Leave: true, JSON: true, Driver: limitedDriver}, Steps: 145,
		Items: []Item{{What: pushPause, At: 2705, A: 1, B: 2}, {What: pushShrink, At: 17134, A: 7, B: 5}, {What: killAfter, Call: 7, A: 53, B: 59}, {What: cutDatabase, At: 100154, A: 12, B: 23}, {What: pushVolumes, At: 1258, A: 37, B: 43}, {What: loseRecord, Recreating: 14, A: 7}},
	}},
	{"a cluster is paused while a StatefulSet is gone, and another one lacks its annotations", Schedule{
		Seed: 1100003936, Start: Start{Hot: 1, Masters: 3, Shards: 1, Leave: true, Driver: quickDriver, Offline: true}, Steps: 125,
		Items: []Item{{What: pushSetting, At: 18586, A: 3, B: 2}, {What: abortCommand, Call: 16, A: 22, B: 32}, {What: forbid, Call: 32, A: 50, B: 54}, {What: pushVolumes, At: 6062, A: 16, B: 35}, {What: pushPause, Recreating: 7, A: 41, B: 26}},
	}},
	{"the record is lost while somebody's StatefulSet stands in the place of the masters'", Schedule{
		Seed: 1100008473, Start: Start{Hot: 2, Masters: 1, Warm: 1, Tables: []string{"2"}, Shards: 1, Leave: true, Driver: quickDriver, Offline: true}, Steps: 113,
		Items: []Item{{What: pushRemoveGroup, At: 2326, A: 6, B: 6}, {What: loseRecord, Call: 15, A: 52, B: 13}, {What: pushVolumes, At: 19109, A: 2, B: 59}, {What: makeSetByHand, Recreating: 14, A: 24, B: 44}},
	}},
	{"somebody's StatefulSet stands in the way while a push changes the counts", Schedule{
		Seed: 1100014112, Start: Start{Hot: 2, Warm: 1, Tables: []string{"0-1", "2"}, Shards: 2, Driver: quickDriver, Offline: true}, Steps: 146,
		Items: []Item{{What: pushGrow, At: 1257, A: 2, B: 4}, {What: pushRevert, At: 60182, A: 1, B: 5}, {What: pushVolumes, At: 1359, A: 21, B: 5}, {What: killBefore, Recreating: 8, A: 32, B: 16}, {What: makeSetByHand, Recreating: 5, A: 16, B: 16}},
	}},
	{"the record is lost in a recreation, and another one begins", Schedule{
		Seed: 1100016803, Start: Start{Hot: 1, Shards: 1, Extend: true, Leave: true, Driver: limitedDriver}, Steps: 122,
		Items: []Item{{What: loseRecord, Call: 17, A: 28, B: 19}, {What: pushShrink, At: 84816, A: 1, B: 2}, {What: pushVolumes, At: 425, A: 33, B: 47}, {What: stallCollector, Recreating: 1, A: 34, B: 30}},
	}},
	{"nodes come between the count of the pods and the deletion", Schedule{
		Seed: 1100018325, Start: Start{Hot: 8, Warm: 1, Tables: []string{"1"}, Shards: 1, Extend: true, Leave: true, Zones: true, Driver: quickDriver, Offline: true}, Steps: 129,
		Items: []Item{{What: pushRevert, At: 1999, A: 1, B: 1}, {What: pushRelease, At: 10036, A: 1, B: 3}, {What: pushRevert, At: 36726, A: 2, B: 7}, {What: stallController, Call: 24, A: 56, B: 37}, {What: pushVolumes, At: 7728, A: 59, B: 11}, {What: restartDaemon, At: 43035, A: 58, B: 16}, {What: killAfter, Recreating: 7, A: 31, B: 6}},
	}},
	{"a setting is set and the cluster released before a StatefulSet is deleted", Schedule{
		Seed: 1100018536, Start: Start{Hot: 2, Masters: 5, Tables: []string{"0-1", "0-all", "0-1", "0-all"}, Shards: 3, Second: true, Extend: true, Leave: true, Driver: quickDriver}, Steps: 572,
		Items: []Item{{What: pushRestart, At: 1457, A: 3, B: 3}, {What: pushSuspend, At: 20411, A: 1, B: 7}, {What: timeoutAfter, Call: 32, A: 13, B: 49}, {What: standStill, Call: 12, A: 34, B: 36}, {What: restartDaemon, Call: 66, A: 47, B: 16}, {What: pinTable, At: 175667, A: 26, B: 60}, {What: pushShrink, At: 203831, A: 2, B: 3}, {What: pushVolumes, At: 12169, A: 37, B: 46}, {What: restartDaemon, At: 68528, A: 2, B: 49}, {What: loseRecord, At: 53665, A: 52, B: 25}, {What: loseVolume, At: 67811, A: 60, B: 54}, {What: releaseCommand, Recreating: 13, A: 47, B: 10}},
	}},
	{"nodes come while a StatefulSet is gone, and the budget keeps as many as there were", Schedule{
		Seed: 1100021102, Start: Start{Hot: 3, Warm: 1, Tables: []string{"0-all", "0", "2"}, Shards: 1, Extend: true, Leave: true, Driver: quickDriver, Offline: true}, Steps: 116,
		Items: []Item{{What: pushUpgrade, At: 737, B: 4}, {What: conflict, Call: 19, A: 9, B: 55}, {What: releaseCommand, Call: 68, A: 44, B: 28}, {What: abortCommand, Call: 52, A: 29, B: 54}, {What: stallController, Call: 18, A: 21, B: 13}, {What: pushVolumes, At: 9549, A: 52, B: 40}},
	}},
	{"a claim is deleted between the decision to recreate and the deletion", Schedule{
		Seed: 1100024054, Start: Start{Hot: 1, Masters: 1, Tables: []string{"0"}, Shards: 1, Extend: true, Driver: quickDriver, Offline: true}, Steps: 110,
		Items: []Item{{What: pushTemplate, At: 313, A: 7, B: 3}, {What: killNode, Call: 7, A: 17, B: 51}, {What: pushVolumes, At: 9434, A: 63, B: 18}, {What: loseRecord, At: 62806, A: 39, B: 60}, {What: deleteClaimByHand, At: 47733, A: 36, B: 47}, {What: pushVolumes, At: 27968, A: 50, B: 2}, {What: killAfter, Recreating: 9, A: 8, B: 35}},
	}},
	{"somebody's StatefulSet stands in the way while a live setting is pushed", Schedule{
		Seed: 1100024932, Start: Start{Hot: 2, Tables: []string{"1", "0"}, Shards: 1, Extend: true, Leave: true, Zones: true, Driver: quickDriver, Offline: true}, Steps: 139,
		Items: []Item{{What: pushSetting, At: 51711, A: 4, B: 4}, {What: pushVolumes, At: 13594, A: 12, B: 10}, {What: makeSetByHand, Recreating: 3, A: 32, B: 38}},
	}},
	{"the record is lost while the only StatefulSet is gone, and fewer nodes are desired", Schedule{
		Seed: 1100026057, Start: Start{Hot: 4, Shards: 1, Extend: true, Driver: quickDriver}, Steps: 123,
		Items: []Item{{What: pushShrink, At: 27517, A: 3, B: 3}, {What: killNode, Call: 25, A: 24, B: 41}, {What: pushVolumes, At: 2526, A: 30, B: 5}, {What: loseRecord, Recreating: 7, A: 56, B: 46}},
	}},
	{"a node is added by hand while a StatefulSet is gone", Schedule{
		Seed: 1100028361, Start: Start{Hot: 1, Warm: 1, Shards: 1, Extend: true, Leave: true, Zones: true, Driver: quickDriver}, Steps: 118,
		Items: []Item{{What: pushSetting, At: 2739, A: 2, B: 4}, {What: pushVolumes, At: 8241, A: 30, B: 62}, {What: pushVolumes, At: 38558, A: 20, B: 9}, {What: makeSetByHand, Recreating: 15, A: 35, B: 8}, {What: scaleUpByHand, Recreating: 21, A: 20, B: 6}},
	}},
	{"a change of counts is refused again and again, and then the StatefulSet is recreated", Schedule{
		Seed: 1100050203, Start: Start{Hot: 2, Shards: 1, Leave: true, Driver: roundingDriver}, Steps: 144,
		Items: []Item{{What: pushSetting, At: 347, A: 2, B: 6}, {What: pushRevert, At: 3707, A: 1, B: 1}, {What: timeoutAfter, Call: 15, A: 28, B: 52}, {What: forbid, Call: 13, A: 16, B: 50}, {What: conflict, Call: 33, A: 61, B: 7}, {What: pushVolumes, At: 17155, A: 20, B: 45}, {What: pauseCommand, Recreating: 8, A: 47, B: 21}},
	}},
	{"the record and the note of a lock are lost with the StatefulSet", Schedule{
		Seed: 1100066722, Start: Start{Hot: 2, Tables: []string{"0"}, Shards: 1, Driver: roundingDriver}, Steps: 133,
		Items: []Item{{What: pushTemplate, At: 946, A: 6, B: 1}, {What: releaseCommand, At: 81417, A: 32, B: 18}, {What: setTransient, Call: 26, A: 60, B: 27}, {What: pushVolumes, At: 8082, A: 43, B: 1}, {What: loseRecord, Recreating: 10, A: 17, B: 11}},
	}},
	{"a template that is kept was saved with the sizes of before a recreation", Schedule{
		Seed: 1100229552, Start: Start{Hot: 1, Tables: []string{"0-1"}, Shards: 3, Driver: quickDriver}, Steps: 143,
		Items: []Item{{What: pushAddGroup, At: 2821, A: 2, B: 5}, {What: loseRecord, Call: 16, A: 27, B: 37}, {What: loseRecord, Call: 12, A: 34, B: 36}, {What: pushVolumes, At: 11897, A: 41, B: 51}, {What: loseRecord, Recreating: 4, A: 48, B: 50}},
	}},
	{"the only pod is lost while its StatefulSet is gone, and the cluster is released", Schedule{
		Seed: 1100239329, Start: Start{Hot: 1, Shards: 1, Extend: true, Leave: true, Driver: quickDriver}, Steps: 110,
		Items: []Item{{What: killAfter, Call: 20, A: 62, B: 31}, {What: pushOffline, At: 44050, A: 4, B: 12}, {What: pushVolumes, At: 39224, A: 55, B: 15}, {What: loseVolume, At: 58524, A: 56, B: 58}, {What: stallWatch, Recreating: 4, A: 60, B: 57}, {What: pushRelease, Recreating: 10, A: 6, B: 16}},
	}},
	{"a node is added by hand while a StatefulSet is gone and the daemon is killed", Schedule{
		Seed: 1100017660, Start: Start{Hot: 1, Tables: []string{"0-all"}, Shards: 2, Extend: true, Driver: limitedDriver}, Steps: 119,
		Items: []Item{{What: pushAddGroup, At: 2300, A: 3, B: 6}, {What: pushVolumes, At: 16251, A: 24, B: 8}, {What: scaleUpByHand, Recreating: 15, A: 29, B: 37}, {What: forbid, Recreating: 14, A: 13, B: 40}, {What: restartDaemon, Recreating: 11, A: 16, B: 34}, {What: standStill, Recreating: 10, A: 2, B: 1}, {What: killBefore, Recreating: 14, A: 33, B: 41}},
	}},
	{"the record is lost while the only StatefulSet is gone, and a group more and another version are desired", Schedule{
		Seed: 1100209594, Start: Start{Hot: 3, Tables: []string{"0", "0-all"}, Shards: 2, Extend: true, Leave: true, Driver: quickDriver, Offline: true}, Steps: 476,
		Items: []Item{{What: pushRemoveGroup, At: 2467, A: 7, B: 3}, {What: pushAddGroup, At: 16879, A: 6, B: 5}, {What: stickTerminating, Call: 39, A: 37, B: 21}, {What: unavailable, Call: 26, A: 20, B: 55}, {What: pushVolumes, At: 6547, A: 36, B: 11}, {What: pushVolumes, At: 50087, A: 22, B: 52}, {What: loseRecord, At: 51279, A: 41, B: 32}, {What: restartDaemon, At: 31557, A: 45, B: 60}},
	}},
	{"a cluster is resumed whose volumes wait for their mount, and one of them does not follow", Schedule{
		Seed: 1100334458, Start: Start{Hot: 2, Warm: 1, Tables: []string{"0-all", "1"}, Shards: 1, Extend: true, Leave: true, Driver: offlineDriver}, Steps: 556,
		Items: []Item{{What: pushBadTemplate, At: 4145, A: 3, B: 1}, {What: pushSuspend, At: 60086, A: 7, B: 3}, {What: releaseCommand, At: 76657, A: 44, B: 43}, {What: pushVolumes, At: 4033, A: 58, B: 21}, {What: stickDriver, At: 62255, A: 41, B: 57}},
	}},
	{"the record is lost while a StatefulSet is gone, and a pod of another is stuck for want of its template", Schedule{
		Seed: 1300051569, Start: Start{Hot: 2, Masters: 3, Tables: []string{"0-all", "0-1", "0"}, Shards: 1, Extend: true, Zones: true, JSON: true, Driver: quickDriver, Offline: true}, Steps: 143,
		Items: []Item{{What: pushBadTemplate, At: 4719}, {What: pushShrink, At: 31522, A: 1}, {What: releaseCommand, At: 24180, A: 57, B: 60}, {What: timeoutAfter, Call: 26, A: 26, B: 43}, {What: pushVolumes, At: 19258, A: 16, B: 24}, {What: loseRecord, Recreating: 6, A: 11, B: 44}, {What: killBefore, Recreating: 8, A: 59, B: 56}},
	}},
	{"the record is lost while a StatefulSet is gone whose group has left the definition", Schedule{
		Seed: 1300039709, Start: Start{Hot: 1, Warm: 1, Tables: []string{"1", "1", "1", "1"}, Shards: 3, Extend: true, Leave: true, Driver: quickDriver}, Steps: 117,
		Items: []Item{{What: pushVolumes, At: 31809, A: 30, B: 18}, {What: loseRecord, Recreating: 7, A: 15, B: 24}, {What: pushRemoveGroup, Recreating: 2, A: 39, B: 26}, {What: conflict, Recreating: 10, A: 16, B: 37}},
	}},
	{"a pod comes that mounts a volume, and the watch of pods brings nothing", Schedule{
		Seed: 1300089647, Start: Start{Hot: 3, Tables: []string{"1-all", "1-all"}, Shards: 2, Leave: true, Zones: true, Driver: slowDriver, Offline: true}, Steps: 144,
		Items: []Item{{What: pushShrink, At: 4143, A: 4, B: 1}, {What: pushGrow, At: 50188, A: 4, B: 6}, {What: stallWatch, Call: 29, A: 37, B: 41}, {What: pushVolumes, At: 18797, A: 53, B: 25}, {What: pushShrink, At: 45886, A: 2, B: 10}},
	}},
	{"the record is lost while a StatefulSet is gone, and somebody makes the old one from a file", Schedule{
		Seed: 1300098741, Start: Start{Hot: 2, Tables: []string{"0-1", "1", "0-1", "0-1"}, Shards: 3, Leave: true, Driver: quickDriver}, Steps: 121,
		Items: []Item{{What: pushGrow, At: 2435, A: 4}, {What: denySystem, Call: 9, A: 49, B: 49}, {What: pushVolumes, At: 1764, A: 60, B: 61}, {What: makeSetByHand, Recreating: 4, A: 57, B: 33}, {What: killNode, Recreating: 2, A: 58, B: 23}, {What: loseRecord, Recreating: 4, A: 27, B: 59}},
	}},
	{"a group leaves the definition and the record is lost while its StatefulSet is gone", Schedule{
		Seed: 1300110122, Start: Start{Hot: 2, Warm: 1, Tables: []string{"2", "1", "0", "1"}, Shards: 2, Leave: true, Driver: roundingDriver, Offline: true}, Steps: 124,
		Items: []Item{{What: pushShrink, At: 3022, A: 7, B: 3}, {What: pushRemoveGroup, At: 43790, A: 2, B: 7}, {What: standStill, Call: 8, A: 61, B: 27}, {What: pushVolumes, At: 18426, A: 51, B: 45}, {What: pushVolumes, At: 29271, A: 22, B: 50}, {What: loseRecord, Recreating: 9, A: 50, B: 38}},
	}},
	{"two claims have failed, and less is desired", Schedule{
		Seed: 1300130675, Start: Start{Hot: 4, Warm: 1, Tables: []string{"0-all"}, Shards: 1, Extend: true, Leave: true, Zones: true, Driver: limitedDriver}, Steps: 142,
		Items: []Item{{What: pushUpgrade, At: 4489, A: 7, B: 4}, {What: stallWatch, Call: 1, A: 8, B: 13}, {What: pushVolumes, At: 10005, A: 35, B: 24}},
	}},
	{"a pod fails in the very moment in which its StatefulSet is deleted, and the template that cures it is refused", Schedule{
		Seed: 1300137051, Start: Start{Hot: 1, Masters: 3, Tables: []string{"0-1"}, Shards: 1, Leave: true, Zones: true, Driver: slowDriver}, Steps: 143,
		Items: []Item{{What: pushPause, At: 47461, A: 3, B: 6}, {What: killBefore, Call: 2, A: 56, B: 15}, {What: crashProcess, Call: 9, B: 4}, {What: conflict, Call: 15, A: 9, B: 43}, {What: pushVolumes, At: 16509, A: 44, B: 2}, {What: killBefore, Recreating: 4, A: 59, B: 53}},
	}},
	{"two claims have failed, a watch stalls, and less is desired", Schedule{
		Seed: 1300140195, Start: Start{Hot: 2, Tables: []string{"0-1", "1", "1-all", "0"}, Shards: 1, Extend: true, Leave: true, Zones: true, Driver: limitedDriver, Offline: true}, Steps: 136,
		Items: []Item{{What: pushSuspend, At: 4912, A: 2, B: 3}, {What: stallWatch, At: 153020, A: 13, B: 19}, {What: stickTerminating, At: 107122, A: 51, B: 41}, {What: pushVolumes, At: 722, A: 47, B: 9}, {What: pushOffline, At: 53349, A: 55, B: 61}},
	}},
	{"claims have failed under a template that cannot run, and less is desired", Schedule{
		Seed: 1300140538, Start: Start{Hot: 3, Tables: []string{"1-all", "2", "2"}, Shards: 2, Leave: true, Zones: true, Driver: limitedDriver, Offline: true}, Steps: 121,
		Items: []Item{{What: pushBadTemplate, At: 2979, A: 4, B: 5}, {What: stallWatch, Call: 17, A: 14, B: 37}, {What: pauseCommand, Call: 36, A: 30}, {What: pushVolumes, At: 5179, A: 54, B: 44}, {What: pushVolumes, At: 27979, A: 31, B: 13}},
	}},
	{"the record is lost while the only StatefulSet is gone, and the cluster is to be suspended", Schedule{
		Seed: 1300155378, Start: Start{Hot: 3, Tables: []string{"1", "1"}, Shards: 1, Extend: true, Leave: true, Driver: limitedDriver}, Steps: 142,
		Items: []Item{{What: pushRevert, At: 4673, A: 4, B: 4}, {What: pushSuspend, At: 25782, A: 4, B: 1}, {What: pinTable, At: 195733, A: 53, B: 62}, {What: pushVolumes, At: 9440, A: 28, B: 50}, {What: standStill, Recreating: 8, A: 34, B: 47}, {What: loseRecord, Recreating: 14, A: 27, B: 60}},
	}},
	{"the volume of a pod is enlarged in the second in which the pod is made and starts, offline: masters", Schedule{
		Seed: 1300174962, Start: Start{Hot: 1, Masters: 5, Tables: []string{"0-1", "0", "0-1"}, Shards: 1, Extend: true, Leave: true, Driver: offlineDriver, Offline: true}, Steps: 116,
		Items: []Item{{What: pushVolumes, At: 18513, A: 5, B: 36}},
	}},
	{"the same with nodes that come", Schedule{
		Seed: 1300206796, Start: Start{Hot: 2, Tables: []string{"0-1", "0", "0-1"}, Shards: 2, Extend: true, Leave: true, Zones: true, Driver: offlineDriver, Offline: true}, Steps: 116,
		Items: []Item{{What: pushRemoveGroup, At: 2394}, {What: stallWatch, Call: 9, A: 4, B: 58}, {What: drainNode, Call: 22, A: 20, B: 49}, {What: pushNeverReady, At: 14028, A: 11, B: 57}, {What: pushVolumes, At: 12189, A: 9, B: 59}, {What: pushGrow, At: 18770, A: 63, B: 46}},
	}},
}
