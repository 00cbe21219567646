package simulation

// stoodStill are schedules that came to no end, each reduced to what it needs.
var stoodStill = []struct {
	name string
	s    Schedule
}{
	{"an upgrade is taken back while its first pod is made from what the controller still knows", Schedule{
		Seed: 542014, Start: Start{Masters: 3, Hot: 1, Tables: []string{"0-1", "0-1", "0-1", "0-1"}, Shards: 2}, Steps: 60,
		Items: []Item{{What: pushUpgrade, At: 423, A: 7, B: 1}, {What: pushRevert, At: 4624, A: 3, B: 6}, {What: forbid, Call: 19, A: 60, B: 49}, {What: deafReceiver, Call: 35, A: 40, B: 28}},
	}},
	{"an upgrade stops while the controller stalls, and then it makes the pod on the newer version", Schedule{
		Seed: 1163962, Start: Start{Hot: 2, Tables: []string{"1"}, Shards: 3, Leave: true}, Steps: 66,
		Items: []Item{{What: pushUpgrade, At: 542, A: 1}, {What: restartDaemon, Call: 18, A: 34, B: 26}, {What: filterTable, At: 38671, A: 9, B: 4}, {What: drainNode, Call: 31, A: 30, B: 4}, {What: stallController, Call: 22, A: 8, B: 48}},
	}},
	{"a table's own filter brings its only copy to a node that is leaving", Schedule{
		Seed: 758524, Start: Start{Hot: 3, Warm: 1, Tables: []string{"0", "0"}, Shards: 3, Extend: true, Leave: true, Zones: true}, Steps: 65,
		Items: []Item{{What: pushRemoveGroup, At: 3151, A: 1, B: 6}, {What: stallController, Call: 40, A: 46, B: 47}, {What: filterTable, At: 101123, A: 1, B: 63}, {What: cutDatabase, Call: 19, B: 32}, {What: restartDaemon, Call: 32, A: 24, B: 53}},
	}},
	{"a table's own filter brings its only copy to the node that is leaving, and masters wait for green", Schedule{
		Seed: 1126391, Start: Start{Masters: 3, Hot: 2, Tables: []string{"1-all"}, Shards: 1, Leave: true}, Steps: 60,
		Items: []Item{{What: pushShrink, At: 3827, A: 5, B: 1}, {What: stallController, Call: 13, A: 47, B: 35}, {What: filterTable, Call: 21, A: 45, B: 60}, {What: alterReplicas, At: 6354, A: 28, B: 53}},
	}},
	{"the master's volume is lost while another voter leaves", Schedule{
		Seed: 397565, Start: Start{Hot: 4, Tables: []string{"2", "0-1"}, Shards: 3}, Steps: 424,
		Items: []Item{{What: pushSuspend, At: 1631, A: 6, B: 4}, {What: pushGrow, At: 20243, A: 1, B: 7}, {What: pushRestart, At: 28716}, {What: loseVolume, Call: 35, B: 53}},
	}},
	{"after an upgrade nodes leave, and with them a group that stayed on the version before", Schedule{
		Seed: 1215924, Start: Start{Masters: 3, Hot: 2, Warm: 1, Tables: []string{"0", "0-all", "1", "1"}, Shards: 3, Extend: true, Leave: true}, Steps: 83,
		Items: []Item{{What: pushRemoveGroup, At: 415, A: 6}, {What: pushShrink, At: 41009, A: 5, B: 1}, {What: pushUpgrade, At: 61216, A: 4, B: 7}},
	}},
	{"an upgrade is aborted before its first pod, the cluster suspended, and what it resumes on does not run", Schedule{
		Seed: 51581, Start: Start{Hot: 1, Shards: 1, Extend: true, Leave: true}, Steps: 75,
		Items: []Item{{What: pushUpgrade, At: 1337, A: 4, B: 6}, {What: pushBadTemplate, At: 59365, A: 5, B: 1}, {What: pushSuspend, At: 92109, A: 2}, {What: abortCommand, Call: 13, A: 40, B: 36}},
	}},
	{"a cluster is released before the first pod of an upgrade, suspended, and what it resumes on does not run", Schedule{
		Seed: 367224, Start: Start{Hot: 1, Tables: []string{"0-1", "0"}, Shards: 3, Extend: true, Leave: true}, Steps: 90,
		Items: []Item{{What: pushUpgrade, At: 651, A: 5}, {What: pushBadTemplate, At: 31079, A: 7, B: 3}, {What: pushSuspend, At: 39039, A: 4, B: 1}, {What: releaseCommand, Call: 1, A: 4, B: 32}},
	}},
	{"the only master dies when data nodes have left, and a group more is desired by then", Schedule{
		Seed: 9419, Start: Start{Masters: 1, Hot: 2, Tables: []string{"0-all"}, Shards: 1, Leave: true, Zones: true}, Steps: 85,
		Items: []Item{{What: pushShrink, At: 2197, A: 4, B: 7}, {What: pushAddGroup, At: 17932, A: 3, B: 7}, {What: crashProcess, Call: 33, A: 54, B: 45}},
	}},
	{"a cluster was made smaller and suspended, and its masters start with the counts of more nodes", Schedule{
		Seed: 397731, Start: Start{Masters: 3, Hot: 2, Tables: []string{"0-1"}, Shards: 1, Leave: true, Zones: true}, Steps: 664,
		Items: []Item{{What: pushShrink, At: 2595, A: 2}, {What: pushSuspend, At: 14286, A: 2, B: 7}, {What: killAfter, Call: 25, A: 56, B: 28}},
	}},
	{"a node is stuck while the cluster is being made, and the correction is of another version", Schedule{
		Seed: 576051, Start: Start{Hot: 3, Shards: 1, Extend: true, Early: true}, Steps: 86,
		Items: []Item{{What: pushBadTemplate, At: 284, B: 6}, {What: pushUpgrade, At: 64288, B: 3}},
	}},
	{"a cluster is stuck while it is being made, and a group goes out of its definition", Schedule{
		Seed: 826916, Start: Start{Hot: 1, Warm: 1, Shards: 1, Leave: true, Early: true}, Steps: 63,
		Items: []Item{{What: pushBadTemplate, At: 1400, A: 3, B: 4}, {What: pushRemoveGroup, At: 43230, A: 3, B: 4}, {What: forbid, Call: 16, A: 35, B: 19}},
	}},
	{"the only voter is stuck while the cluster is being made, and a group goes out of its definition", Schedule{
		Seed: 844260, Start: Start{Hot: 1, Warm: 1, Shards: 1, Extend: true, Leave: true, Early: true}, Steps: 79,
		Items: []Item{{What: pushBadTemplate, At: 423, A: 6, B: 2}, {What: pushRemoveGroup, At: 20437, A: 2, B: 7}},
	}},
	{"one of three voters is stuck while the cluster is being made, and the correction is of another version", Schedule{
		Seed: 1198686, Start: Start{Hot: 3, Warm: 1, Shards: 1, Leave: true, Zones: true, Early: true}, Steps: 71,
		Items: []Item{{What: pushBadTemplate, At: 2316, B: 3}, {What: pushUpgrade, At: 9649, A: 5, B: 5}, {What: killAfter, Call: 34, A: 17, B: 16}},
	}},
	{"voters are stuck while the cluster is being made, beside a group that is gone from the definition", Schedule{
		Seed: 3002115, Start: Start{Hot: 1, Warm: 1, Shards: 1, Leave: true, Early: true}, Steps: 86,
		Items: []Item{{What: pushBadTemplate, At: 559}, {What: pushRemoveGroup, At: 27226, A: 4, B: 1}},
	}},
	{"the record is lost while its watch brings nothing, and the daemon decides on one before its last", Schedule{
		Seed: 740993, Start: Start{Masters: 5, Hot: 1, Tables: []string{"0-1"}, Shards: 1, Leave: true}, Steps: 90,
		Items: []Item{{What: loseRecord, Call: 31, A: 18, B: 19}, {What: stallWatch, Call: 11, A: 5, B: 43}, {What: cutDatabase, Call: 21, A: 41, B: 21}},
	}},
	{"a node dies during a grow and is stuck on the next template, and the correction is of another version", Schedule{
		Seed: 96804, Start: Start{Hot: 2, Tables: []string{"0"}, Shards: 1, Leave: true}, Steps: 85,
		Items: []Item{{What: pushGrow, At: 3849, A: 5, B: 2}, {What: pushBadTemplate, At: 40924, A: 3, B: 2}, {What: pushUpgrade, At: 55279, B: 4}, {What: killNode, Call: 14, A: 16, B: 9}},
	}},
	{"a new group is stuck, the record is lost, and the only voter waits for data nodes that are stuck", Schedule{
		Seed: 2037752, Start: Start{Hot: 1, Tables: []string{"0-1", "0-1", "0-1", "0-all"}, Shards: 1, Extend: true, Leave: true, Zones: true}, Steps: 62,
		Items: []Item{{What: pushBadTemplate, At: 2117, A: 7, B: 5}, {What: pushAddGroup, At: 48996, A: 6, B: 5}, {What: loseRecord, Call: 27, A: 40, B: 2}, {What: crashProcess, Call: 25, A: 24, B: 52}},
	}},
	{"the quorum is lost while a new group is stuck, and the masters come back on what they had", Schedule{
		Seed: 3109457, Start: Start{Masters: 3, Hot: 2, Tables: []string{"1", "0-all"}, Shards: 1, Extend: true, Leave: true}, Steps: 57,
		Items: []Item{{What: pushBadTemplate, At: 59, A: 7, B: 7}, {What: pushAddGroup, At: 5591, A: 3, B: 2}, {What: drainNode, Call: 17, A: 7, B: 13}, {What: releaseCommand, Call: 25, A: 30, B: 33}, {What: loseVolume, Call: 28, A: 17, B: 43}},
	}},
	{"an upgrade stops, the record is lost with what it holds, and without the node that is stuck there is no master", Schedule{
		Seed: 2078352, Start: Start{Hot: 2, Tables: []string{"0-all", "1"}, Shards: 2, Extend: true, Leave: true}, Steps: 83,
		Items: []Item{{What: pushUpgrade, At: 2047, A: 7, B: 5}, {What: pushBadTemplate, At: 40004, A: 5, B: 4}, {What: loseRecord, Call: 68, A: 53, B: 36}},
	}},
	{"masters leave and data nodes come, and a table wants more copies than there are nodes", Schedule{
		Seed: 2213790, Start: Start{Masters: 5, Hot: 1, Shards: 1, Extend: true, Leave: true}, Steps: 66,
		Items: []Item{{What: pushPause, At: 2557, A: 6, B: 4}, {What: pushGrow, At: 38421, A: 4, B: 1}, {What: pushShrink, At: 70800, A: 3, B: 5}, {What: createTable, At: 89141, A: 6, B: 25}},
	}},
	{"the record is lost while a new group is stuck, and the group is taken back", Schedule{
		Seed: 2168744, Start: Start{Hot: 1, Shards: 1, Extend: true, Leave: true}, Steps: 88,
		Items: []Item{{What: pushBadTemplate, At: 182, A: 7, B: 2}, {What: pushAddGroup, At: 20578, A: 4, B: 4}, {What: pushRemoveGroup, At: 53409, A: 4}, {What: loseRecord, Call: 11, A: 54, B: 30}},
	}},
	{"a voter's volume is lost in the moment in which another is removed", Schedule{
		Seed: 2082802, Start: Start{Hot: 4, Tables: []string{"2"}, Shards: 1, Leave: true, Zones: true}, Steps: 84,
		Items: []Item{{What: pushShrink, At: 2603, A: 6, B: 6}, {What: loseVolume, Call: 25, A: 56, B: 4}},
	}},
	{"a group goes out of the definition while its first pod is stuck on the template whose turn it is", Schedule{
		Seed: 2035678, Start: Start{Hot: 1, Warm: 1, Tables: []string{"0-all", "1"}, Shards: 1, Extend: true, Leave: true}, Steps: 78,
		Items: []Item{{What: pushBadTemplate, At: 4080, A: 7, B: 7}, {What: pushRemoveGroup, At: 8302, A: 5}, {What: crashProcess, Call: 1, A: 23, B: 7}},
	}},
	{"a process dies during a drain, and comes back on what it ran", Schedule{
		Seed: 2526396, Start: Start{Hot: 4, Shards: 1, Leave: true}, Steps: 76,
		Items: []Item{{What: pushShrink, At: 600, A: 5, B: 6}, {What: pushBadTemplate, At: 8974, A: 1, B: 3}, {What: pushUpgrade, At: 26041, A: 4, B: 1}, {What: crashProcess, Call: 3, A: 13, B: 59}},
	}},
	{"a process dies during a drain, and its group goes out of the definition", Schedule{
		Seed: 2415353, Start: Start{Hot: 12, Warm: 1, Shards: 1, Leave: true}, Steps: 69,
		Items: []Item{{What: pushBadTemplate, At: 843, A: 3, B: 7}, {What: pushShrink, At: 32617, A: 4, B: 5}, {What: pushRemoveGroup, At: 84732, A: 7}, {What: crashProcess, Call: 16, A: 25, B: 51}},
	}},
	{"a node comes back on a template that cannot run, beside a new group that is stuck on it and is taken back", Schedule{
		Seed: 3587107, Start: Start{Hot: 2, Shards: 1, Extend: true, Leave: true}, Steps: 77,
		Items: []Item{{What: pushBadTemplate, At: 1666, A: 1, B: 3}, {What: pushAddGroup, At: 49301, A: 3, B: 5}, {What: pushRemoveGroup, At: 102298, A: 7, B: 3}, {What: releaseCommand, Call: 5, A: 31, B: 27}, {What: loseVolume, At: 78093, A: 56, B: 32}},
	}},
	{"a master is stuck when the cluster is resumed, and the correction is of another version", Schedule{
		Seed: 3632790, Start: Start{Masters: 3, Hot: 1, Tables: []string{"1"}, Shards: 1, Extend: true, Leave: true}, Steps: 72,
		Items: []Item{{What: pushBadTemplate, At: 952, A: 6}, {What: pushUpgrade, At: 54330, A: 2, B: 5}, {What: pushSuspend, At: 75269, B: 6}, {What: killNode, Call: 3, A: 29, B: 52}, {What: loseRecord, At: 107448, A: 48, B: 28}},
	}},
	{"a setting that needs a master comes with the correction of the node that is stuck", Schedule{
		Seed: 2784281, Start: Start{Hot: 2, Tables: []string{"1-all", "0"}, Shards: 1}, Steps: 664,
		Items: []Item{{What: pushUpgrade, At: 1036, A: 3, B: 3}, {What: pushBadTemplate, At: 40536, A: 1, B: 1}, {What: pushSetting, At: 91685, A: 4, B: 7}},
	}},
	{"the record is lost twice, and the template of one set is on none of its pods while another is stuck on the one before", Schedule{
		Seed: 3800357, Start: Start{Hot: 3, Shards: 1, Extend: true, Leave: true, Zones: true}, Steps: 74,
		Items: []Item{{What: pushSetting, At: 2355, A: 1, B: 7}, {What: pushAddGroup, At: 16767, A: 6, B: 5}, {What: pushBadTemplate, At: 57083, A: 5, B: 7}, {What: loseRecord, Call: 29, A: 13, B: 21}, {What: snapshot, At: 1913, A: 60, B: 11}, {What: loseRecord, Call: 30, A: 40, B: 54}},
	}},
	{"a template is on no pod yet, nodes are to come, and what the set had before is on one that waits for the quorum", Schedule{
		Seed: 8195130, Start: Start{Hot: 2, Tables: []string{"0-all", "0-all", "1-all", "0-1"}, Shards: 3}, Steps: 83,
		Items: []Item{{What: pushBadTemplate, At: 2391, A: 3, B: 4}, {What: pushPause, At: 42730, A: 2, B: 3}, {What: pushGrow, At: 65907, A: 4, B: 4}, {What: stallWatch, Call: 29, A: 49, B: 61}, {What: crashProcess, Call: 15, A: 32, B: 7}},
	}},
	{"a template is on no pod yet, a group is to come, and what the set had before is on one that does not run", Schedule{
		Seed: 8528314, Start: Start{Hot: 3, Tables: []string{"1", "1", "0-1", "1"}, Shards: 1, Leave: true}, Steps: 51,
		Items: []Item{{What: pushBadTemplate, At: 3287, B: 1}, {What: pushAddGroup, At: 5351, B: 3}, {What: loseRecord, Call: 20, A: 26, B: 62}},
	}},
	{"a template is on no pod yet, a group is to go, and one of two nodes is stuck on the one before", Schedule{
		Seed: 8617828, Start: Start{Hot: 2, Warm: 1, Shards: 1, Leave: true}, Steps: 54,
		Items: []Item{{What: pushBadTemplate, At: 194, A: 3, B: 3}, {What: pushShrink, At: 21181, A: 4, B: 7}, {What: pushRemoveGroup, At: 54992, A: 4, B: 2}, {What: drainNode, Call: 5, A: 9, B: 7}},
	}},
	{"the record is lost while a new group is stuck, and the group goes out of the definition", Schedule{
		Seed: 8693024, Start: Start{Masters: 3, Hot: 1, Tables: []string{"0-all", "0-1", "0-1", "0-1"}, Shards: 2, Leave: true}, Steps: 89,
		Items: []Item{{What: pushAddGroup, At: 869, A: 5, B: 2}, {What: pushBadTemplate, At: 9283, A: 2, B: 4}, {What: pushRemoveGroup, At: 14696, A: 7, B: 1}, {What: standStill, Call: 17, A: 19, B: 58}, {What: loseRecord, Call: 6, A: 62, B: 55}},
	}},
	{"somebody raises a set between the decision to make it smaller and the write, and the definition follows", Schedule{
		Seed: 8568528, Start: Start{Hot: 4, Shards: 1, Leave: true}, Steps: 60,
		Items: []Item{{What: pushShrink, At: 4087, A: 3}, {What: killNode, Call: 16, A: 24, B: 29}, {What: scaleUpByHand, At: 35303, A: 58, B: 52}},
	}},
	{"somebody raises a set that is to go when its drain has ended, and the definition wants it again", Schedule{
		Seed: 8376753, Start: Start{Hot: 4, Warm: 1, Tables: []string{"1-all", "1", "1"}, Shards: 1, Leave: true}, Steps: 63,
		Items: []Item{{What: pushRemoveGroup, At: 2432, B: 6}, {What: crashProcess, Call: 5, A: 48, B: 27}, {What: killAfter, Call: 14, A: 3, B: 57}, {What: scaleUpByHand, At: 38311, A: 45, B: 31}},
	}},
	{"a cluster is released and suspended before the first master has joined on a template, and the correction is of another version", Schedule{
		Seed: 17007, Start: Start{Masters: 3, Hot: 1, Tables: []string{"0-1", "0-1"}, Shards: 3, Extend: true, Leave: true}, Steps: 408,
		Items: []Item{{What: pushBadTemplate, At: 3650, A: 5, B: 6}, {What: pushSuspend, At: 23246, A: 1, B: 4}, {What: pushShrink, At: 28687, A: 1, B: 6}, {What: releaseCommand, At: 14738, A: 35, B: 38}, {What: restartDaemon, At: 34414, A: 63, B: 16}},
	}},
	{"voters resume on a template that was applied and that none had joined on, and the correction is of another version", Schedule{
		Seed: 8191785, Start: Start{Hot: 3, Tables: []string{"2"}, Shards: 1, Extend: true, Leave: true}, Steps: 408,
		Items: []Item{{What: pushBadTemplate, At: 3649, B: 6}, {What: pushSuspend, At: 40993, B: 3}, {What: pushUpgrade, At: 89217, A: 3, B: 3}, {What: releaseCommand, Call: 60, A: 35, B: 62}, {What: loseVolume, Call: 23, A: 57, B: 62}},
	}},
	{"the record is lost before a suspension, and what is resumed on does not run and is of the version before", Schedule{
		Seed: 8293506, Start: Start{Hot: 3, Shards: 1, Extend: true, Leave: true}, Steps: 83,
		Items: []Item{{What: pushBadTemplate, At: 1313}, {What: pushSuspend, At: 6983, A: 4, B: 1}, {What: pushUpgrade, At: 16744, A: 6, B: 2}, {What: loseVolume, Call: 3, A: 30, B: 23}, {What: loseRecord, Call: 37, A: 8, B: 15}},
	}},
	{"voters wait without a master for a group that is away, and it waits for them", Schedule{
		Seed: 8290226, Start: Start{Hot: 2, Warm: 1, Tables: []string{"0-all"}, Shards: 1, Extend: true, Early: true}, Steps: 78,
		Items: []Item{{What: pushBadTemplate, At: 4363, A: 2, B: 1}, {What: pushRevert, At: 43626, A: 6}, {What: pushRelease, At: 44626, A: 7}},
	}},
	{"a cluster of masters is being made, and they wait for a data node of a group that is gone from the definition", Schedule{
		Seed: 8198765, Start: Start{Masters: 3, Hot: 1, Warm: 1, Shards: 1, Leave: true, Early: true}, Steps: 600,
		Items: []Item{{What: pushBadTemplate, At: 2257, A: 2}, {What: pushRemoveGroup, At: 38562, A: 4, B: 6}, {What: forbid, Call: 8, A: 11, B: 49}},
	}},
	{"the only master waits for data nodes that have left, and the record is lost", Schedule{
		Seed: 8541304, Start: Start{Hot: 1, Warm: 1, Tables: []string{"0-all"}, Shards: 1, Extend: true, Leave: true, Zones: true}, Steps: 88,
		Items: []Item{{What: pushRemoveGroup, At: 55941, A: 4, B: 2}, {What: crashProcess, Call: 38, A: 26, B: 35}, {What: loseRecord, At: 115769, A: 53, B: 57}},
	}},
	{"the restart's pod is stuck, one that was well waits for the quorum, and what was before is not remembered", Schedule{
		Seed: 8478786, Start: Start{Hot: 2, Shards: 1, Extend: true, Zones: true, Early: true}, Steps: 79,
		Items: []Item{{What: pushBadTemplate, At: 576, A: 5, B: 4}, {What: pushUpgrade, At: 58143, A: 3, B: 6}, {What: pushPause, At: 108602, A: 2}, {What: crashProcess, At: 78657, A: 43, B: 51}},
	}},
	{"a definition is taken back between what is set and what is recorded of it", Schedule{
		Seed: 8558891, Start: Start{Hot: 1, Tables: []string{"0-1"}, Shards: 2, Extend: true, Leave: true}, Steps: 72,
		Items: []Item{{What: pushGrow, At: 1248, A: 2, B: 1}, {What: pushSetting, At: 2456, A: 4, B: 5}, {What: pushRevert, At: 47205, A: 3, B: 2}, {What: cutDatabase, Call: 11, A: 52, B: 16}, {What: pauseCommand, Call: 7, A: 27, B: 36}, {What: killAfter, Call: 23, A: 35, B: 30}},
	}},
	{"a group goes out of the definition while its only pod starts on a newer version", Schedule{
		Seed: 8096541, Start: Start{Masters: 1, Hot: 1, Warm: 1, Tables: []string{"1", "1-all", "1", "0-1"}, Shards: 3, Leave: true}, Steps: 696,
		Items: []Item{{What: pushUpgrade, At: 3823, B: 3}, {What: pushRemoveGroup, At: 52501, A: 4, B: 2}, {What: excludeByName, At: 266, A: 54, B: 8}, {What: stickTerminating, At: 141351, A: 58, B: 39}},
	}},
	{"a transient value hides ours when a definition names it no more, and the daemon goes by what it read before", Schedule{
		Seed: 9160242, Start: Start{Hot: 3, Tables: []string{"1-all", "0-all", "0"}, Shards: 1, Extend: true, Leave: true}, Steps: 78,
		Items: []Item{{What: pushUpgrade, At: 3708, A: 5, B: 3}, {What: pushSetting, At: 22890, A: 6, B: 1}, {What: pushRevert, At: 48119, A: 6, B: 7}, {What: standStill, Call: 14, A: 9, B: 47}, {What: stickTerminating, Call: 85, A: 22, B: 9}, {What: createTable, At: 151324, A: 41, B: 16}, {What: pauseCommand, At: 176547, A: 17, B: 3}, {What: settingByHand, Call: 31, A: 51, B: 56}},
	}},
	{"a group goes out of the definition between the record of a new cluster and its StatefulSet", Schedule{
		Seed: 9244522, Start: Start{Masters: 3, Hot: 2, Warm: 1, Tables: []string{"1", "1-all", "0-1", "2"}, Shards: 1, Second: true, Early: true}, Steps: 76,
		Items: []Item{{What: pushRelease, At: 2311, A: 7, B: 2}, {What: pushRemoveGroup, At: 23226}, {What: pushBadTemplate, At: 62897, A: 4, B: 6}, {What: killAfter, Call: 29, B: 3}, {What: stallController, Call: 60, A: 45, B: 32}, {What: deafReceiver, Call: 53, A: 57, B: 46}, {What: createTable, At: 49503, A: 48, B: 13}, {What: killAfter, Call: 18, B: 38}, {What: alterReplicas, At: 178917, A: 7, B: 14}},
	}},
	{"a group more is stuck at its first pod, and goes out of the definition while another of it has joined", Schedule{
		Seed: 9283119, Start: Start{Hot: 3, Tables: []string{"1", "0-all", "2"}, Shards: 3, Second: true, Leave: true}, Steps: 66,
		Items: []Item{{What: pushAddGroup, At: 1033, A: 6, B: 4}, {What: pushBadTemplate, At: 11291, A: 2, B: 2}, {What: pushRemoveGroup, At: 23684, A: 5, B: 2}, {What: killNode, Call: 3, A: 1, B: 62}, {What: alterReplicas, At: 150208, A: 28, B: 16}, {What: stickTerminating, At: 31409, A: 41, B: 46}, {What: excludeByName, Call: 90, A: 24, B: 10}, {What: excludeByID, Call: 22, A: 11, B: 27}, {What: forbid, Call: 83, A: 52, B: 12}},
	}},
	{"the record is lost while a new cluster is paused, and a group more and more nodes are desired afterwards", Schedule{
		Seed: 9476714, Start: Start{Hot: 1, Shards: 1, Extend: true, Leave: true, Early: true}, Steps: 72,
		Items: []Item{{What: pushPause, At: 4574, B: 7}, {What: pushAddGroup, At: 29919, A: 7, B: 2}, {What: pushGrow, At: 31583, A: 4, B: 2}, {What: loseRecord, At: 78549, A: 40, B: 48}},
	}},
	{"a restart is aborted while its only pod has joined and is not ready yet", Schedule{
		Seed: 10008387, Start: Start{Hot: 1, Tables: []string{"0-1", "0-1", "0-1"}, Shards: 1, Extend: true, Leave: true}, Steps: 648,
		Items: []Item{{What: pushBadTemplate, At: 47082, A: 1, B: 1}, {What: pushRelease, At: 62108, A: 7, B: 3}, {What: stickTerminating, Call: 5, A: 53, B: 13}, {What: abortCommand, Call: 32, A: 23, B: 37}},
	}},
	{"a set got another template while nobody answered, came up without it, and another set is stuck in the resume", Schedule{
		Seed: 11029707, Start: Start{Hot: 3, Warm: 1, Tables: []string{"0-all", "1", "0", "1"}, Shards: 1, Leave: true, Early: true}, Steps: 76,
		Items: []Item{{What: pushSuspend, At: 3581, A: 7}, {What: conflict, Call: 16, A: 60, B: 42}, {What: killNode, At: 122579, A: 26, B: 9}},
	}},
	{"a group goes out of a new cluster before anything is made of it, and a master waits for its nodes", Schedule{
		Seed: 11146370, Start: Start{Hot: 1, Warm: 1, Shards: 1, Leave: true, Early: true}, Steps: 56,
		Items: []Item{{What: pushRemoveGroup, At: 3266, A: 4, B: 3}, {What: timeoutAfter, Call: 2, A: 38, B: 4}, {What: killAfter, Call: 89, A: 50, B: 52}},
	}},
	{"the same, and the daemon dies a little later", Schedule{
		Seed: 11416717, Start: Start{Hot: 1, Warm: 1, Shards: 1, Leave: true, Early: true}, Steps: 67,
		Items: []Item{{What: pushRemoveGroup, At: 3544, A: 1, B: 3}, {What: timeoutAfter, Call: 12, A: 12, B: 17}, {What: killAfter, Call: 17, A: 21, B: 6}},
	}},
	{"the record is lost before the only node goes down and is stuck, what is held waits for it, and another version comes", Schedule{
		Seed: 11206305, Start: Start{Hot: 1, Shards: 1, Extend: true, Leave: true, Zones: true}, Steps: 57,
		Items: []Item{{What: pushBadTemplate, At: 2886, A: 3, B: 1}, {What: pushUpgrade, At: 71078, A: 7, B: 5}, {What: loseRecord, Call: 5, A: 22, B: 62}, {What: killNode, Call: 23, A: 32}},
	}},
	{"the first node of an upgrade is stuck, and the other waits for it after a full outage", Schedule{
		Seed: 11281661, Start: Start{Hot: 2, Shards: 1, Leave: true, Zones: true}, Steps: 89,
		Items: []Item{{What: pushUpgrade, At: 3541, A: 3, B: 6}, {What: pushBadTemplate, At: 28589, A: 5, B: 6}, {What: killNode, Call: 37, A: 18, B: 20}, {What: loseVolume, Call: 3, A: 7, B: 41}},
	}},
	{"the same, and the upgrade is aborted for a while", Schedule{
		Seed: 11281661, Start: Start{Hot: 2, Shards: 1, Leave: true, Zones: true}, Steps: 89,
		Items: []Item{{What: pushUpgrade, At: 3541, A: 3, B: 6}, {What: pushBadTemplate, At: 28589, A: 5, B: 6}, {What: killNode, Call: 37, A: 18, B: 20}, {What: loseVolume, Call: 3, A: 7, B: 41}, {What: abortCommand, At: 116989, A: 8, B: 56}},
	}},
	{"a template is on no pod when its restart is aborted, another set is corrected, and all nodes go down", Schedule{
		Seed: 11334702, Start: Start{Hot: 2, Warm: 1, Tables: []string{"0-all"}, Shards: 2, Second: true, Leave: true}, Steps: 80,
		Items: []Item{{What: pushBadTemplate, At: 43532, A: 6, B: 5}, {What: crashProcess, Call: 37, A: 34, B: 58}, {What: crashProcess, At: 47560, A: 30, B: 43}, {What: abortCommand, Call: 9, A: 30, B: 53}},
	}},
	{"a group that is to go is stuck on what nobody corrects any more, and more nodes are desired", Schedule{
		Seed: 20146919, Start: Start{Hot: 3, Warm: 1, Shards: 1, Extend: true, Leave: true, Zones: true, Early: true}, Steps: 67,
		Items: []Item{{What: pushBadTemplate, At: 1881, A: 3, B: 2}, {What: pushRemoveGroup, At: 59631, A: 3, B: 3}, {What: pushGrow, At: 78771, A: 3, B: 3}, {What: killNode, At: 156287, A: 17, B: 32}, {What: timeoutAfter, Call: 82, A: 10, B: 11}},
	}},
	{"a group goes out of the definition in the middle of a restart, and its pod fails on what it went back to", Schedule{
		Seed: 21005604, Start: Start{Hot: 2, Warm: 1, Tables: []string{"1-all"}, Shards: 1, Leave: true}, Steps: 79,
		Items: []Item{{What: pushRestart, At: 4627, A: 7, B: 2}, {What: pushBadTemplate, At: 30338, A: 1, B: 3}, {What: pushRemoveGroup, At: 46262, A: 3, B: 2}, {What: loseVolume, At: 11232, A: 25, B: 63}},
	}},
	{"the only master waits for the data node that is stuck, and is itself ready", Schedule{
		Seed: 31133975, Start: Start{Masters: 1, Hot: 1, Shards: 1, Leave: true}, Steps: 83,
		Items: []Item{{What: pushBadTemplate, At: 43568, A: 2, B: 2}, {What: crashProcess, Call: 4, A: 51, B: 59}, {What: crashProcess, Call: 15, A: 4, B: 63}},
	}},
	{"a copy waits for the room of another, which is no longer desired while it is made", Schedule{
		Seed: 31293731, Start: Start{Masters: 3, Hot: 2, Tables: []string{"1", "0-all", "1-all", "1"}, Shards: 2, Extend: true, Leave: true}, Steps: 50,
		Items: []Item{{What: pushAddGroup, At: 3058, A: 7}, {What: alterReplicas, Call: 19, A: 17, B: 23}},
	}},
	{"a group that is to go is stuck on a template that came out of order, and the record is lost", Schedule{
		Seed: 15340502, Start: Start{Hot: 1, Warm: 1, Shards: 1, Leave: true}, Steps: 87,
		Items: []Item{{What: pushBadTemplate, At: 2514, A: 2}, {What: pushRemoveGroup, At: 41973, A: 2, B: 4}, {What: crashProcess, Call: 15, A: 34, B: 22}, {What: loseRecord, Call: 20, A: 5, B: 25}, {What: cutDatabase, Call: 42, A: 19, B: 38}},
	}},
	{"the record of a new cluster is lost while it is desired at rest, before one of its sets was made", Schedule{
		Seed: 53273538, Start: Start{Hot: 1, Warm: 1, Shards: 1, Extend: true, Leave: true, Early: true}, Steps: 68,
		Items: []Item{{What: pushPause, At: 2818, A: 5, B: 2}, {What: pushSuspend, At: 61187, A: 7, B: 2}, {What: timeoutAfter, Call: 32, A: 3, B: 43}, {What: loseRecord, At: 165633, A: 16}, {What: conflict, Call: 83, A: 50, B: 47}},
	}},
	{"a node is away when its drain begins, and a table has a filter of its own when it joins", Schedule{
		Seed: 73118182, Start: Start{Masters: 3, Hot: 2, Tables: []string{"0-1"}, Shards: 1}, Steps: 432,
		Items: []Item{{What: pushGrow, At: 427, A: 6, B: 1}, {What: pushShrink, At: 28904, A: 5, B: 1}, {What: evict, At: 42499, A: 39, B: 54}, {What: filterTable, At: 14007, A: 46, B: 14}},
	}},
	{"a pod of a cluster that is being made is stuck, its gateway waits for it, and the correction is of another version", Schedule{
		Seed: 101265432, Start: Start{Masters: 3, Hot: 2, Shards: 1, Leave: true, Early: true}, Steps: 83,
		Items: []Item{{What: pushBadTemplate, At: 1742, A: 4, B: 3}, {What: pushUpgrade, At: 29728, A: 2, B: 2}, {What: unavailable, Call: 23, A: 28, B: 8}},
	}},
	{"a daemon takes the Lease again long after its last word", Schedule{
		Seed: 12033404, Start: Start{Masters: 3, Hot: 2, Tables: []string{"1", "0-1", "1"}, Shards: 1, Second: true, Extend: true, Leave: true, Early: true}, Steps: 90,
		Items: []Item{{What: killAfter, Call: 22, A: 21, B: 48}, {What: restartDaemon, At: 42044, A: 1, B: 40}, {What: unavailable, Call: 6, A: 43, B: 33}, {What: pushNeverReady, At: 37501, A: 50, B: 15}},
	}},
	{"another version came before the cluster was founded, and a group that is stuck goes out of the definition", Schedule{
		Seed: 105770387, Start: Start{Hot: 2, Warm: 1, Shards: 1, Extend: true, Leave: true, Zones: true, Early: true}, Steps: 72,
		Items: []Item{{What: pushBadTemplate, At: 694, A: 6}, {What: pushUpgrade, At: 5623, A: 6, B: 5}, {What: pushRemoveGroup, At: 29934, A: 1, B: 2}},
	}},
	{"the nodes of a grow are stuck, the correction is of another version, and somebody has added a master by hand", Schedule{
		Seed: 106006557, Start: Start{Masters: 3, Hot: 1, Tables: []string{"0-all", "0-all", "0-1"}, Shards: 1, Extend: true, Zones: true}, Steps: 90,
		Items: []Item{{What: pushBadTemplate, At: 4569, B: 6}, {What: pushAddGroup, At: 53003, B: 5}, {What: pushUpgrade, At: 81171, A: 2, B: 7}, {What: standStill, Call: 10, A: 2, B: 17}, {What: loseVolume, At: 108326, A: 62, B: 34}, {What: loseVolume, Call: 38, A: 58, B: 41}, {What: scaleUpByHand, At: 139763, A: 51, B: 19}},
	}},
	{"a setting is pushed, and a node that was evicted has not answered yet", Schedule{
		Seed: 106006875, Start: Start{Masters: 5, Hot: 12, Tables: []string{"1-all", "1", "2", "0-1"}, Shards: 3, Leave: true, Zones: true}, Steps: 83,
		Items: []Item{{What: pushSetting, At: 13180, A: 3, B: 5}, {What: drainNode, At: 21093, A: 7, B: 35}},
	}},
	{"the only voter is stuck on a template while another set is on trial, and no node joins before it does", Schedule{
		Seed: 30287430, Start: Start{Masters: 1, Hot: 1, Shards: 1, Leave: true}, Steps: 67,
		Items: []Item{{What: pushBadTemplate, At: 4371, B: 2}, {What: loseRecord, Call: 33, A: 20, B: 41}, {What: crashProcess, At: 31047, A: 1, B: 61}, {What: killNode, Call: 21, A: 54, B: 14}, {What: setTransient, At: 4054, A: 33, B: 32}},
	}},
	{"an upgrade has stopped and there is no master, and a release was to take off what somebody excludes", Schedule{
		Seed: 770189960, Start: Start{Hot: 2, Tables: []string{"0"}, Shards: 1, Extend: true, Leave: true, Zones: true}, Steps: 544,
		Items: []Item{{What: pushBadTemplate, At: 940, A: 7, B: 3}, {What: pushUpgrade, At: 52897, A: 3, B: 1}, {What: releaseCommand, Call: 70, A: 61, B: 50}, {What: excludeByID, At: 5353, A: 49, B: 1}},
	}},
	{"a transient value hides a live setting of ours right before it is reset", Schedule{
		Seed: 200066058, Start: Start{Hot: 3, Tables: []string{"0-all", "1-all"}, Shards: 3}, Steps: 51,
		Items: []Item{{What: pushUpgrade, At: 2712, B: 4}, {What: pushSetting, At: 57248, A: 3, B: 5}, {What: pushSetting, At: 58725, A: 5, B: 2}, {What: settingByHand, Call: 24, A: 31, B: 24}, {What: killAfter, Call: 16, A: 25, B: 51}},
	}},
	{"the pod of a restart has a master and stays, and its gateway waits for the other node, which is stuck", Schedule{
		Seed: 790720064, Start: Start{Hot: 2, Shards: 1, Leave: true, Zones: true}, Steps: 528,
		Items: []Item{{What: pushBadTemplate, At: 3423, B: 2}, {What: pushRevert, At: 45534, A: 6}, {What: pushBadTemplate, At: 83253, A: 5}, {What: crashProcess, Call: 39, A: 15, B: 52}, {What: loseVolume, At: 44521, A: 23, B: 15}, {What: pushNeverReady, At: 13428, A: 55, B: 37}},
	}},
	{"a group that came with the cluster and never joined goes out of the definition, and an upgrade waits for its pod", Schedule{
		Seed: 791377762, Start: Start{Hot: 11, Warm: 1, Shards: 1, Leave: true, Early: true}, Steps: 55,
		Items: []Item{{What: pushBadTemplate, At: 3924, A: 2, B: 6}, {What: pushUpgrade, At: 29621, A: 4, B: 7}, {What: pushRemoveGroup, At: 80350, A: 6, B: 4}, {What: timeoutAfter, Call: 46, A: 17, B: 36}, {What: killAfter, Call: 7, A: 47, B: 21}, {What: killAfter, Call: 107, A: 5, B: 42}},
	}},
	{"an upgrade is aborted after its version has started on one of two volumes, and the cluster is suspended and resumed", Schedule{
		Seed: 792175788, Start: Start{Hot: 2, Shards: 1, Extend: true, Leave: true, Zones: true}, Steps: 90,
		Items: []Item{{What: pushRemoveGroup, At: 1807, A: 3}, {What: pushUpgrade, At: 21641, A: 6, B: 6}, {What: pushSuspend, At: 33451, A: 5, B: 6}, {What: stickTerminating, Call: 13, A: 47, B: 63}, {What: abortCommand, Call: 40, A: 59, B: 61}, {What: setTransient, Call: 7, A: 38, B: 57}},
	}},
	{"an upgrade goes on as soon as its abort is taken back, and a pod that was evicted starts on it", Schedule{
		Seed: 790518067, Start: Start{Hot: 2, Tables: []string{"0-all", "1", "0-all"}, Shards: 2, Extend: true}, Steps: 85,
		Items: []Item{{What: pushGrow, At: 4231, A: 7, B: 1}, {What: pushUpgrade, At: 22955, A: 6, B: 6}, {What: unavailable, Call: 31, A: 22, B: 31}, {What: standStill, Call: 17, A: 18, B: 30}, {What: abortCommand, Call: 38, A: 38, B: 59}, {What: abortCommand, At: 53278, A: 13, B: 38}, {What: stallController, Call: 24, A: 49, B: 43}, {What: stickTerminating, Call: 39, A: 6, B: 38}, {What: holdTable, Call: 39, A: 43, B: 29}},
	}},
	{"people resume a suspended cluster on an older version than has started on its volume", Schedule{
		Seed: 783037964, Start: Start{Hot: 1, Tables: []string{"0"}, Shards: 3, Extend: true, Leave: true, Zones: true}, Steps: 85,
		Items: []Item{{What: pushUpgrade, At: 3991, A: 3, B: 6}, {What: pushRevert, At: 59696, A: 7, B: 4}, {What: pushSuspend, At: 75700, B: 1}, {What: evict, At: 15177, A: 20, B: 42}, {What: replaceCommand, At: 273253, A: 5, B: 22}},
	}},
	{"the record is lost, and an upgrade begins with a set of which no pod is on the new image while a pod of the other set fails", Schedule{
		Seed: 793142776, Start: Start{Hot: 1, Tables: []string{"0-1", "0"}, Shards: 3, Extend: true}, Steps: 61,
		Items: []Item{{What: pushAddGroup, At: 2043, A: 3, B: 6}, {What: pushBadTemplate, At: 20803, A: 7, B: 7}, {What: pushUpgrade, At: 61403, A: 5, B: 1}, {What: loseRecord, Call: 21, A: 20, B: 42}, {What: killNode, Call: 18, A: 62, B: 14}},
	}},
	{"masters leave before a group of an older version, which alone could take the copies that a filter had hidden", Schedule{
		Seed: 810000580, Start: Start{Masters: 5, Hot: 1, Tables: []string{"0-1", "0"}, Shards: 1, Extend: true, Leave: true}, Steps: 496,
		Items: []Item{{What: pushAddGroup, At: 4998, A: 5}, {What: pushRemoveGroup, At: 52078, A: 6, B: 4}, {What: pushUpgrade, At: 98440, A: 6, B: 2}, {What: failProbe, At: 24726, A: 54, B: 29}, {What: pinTable, At: 103977, A: 52, B: 29}, {What: pushShrink, At: 123307, B: 1}},
	}},
	{"an upgrade's template is replaced before a pod was on it by one that cannot be pulled, and the group is removed", Schedule{
		Seed: 1000139741, Start: Start{Hot: 1, Warm: 1, Shards: 1, Extend: true, Leave: true, Early: true}, Steps: 80,
		Items: []Item{{What: pushUpgrade, At: 1945, A: 7, B: 7}, {What: pushBadTemplate, At: 10819, A: 6, B: 6}, {What: pushRemoveGroup, At: 14652, A: 6, B: 4}, {What: killAfter, Call: 22, A: 32, B: 43}, {What: conflict, Call: 16, A: 54, B: 21}},
	}},
	{"an abort gives exclusions back, and `system` is denied the table that has our filter", Schedule{
		Seed: 1300019334, Start: Start{Hot: 2, Masters: 3, Tables: []string{"0-1"}, Shards: 1, Extend: true}, Steps: 88,
		Items: []Item{{What: abortCommand, Call: 10, A: 18, B: 56}, {What: denySystem, Call: 10, A: 40, B: 62}, {What: pinTable, At: 45697, A: 13, B: 14}, {What: pushShrink, At: 60954, A: 7, B: 2}},
	}},
}
