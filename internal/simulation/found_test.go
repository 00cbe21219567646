package simulation

// found are schedules that the simulation has found since, each reduced to what it
// needs.
var found = []struct {
	name string
	s    Schedule
}{
	{"a node joins just before its pod is recreated", Schedule{
		Seed: 21769, Start: Start{Masters: 3, Hot: 2, Tables: []string{"0-1", "0", "0-all"}, Shards: 3, Extend: true, Leave: true}, Steps: 68,
		Items: []Item{{What: pushRelease, At: 3492, A: 6, B: 7}, {What: pushShrink, At: 39007, A: 6, B: 3}, {What: crashProcess, Call: 19, A: 48}, {What: killNode, At: 71036, A: 34, B: 21}},
	}},
	{"a template that was never applied is taken back, and the daemon ends", Schedule{
		Seed: 21981, Start: Start{Hot: 1, Tables: []string{"0-1", "0-1", "0-1", "0"}, Shards: 1, Extend: true}, Steps: 78,
		Items: []Item{{What: pushBadTemplate, At: 1888, A: 5, B: 6}, {What: pushRevert, At: 22611, A: 3, B: 7}, {What: pushGrow, At: 39176, A: 5, B: 2}, {What: restartDaemon, Call: 13, A: 14, B: 58}, {What: restartDaemon, At: 1517, A: 54, B: 48}, {What: forbid, Call: 1, A: 17, B: 51}},
	}},
	{"a group is made on a template that cannot run, and the correction is of another version", Schedule{
		Seed: 21633, Start: Start{Hot: 1, Tables: []string{"0-1"}, Shards: 1, Leave: true}, Steps: 63,
		Items: []Item{{What: pushBadTemplate, At: 2559, A: 5, B: 5}, {What: pushAddGroup, At: 6833, A: 3, B: 4}, {What: pushUpgrade, At: 40766, A: 6, B: 4}},
	}},
	{"both nodes are stuck while a group is being made", Schedule{
		Seed: 27812, Start: Start{Hot: 2, Tables: []string{"0-1", "0-1"}, Shards: 3, Extend: true, Leave: true}, Steps: 78,
		Items: []Item{{What: pushAddGroup, At: 3589, A: 1}, {What: pushBadTemplate, At: 25385, A: 2}, {What: crashProcess, Call: 14, A: 57, B: 61}, {What: cutDatabase, Call: 34, A: 25, B: 12}},
	}},
	{"a process dies while a pod that was evicted is stuck on the next template", Schedule{
		Seed: 34185, Start: Start{Hot: 2, Shards: 1, Extend: true}, Steps: 672,
		Items: []Item{{What: pushTemplate, At: 4450, A: 3, B: 2}, {What: pushBadTemplate, At: 63457, A: 2, B: 3}, {What: evict, Call: 38, A: 50, B: 32}, {What: crashProcess, At: 143568, A: 43, B: 27}, {What: cutDatabase, Call: 31, A: 56, B: 53}},
	}},
	{"one of two nodes is stuck, and the other comes back beside it on an empty volume", Schedule{
		Seed: 24800, Start: Start{Hot: 2, Shards: 1, Extend: true, Leave: true, Zones: true}, Steps: 90,
		Items: []Item{{What: pushBadTemplate, At: 3549, A: 5, B: 1}, {What: loseVolume, At: 72305, A: 63, B: 8}},
	}},
	{"a pod is recreated on a template that cannot run, and the correction is of another version", Schedule{
		Seed: 26361, Start: Start{Hot: 2, Shards: 1, Extend: true, Leave: true}, Steps: 69,
		Items: []Item{{What: pushBadTemplate, At: 4092, A: 5, B: 4}, {What: pushUpgrade, At: 50571, A: 2, B: 6}, {What: killNode, At: 4428, A: 36, B: 63}},
	}},
	{"the record and the quorum are lost, and the correction is of another version", Schedule{
		Seed: 17016, Start: Start{Hot: 2, Tables: []string{"1", "0", "0-1", "0-1"}, Shards: 1}, Steps: 62,
		Items: []Item{{What: pushBadTemplate, At: 3999, A: 1, B: 6}, {What: pushUpgrade, At: 29377, A: 7}, {What: standStill, Call: 37, A: 13, B: 27}, {What: loseRecord, Call: 21, A: 9, B: 11}},
	}},
	{"one set waits for its turn on a template on which another is stuck", Schedule{
		Seed: 25982, Start: Start{Masters: 3, Hot: 1, Shards: 1, Leave: true}, Steps: 58,
		Items: []Item{{What: pushBadTemplate, At: 758, A: 6, B: 6}, {What: loseVolume, Call: 17, A: 10, B: 3}, {What: crashProcess, Call: 3, A: 43, B: 60}},
	}},
	{"the record is lost, the first pod is stuck, and the correction is of another version", Schedule{
		Seed: 34401, Start: Start{Hot: 2, Tables: []string{"1-all", "0"}, Shards: 1, Leave: true}, Steps: 90,
		Items: []Item{{What: pushBadTemplate, At: 15870, A: 1, B: 6}, {What: pushUpgrade, At: 53686, A: 7}, {What: stallWatch, Call: 27, A: 25, B: 39}, {What: loseRecord, Call: 5, A: 25, B: 11}},
	}},
	{"the record is lost while a set is corrected out of order", Schedule{
		Seed: 28632, Start: Start{Hot: 2, Warm: 1, Tables: []string{"0"}, Shards: 1}, Steps: 90,
		Items: []Item{{What: loseRecord, Call: 26, A: 4, B: 9}, {What: crashProcess, At: 143605, A: 30, B: 32}, {What: loseVolume, Call: 15, A: 41, B: 43}, {What: excludeByID, Call: 24, A: 7, B: 61}},
	}},
	{"a voter joins just before its pod is recreated", Schedule{
		Seed: 25368, Start: Start{Hot: 3, Tables: []string{"0-1", "0-1", "0-all", "0-1"}, Shards: 2, Leave: true}, Steps: 52,
		Items: []Item{{What: pushTemplate, At: 2200, A: 4, B: 2}, {What: standStill, Call: 15, A: 28, B: 40}, {What: killNode, At: 39819, A: 25, B: 2}},
	}},
	{"a cluster is released midway, and then the node that was well dies", Schedule{
		Seed: 36910, Start: Start{Hot: 2, Tables: []string{"0", "0-1", "0"}, Shards: 1, Leave: true}, Steps: 72,
		Items: []Item{{What: pushBadTemplate, At: 3836, A: 5, B: 5}, {What: pushRelease, At: 15200, A: 4, B: 6}, {What: killNode, At: 134961, A: 49, B: 15}},
	}},
	{"the only master dies when data nodes have left, before it is restarted for that", Schedule{
		Seed: 9419, Start: Start{Masters: 1, Hot: 2, Shards: 1, Leave: true, Zones: true}, Steps: 60,
		Items: []Item{{What: pushShrink, At: 2200, A: 4, B: 7}, {What: crashProcess, Call: 33, A: 54, B: 45}},
	}},
	{"a first copy is begun on a node that dies before it is started", Schedule{
		Seed: 33447, Start: Start{Masters: 3, Hot: 1, Tables: []string{"0-1"}, Shards: 2, Extend: true, Leave: true, Zones: true}, Steps: 82,
		Items: []Item{{What: pushRemoveGroup, At: 4260, B: 2}, {What: killNode, Call: 5, A: 15, B: 54}, {What: loseRecord, At: 49608, A: 10, B: 52}, {What: createTable, Call: 4, A: 11, B: 26}},
	}},
	{"what is released is released again after another push", Schedule{
		Seed: 6757, Start: Start{Hot: 1, Shards: 1}, Steps: 90,
		Items: []Item{{What: pushSetting, At: 182, A: 7, B: 6}, {What: pushRestart, At: 18023, B: 1}, {What: pushBadTemplate, At: 73302, A: 7, B: 6}, {What: releaseCommand, Call: 16, A: 57, B: 6}, {What: releaseCommand, Call: 21, A: 34, B: 23}},
	}},
	{"a node that is removed joins in its last moment", Schedule{
		Seed: 209251, Start: Start{Masters: 3, Hot: 1, Tables: []string{"0-all", "0-1"}, Shards: 1, Extend: true, Leave: true}, Steps: 55,
		Items: []Item{{What: pushAddGroup, At: 2161, B: 6}, {What: pushRevert, At: 3379, A: 7, B: 5}},
	}},
	{"the record is lost, a pod is stuck, and its correction waits for a setting that needs a master", Schedule{
		Seed: 203640, Start: Start{Hot: 2, Tables: []string{"0-1", "0-1", "1-all"}, Shards: 1, Extend: true, Leave: true}, Steps: 58,
		Items: []Item{{What: pushBadTemplate, At: 3154, A: 5, B: 1}, {What: pushSetting, At: 11491, B: 5}, {What: loseRecord, Call: 10, A: 35, B: 11}},
	}},
	{"a pod becomes the master while it is to be recreated", Schedule{
		Seed: 317380, Start: Start{Masters: 3, Hot: 1, Tables: []string{"0-1", "0-1", "0", "0-all"}, Shards: 2, Extend: true, Leave: true}, Steps: 73,
		Items: []Item{{What: pushPause, At: 2717, A: 6}, {What: pushRestart, At: 42600, B: 3}, {What: pushTemplate, At: 58446}, {What: killNode, Call: 38, A: 2, B: 55}, {What: excludeByName, At: 140167, A: 32, B: 15}, {What: standStill, Call: 16, A: 38, B: 27}, {What: stallWatch, Call: 9, A: 49, B: 19}},
	}},
	{"the only node is stuck from the first moment, and the correction is of another version", Schedule{
		Seed: 512328, Start: Start{Hot: 1, Shards: 1, JSON: true, Early: true}, Steps: 67,
		Items: []Item{{What: pushBadTemplate, At: 722, A: 5, B: 5}, {What: pushUpgrade, At: 29425, A: 7, B: 6}},
	}},
	{"a pod comes up on the template between, and more nodes are desired than there are", Schedule{
		Seed: 517266, Start: Start{Hot: 1, Tables: []string{"0-1"}, Shards: 3, Leave: true}, Steps: 53,
		Items: []Item{{What: pushTemplate, At: 326, A: 3, B: 6}, {What: pushGrow, At: 5374, A: 5}, {What: pushTemplate, At: 31360, A: 2}, {What: crashProcess, Call: 30, A: 35, B: 56}, {What: changePassword, Call: 15, A: 34, B: 4}},
	}},
	{"a process dies while a new group is stuck on the template that an aborted restart has left", Schedule{
		Seed: 522665, Start: Start{Hot: 2, Tables: []string{"1"}, Shards: 1, Extend: true, Leave: true}, Steps: 89,
		Items: []Item{{What: pushBadTemplate, At: 1675, A: 2}, {What: pushAddGroup, At: 9652, A: 3, B: 2}, {What: abortCommand, Call: 9, A: 9, B: 40}, {What: crashProcess, At: 104209, A: 26, B: 25}},
	}},
	{"a transient value hides what somebody has set, and a definition names it for the first time", Schedule{
		Seed: 203830, Start: Start{Hot: 1, Shards: 1}, Steps: 88,
		Items: []Item{{What: pushAddGroup, At: 2947, A: 3, B: 5}, {What: pushSetting, At: 30323, A: 4, B: 6}, {What: settingByHand, At: 7366, A: 35, B: 18}, {What: settingByHand, Call: 12, A: 41, B: 40}},
	}},
	{"two pods are stuck, the third volume is lost with the record, and only all of them have a quorum", Schedule{
		Seed: 557833, Start: Start{Hot: 3, Tables: []string{"0-all", "2"}, Shards: 1, Extend: true, Leave: true}, Steps: 64,
		Items: []Item{{What: pushBadTemplate, At: 4614, A: 2, B: 6}, {What: loseVolume, Call: 25, A: 46, B: 30}, {What: drainNode, Call: 7, A: 20, B: 55}, {What: loseRecord, Call: 41, A: 13, B: 35}},
	}},
	{"a pod is long in coming, and its correction waits for a setting that needs a master", Schedule{
		Seed: 603924, Start: Start{Hot: 2, Shards: 1, Leave: true}, Steps: 71,
		Items: []Item{{What: pushBadTemplate, At: 4402, A: 5}, {What: pushSetting, At: 18071, A: 1, B: 1}, {What: stallController, Call: 17, A: 49, B: 40}},
	}},
	{"the only master waits for the data node that is stuck", Schedule{
		Seed: 70203, Start: Start{Masters: 1, Hot: 2, Warm: 1, Tables: []string{"0-all"}, Shards: 1, Leave: true}, Steps: 472,
		Items: []Item{{What: pushRestart, At: 3809, A: 6, B: 5}, {What: pushShrink, At: 29825, A: 7, B: 3}, {What: pushBadTemplate, At: 76288, B: 6}, {What: killNode, At: 169651, A: 18, B: 42}},
	}},
	{"a restart has stopped at a pod whose group is to go", Schedule{
		Seed: 206981, Start: Start{Hot: 1, Tables: []string{"0-1", "0-1", "0-1", "0"}, Shards: 1, Extend: true, Leave: true}, Steps: 90,
		Items: []Item{{What: pushBadTemplate, At: 815, B: 4}, {What: pushAddGroup, At: 33528, A: 2}, {What: pushRemoveGroup, At: 58574, A: 6, B: 7}, {What: loseRecord, At: 52576, A: 24, B: 48}},
	}},
	{"the record is lost while two sets are away, one of them by its Kubernetes node", Schedule{
		Seed: 203776, Start: Start{Hot: 4, Warm: 1, Tables: []string{"0-1", "0"}, Shards: 1, Extend: true, Leave: true, Zones: true}, Steps: 83,
		Items: []Item{{What: pushRelease, At: 1593, A: 1, B: 6}, {What: pushAddGroup, At: 22322, A: 1, B: 6}, {What: loseRecord, Call: 16, A: 12, B: 2}, {What: killNode, Call: 8, A: 46, B: 50}, {What: loseRecord, At: 114683, A: 44, B: 59}},
	}},
	{"an external change puts pods of two sets on a template that cannot run", Schedule{
		Seed: 510409, Start: Start{Masters: 5, Hot: 1, Warm: 1, Shards: 1, Extend: true, Leave: true}, Steps: 608,
		Items: []Item{{What: pushBadTemplate, At: 2147, A: 4, B: 1}, {What: loseRecord, Call: 31, A: 4, B: 40}, {What: evict, At: 36578, A: 26, B: 47}, {What: crashProcess, Call: 5, A: 20, B: 49}},
	}},
	{"a process dies beside the pod that is stuck, and the cluster is released for a while", Schedule{
		Seed: 341468, Start: Start{Hot: 2, Tables: []string{"0-all", "0-1", "1-all"}, Shards: 1}, Steps: 79,
		Items: []Item{{What: pushBadTemplate, At: 3437, A: 3, B: 6}, {What: crashProcess, Call: 26, A: 14, B: 31}, {What: releaseCommand, Call: 18, A: 61, B: 61}, {What: stickTerminating, At: 36931, A: 31, B: 13}},
	}},
	{"a suspended cluster is resumed while an exclusion waits to be taken off", Schedule{
		Seed: 6155, Start: Start{Hot: 1, Shards: 1, Extend: true, Leave: true}, Steps: 76,
		Items: []Item{{What: pushSuspend, At: 10754, A: 6, B: 7}, {What: excludeByID, At: 8226, A: 5, B: 27}, {What: releaseCommand, At: 118169, A: 25, B: 33}},
	}},
	{"the last node goes down when a group has just been removed, before its exclusions are given back", Schedule{
		Seed: 212372, Start: Start{Hot: 1, Warm: 1, Shards: 1, Extend: true, Leave: true}, Steps: 74,
		Items: []Item{{What: pushRemoveGroup, At: 60819, A: 4, B: 3}, {What: stickTerminating, Call: 26, A: 49, B: 14}},
	}},
	{"a group went out of the definition with an upgrade, and a range of replicas counts its nodes", Schedule{
		Seed: 79957, Start: Start{Hot: 1, Warm: 1, Tables: []string{"1"}, Shards: 1, Leave: true}, Steps: 53,
		Items: []Item{{What: pushUpgrade, At: 33581, B: 2}, {What: pushRemoveGroup, At: 35587, A: 3, B: 4}, {What: crashProcess, Call: 17, A: 53, B: 60}, {What: crashProcess, At: 90846, A: 54, B: 12}},
	}},
	{"a template is recorded, and the cluster is released before it is applied", Schedule{
		Seed: 635868, Start: Start{Hot: 2, Tables: []string{"1-all"}, Shards: 1, Extend: true, Leave: true}, Steps: 67,
		Items: []Item{{What: pushBadTemplate, At: 12, A: 3, B: 7}, {What: pushRelease, At: 43945, A: 4, B: 5}, {What: pushAddGroup, At: 81497, A: 1, B: 5}},
	}},
	{"the same, with a setting that comes first afterwards", Schedule{
		Seed: 806030, Start: Start{Masters: 3, Hot: 1, Tables: []string{"0-all", "0-1", "0-1"}, Shards: 3, Leave: true}, Steps: 71,
		Items: []Item{{What: pushBadTemplate, At: 1469, A: 6, B: 6}, {What: pushRelease, At: 13939, A: 2, B: 1}, {What: crashProcess, Call: 5, A: 43, B: 51}, {What: killBefore, Call: 1, A: 3, B: 39}},
	}},
	{"somebody sets a value that a definition before the last had asked for", Schedule{
		Seed: 616346, Start: Start{Hot: 1, Tables: []string{"0"}, Shards: 1, Leave: true, Zones: true}, Steps: 79,
		Items: []Item{{What: pushSetting, At: 4656, A: 3, B: 7}, {What: pushSetting, At: 60716, A: 1, B: 3}, {What: settingByHand, At: 89879, A: 26, B: 6}},
	}},
	{"a transient value is taken off while ours is about to be set", Schedule{
		Seed: 342855, Start: Start{Hot: 1, Tables: []string{"0-1", "0-1", "0-1"}, Shards: 2, Extend: true, Leave: true}, Steps: 62,
		Items: []Item{{What: pushRestart, At: 3130, A: 7, B: 4}, {What: pushSetting, At: 28827, B: 6}, {What: killAfter, Call: 19, A: 20, B: 43}, {What: loseRecord, Call: 24, A: 52, B: 48}, {What: abortCommand, At: 25010, A: 53, B: 29}, {What: settingByHand, At: 76343, B: 24}},
	}},
	{"a node dies while a new group is stuck: it was well, and waits", Schedule{
		Seed: 1002448, Start: Start{Masters: 3, Hot: 1, Tables: []string{"0-1", "0-1", "0-1", "0"}, Shards: 2, Extend: true}, Steps: 77,
		Items: []Item{{What: pushAddGroup, At: 4138, A: 1, B: 3}, {What: pushBadTemplate, At: 47181, A: 2, B: 2}, {What: stickTerminating, Call: 14, A: 56, B: 52}, {What: killNode, Call: 37, A: 10, B: 27}},
	}},
	{"a table is made while a group is drained, and the nodes that it needs are pushed afterwards", Schedule{
		Seed: 1012063, Start: Start{Hot: 1, Warm: 1, Shards: 1, Leave: true}, Steps: 68,
		Items: []Item{{What: pushRemoveGroup, At: 34441, A: 2}, {What: pushGrow, At: 84500, A: 6, B: 5}, {What: createTable, Call: 16, A: 13, B: 32}},
	}},
	{"a daemon starts while a watch brings nothing", Schedule{
		Seed: 1032354, Start: Start{Masters: 3, Hot: 1, Tables: []string{"1"}, Shards: 1, Extend: true, Leave: true}, Steps: 480,
		Items: []Item{{What: pushBadTemplate, At: 68802, A: 4, B: 6}, {What: stallWatch, At: 123129, A: 42, B: 33}, {What: loseVolume, At: 108072}, {What: killBefore, Call: 18, A: 14, B: 47}},
	}},
	{"the record is lost, a master is stuck, and the only other node is away for a moment", Schedule{
		Seed: 1156293, Start: Start{Masters: 3, Hot: 1, Tables: []string{"0-1"}, Shards: 2, Extend: true, Leave: true}, Steps: 77,
		Items: []Item{{What: pushBadTemplate, At: 1441, A: 1, B: 2}, {What: crashProcess, Call: 31, A: 27, B: 29}, {What: loseRecord, Call: 42, A: 59, B: 28}, {What: pauseCommand, Call: 25, A: 6, B: 8}},
	}},
	{"a master is stuck, and the only other node is away for a moment after a release", Schedule{
		Seed: 1205479, Start: Start{Masters: 5, Hot: 1, Tables: []string{"0-all", "0-1"}, Shards: 3, Leave: true, Zones: true}, Steps: 83,
		Items: []Item{{What: pushBadTemplate, At: 2567, A: 2, B: 4}, {What: crashProcess, Call: 29, A: 18, B: 14}, {What: stickTerminating, Call: 40, A: 47, B: 44}, {What: createTable, Call: 10, A: 62, B: 43}, {What: releaseCommand, At: 10805, A: 11, B: 8}},
	}},
	{"masters are to leave, and a table wants more copies than there are nodes, which are pushed with it", Schedule{
		Seed: 526043, Start: Start{Masters: 5, Hot: 2, Tables: []string{"0"}, Shards: 1, Extend: true, Zones: true}, Steps: 53,
		Items: []Item{{What: pushShrink, At: 3574, B: 3}, {What: pushAddGroup, At: 41866, A: 6, B: 3}, {What: pauseCommand, Call: 5, A: 45, B: 21}, {What: alterReplicas, At: 13815, A: 47, B: 33}},
	}},
	{"fewer voters were pushed, the cluster is suspended, and the record is lost", Schedule{
		Seed: 797237, Start: Start{Masters: 3, Hot: 2, Tables: []string{"1-all", "1", "0", "0-1"}, Shards: 3, Extend: true, Leave: true}, Steps: 84,
		Items: []Item{{What: pushShrink, At: 1705, A: 6, B: 4}, {What: pushSetting, At: 18570, A: 5}, {What: pushSuspend, At: 48695, A: 6, B: 2}, {What: forbid, Call: 27, A: 23, B: 41}, {What: createTable, Call: 3, A: 26, B: 11}, {What: killNode, Call: 10, A: 63, B: 31}, {What: loseRecord, Call: 32, A: 48, B: 12}},
	}},
	{"the record is lost after a release, and the first pod is recreated on a template that came out of order", Schedule{
		Seed: 849383, Start: Start{Masters: 3, Hot: 2, Tables: []string{"1", "1", "1-all"}, Shards: 1, Leave: true}, Steps: 688,
		Items: []Item{{What: pushUpgrade, At: 3033, A: 7, B: 1}, {What: killNode, Call: 17, A: 58, B: 35}, {What: loseRecord, Call: 51, A: 60, B: 9}, {What: releaseCommand, At: 86355, A: 16, B: 27}, {What: timeoutAfter, Call: 10, A: 61, B: 60}, {What: stickTerminating, At: 26702, A: 54, B: 9}},
	}},
	{"a group that never came up is about to go, and a process of another dies", Schedule{
		Seed: 1159753, Start: Start{Hot: 2, Tables: []string{"0-1"}, Shards: 2, Leave: true}, Steps: 77,
		Items: []Item{{What: pushBadTemplate, At: 1128, A: 5, B: 5}, {What: pushAddGroup, At: 34646, A: 3}, {What: pushRemoveGroup, At: 94437, A: 3, B: 1}, {What: crashProcess, Call: 40, A: 22, B: 19}},
	}},
	{"the daemon stands still between two questions, and the health is green without a node", Schedule{
		Seed: 1234103, Start: Start{Hot: 3, Tables: []string{"1-all", "1-all"}, Shards: 2, Extend: true, Leave: true}, Steps: 77,
		Items: []Item{{What: crashProcess, Call: 21, A: 50, B: 53}, {What: standStill, Call: 21, A: 5, B: 1}, {What: settingByHand, At: 136521, A: 10, B: 10}},
	}},
	{"a pod was evicted while the watch of pods brings nothing, and its node is a member again", Schedule{
		Seed: 731166, Start: Start{Hot: 3, Tables: []string{"1"}, Shards: 1, Extend: true, Leave: true, Early: true}, Steps: 86,
		Items: []Item{{What: killBefore, Call: 10, A: 21, B: 9}, {What: stallWatch, At: 53591, A: 25, B: 45}, {What: stickTerminating, At: 82960, A: 56, B: 1}},
	}},
	{"a pod becomes the master while it is to be recreated, and its gateway has not recovered", Schedule{
		Seed: 1119999, Start: Start{Hot: 3, Tables: []string{"1-all", "0", "1"}, Shards: 2, Extend: true, Leave: true}, Steps: 56,
		Items: []Item{{What: pushRemoveGroup, At: 855, A: 2, B: 6}, {What: loseVolume, Call: 30, A: 50, B: 15}, {What: createTable, At: 56666, A: 30, B: 1}, {What: crashProcess, Call: 29, A: 49, B: 46}},
	}},
	{"the quorum is lost, and a pod that has just started is to be recreated", Schedule{
		Seed: 29713, Start: Start{Hot: 3, Tables: []string{"0-all", "1-all", "2", "1"}, Shards: 2, Extend: true, Leave: true}, Steps: 90,
		Items: []Item{{What: pushShrink, At: 3390, A: 7, B: 4}, {What: pushRevert, At: 51302, A: 4, B: 3}, {What: pushRelease, At: 94535, A: 5, B: 1}, {What: killNode, Call: 3, A: 46, B: 60}, {What: drainNode, At: 178184, A: 24, B: 47}, {What: changePassword, At: 23201, A: 37, B: 3}, {What: deafReceiver, At: 19383, A: 15, B: 20}},
	}},
	{"somebody sets the allocation right after the allocation lock", Schedule{
		Seed: 825794, Start: Start{Hot: 3, Tables: []string{"1", "1", "0"}, Shards: 1, Extend: true}, Steps: 80,
		Items: []Item{{What: pushRestart, At: 2302, A: 4, B: 7}, {What: setPersistent, At: 63022, A: 3, B: 27}},
	}},
	{"somebody sets a live setting while the cluster is made, and one node was started with the definition's", Schedule{
		Seed: 840141, Start: Start{Masters: 3, Hot: 2, Shards: 1, Leave: true, Zones: true, Early: true}, Steps: 78,
		Items: []Item{{What: pushSetting, At: 767, A: 1, B: 4}, {What: settingByHand, At: 5974, A: 19, B: 2}},
	}},
	{"somebody puts a live setting back to what it was before, and the record is lost", Schedule{
		Seed: 1108463, Start: Start{Hot: 1, Shards: 1, Extend: true, Zones: true}, Steps: 672,
		Items: []Item{{What: pushSetting, At: 2667, A: 1}, {What: loseRecord, Call: 10, A: 57, B: 42}, {What: settingByHand, At: 7535, A: 52, B: 2}, {What: settingByHand, At: 2448, A: 49, B: 50}},
	}},
	{"a grow is taken back, and success was said before its nodes left", Schedule{
		Seed: 841277, Start: Start{Hot: 1, Tables: []string{"0-1"}, Shards: 2, Extend: true, Leave: true}, Steps: 61,
		Items: []Item{{What: pushShrink, At: 4204, A: 7, B: 3}, {What: pushAddGroup, At: 61134, A: 6, B: 1}, {What: pushRevert, At: 106358, A: 2, B: 6}, {What: stallWatch, Call: 2, A: 1, B: 57}, {What: stickTerminating, Call: 14, A: 23, B: 23}, {What: deafReceiver, At: 76460, A: 14, B: 15}, {What: releaseCommand, At: 87798, A: 63, B: 23}},
	}},
	{"a node is a member and its pod not ready yet, and another version comes", Schedule{
		Seed: 1170494, Start: Start{Hot: 1, Tables: []string{"0-1", "0-1", "0-1", "0-1"}, Shards: 2, Leave: true}, Steps: 51,
		Items: []Item{{What: pushTemplate, At: 4640, A: 1}, {What: pushTemplate, At: 20772, A: 5, B: 5}, {What: pushUpgrade, At: 26423, A: 6, B: 4}, {What: evict, Call: 13, A: 59, B: 18}, {What: snapshot, At: 255, A: 40, B: 35}},
	}},
	{"the set whose turn it is waits for another, and its own pod would be recreated on a template that is no longer desired", Schedule{
		Seed: 2348902, Start: Start{Hot: 2, Warm: 1, Shards: 1}, Steps: 87,
		Items: []Item{{What: pushTemplate, At: 2688, A: 1}, {What: pushSuspend, At: 5859, A: 5, B: 3}, {What: timeoutAfter, Call: 6, A: 36, B: 30}, {What: loseRecord, At: 69433, A: 60, B: 41}, {What: killNode, Call: 16, A: 5, B: 58}},
	}},
	{"somebody sets a live setting, and a definition that named it no more names it again", Schedule{
		Seed: 2103610, Start: Start{Hot: 2, Shards: 1, Leave: true}, Steps: 57,
		Items: []Item{{What: pushSetting, At: 602, A: 6, B: 7}, {What: pushRevert, At: 38981, A: 6, B: 4}, {What: pushSetting, At: 81827, B: 4}, {What: settingByHand, At: 19537, A: 28, B: 55}},
	}},
	{"a table gets a filter of its own right before its nodes leave", Schedule{
		Seed: 81336, Start: Start{Hot: 7, Tables: []string{"2", "1"}, Shards: 3, Leave: true}, Steps: 70,
		Items: []Item{{What: pushShrink, At: 4687, A: 5, B: 4}, {What: filterTable, Call: 26, A: 53, B: 8}},
	}},
	{"nobody answers in a resume in which pods are stuck, and one that is to be recreated joins a master that has just come", Schedule{
		Seed: 1206635, Start: Start{Hot: 3, Tables: []string{"0-1", "0", "1"}, Shards: 2, Extend: true, Leave: true}, Steps: 50,
		Items: []Item{{What: pushSuspend, At: 2670, A: 2, B: 4}, {What: killNode, Call: 21, A: 14, B: 26}, {What: stallController, At: 107302, A: 30, B: 5}, {What: setPersistent, At: 26619, A: 8, B: 32}},
	}},
	{"more voters are pushed while the cluster is suspended, and the record is lost", Schedule{
		Seed: 1109465, Start: Start{Hot: 3, Tables: []string{"1-all", "0-all"}, Shards: 2, Leave: true, Zones: true}, Steps: 86,
		Items: []Item{{What: pushSuspend, At: 3056, B: 1}, {What: pushGrow, At: 9374, A: 4, B: 6}, {What: stallWatch, Call: 13, A: 35, B: 44}, {What: loseRecord, At: 19383, A: 60, B: 46}},
	}},
	{"somebody adds a node while the cluster is being suspended, and shards have moved there", Schedule{
		Seed: 979, Start: Start{Masters: 3, Hot: 1, Tables: []string{"0-all", "0-1", "0-1", "0-1"}, Shards: 3, Leave: true}, Steps: 86,
		Items: []Item{{What: pushShrink, At: 3988, B: 2}, {What: pushSuspend, At: 22648, B: 2}, {What: killBefore, Call: 1, A: 62, B: 28}, {What: scaleUpByHand, At: 33418, A: 28, B: 56}},
	}},
}
