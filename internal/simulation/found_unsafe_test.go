package simulation

// wasUnsafe are schedules in which an invariant of safety was broken, each reduced to what
// it needs.
var wasUnsafe = []struct {
	name string
	s    Schedule
}{
	{"a node that somebody has added by hand dies before a master is upgraded", Schedule{
		Seed: 6018354, Start: Start{Masters: 1, Hot: 1, Tables: []string{"0-all", "0-all"}, Shards: 1, Extend: true}, Steps: 68,
		Items: []Item{{What: pushUpgrade, At: 1363, A: 6, B: 7}, {What: killNode, Call: 39, A: 23, B: 8}, {What: scaleUpByHand, At: 6833, A: 34, B: 1}},
	}},
	{"a master dies before another is restarted, and somebody has added one by hand", Schedule{
		Seed: 8403396, Start: Start{Masters: 5, Hot: 1, Tables: []string{"0-1"}, Shards: 1, Extend: true, Leave: true}, Steps: 66,
		Items: []Item{{What: pushRestart, At: 3453, A: 5, B: 7}, {What: killNode, Call: 17, A: 11, B: 3}, {What: scaleUpByHand, At: 1031, A: 15, B: 35}},
	}},
	{"a node that somebody has added by hand to another group dies before one is upgraded", Schedule{
		Seed: 8533768, Start: Start{Hot: 1, Warm: 1, Tables: []string{"0-1"}, Shards: 2, Extend: true, Leave: true}, Steps: 50,
		Items: []Item{{What: pushUpgrade, At: 291, A: 3, B: 7}, {What: drainNode, Call: 11, A: 10, B: 37}, {What: killNode, Call: 34, A: 53, B: 27}, {What: scaleUpByHand, At: 7146, A: 63, B: 52}},
	}},
	{"a master dies before another is restarted, a password is changed, and somebody has added one by hand", Schedule{
		Seed: 8703685, Start: Start{Masters: 5, Hot: 1, Tables: []string{"0-1", "0-1", "0-1"}, Shards: 1, Extend: true}, Steps: 64,
		Items: []Item{{What: pushRestart, At: 46, A: 5, B: 6}, {What: killNode, Call: 27, A: 60, B: 36}, {What: changePassword, Call: 5, A: 2, B: 10}, {What: scaleUpByHand, At: 12994, A: 15, B: 48}},
	}},
	{"the pod of a node that somebody has added by hand is not made yet", Schedule{
		Seed: 8735252, Start: Start{Hot: 2, Tables: []string{"0-1", "1", "1", "1"}, Shards: 2, Extend: true, Leave: true}, Steps: 81,
		Items: []Item{{What: pushSetting, At: 2715, A: 4, B: 2}, {What: pushAddGroup, At: 47509, B: 4}, {What: pushUpgrade, At: 82359, A: 7, B: 6}, {What: conflict, Call: 6, A: 11, B: 58}, {What: scaleUpByHand, At: 86774, A: 31, B: 42}},
	}},
	{"a master that somebody has added by hand dies before another is restarted", Schedule{
		Seed: 8743386, Start: Start{Masters: 3, Hot: 2, Tables: []string{"0-all", "0-all"}, Shards: 1}, Steps: 85,
		Items: []Item{{What: pushTemplate, At: 12911, A: 1, B: 2}, {What: standStill, Call: 21, A: 42, B: 20}, {What: killNode, Call: 29, A: 35, B: 53}, {What: scaleUpByHand, At: 22461, A: 60, B: 63}},
	}},
	{"the record is lost while the only voter is stuck, and the next two templates come before it is up", Schedule{
		Seed: 6032897, Start: Start{Hot: 1, Warm: 1, Tables: []string{"0-1"}, Shards: 1, Second: true, Leave: true, Zones: true}, Steps: 86,
		Items: []Item{{What: pushBadTemplate, At: 3449, A: 6, B: 1}, {What: standStill, Call: 23, A: 57, B: 40}, {What: loseRecord, At: 109900, B: 18}},
	}},
	{"a cluster is released before the first pod of an upgrade, and another template comes while that starts", Schedule{
		Seed: 8201035, Start: Start{Masters: 1, Hot: 2, Warm: 1, Tables: []string{"0-1", "0"}, Shards: 2, Leave: true, Zones: true}, Steps: 77,
		Items: []Item{{What: pushUpgrade, At: 2556, A: 2, B: 2}, {What: pushShrink, At: 40175, B: 6}, {What: drainNode, Call: 8, A: 23, B: 10}, {What: loseVolume, Call: 29, A: 26, B: 10}, {What: killBefore, Call: 21, A: 63, B: 52}, {What: releaseCommand, Call: 3, A: 23, B: 8}},
	}},
	{"a template was recorded and never applied when the cluster was released, and then nodes are drained", Schedule{
		Seed: 3652124, Start: Start{Masters: 5, Hot: 2, Warm: 1, Tables: []string{"1-all", "0-all", "1-all", "1"}, Shards: 1, Leave: true, Zones: true}, Steps: 75,
		Items: []Item{{What: pushAddGroup, At: 2773, A: 6, B: 3}, {What: pushBadTemplate, At: 42392, A: 5, B: 4}, {What: restartDaemon, Call: 1, A: 50, B: 15}, {What: releaseCommand, At: 56171, A: 41, B: 50}, {What: drainNode, Call: 6, A: 2, B: 9}},
	}},
	{"a cluster is released before any pod is on a set's new template, and a volume of that set is lost", Schedule{
		Seed: 8049528, Start: Start{Masters: 3, Hot: 2, Tables: []string{"0", "1"}, Shards: 3, Extend: true, Leave: true}, Steps: 54,
		Items: []Item{{What: pushBadTemplate, At: 2356, A: 5, B: 6}, {What: loseVolume, Call: 2, A: 3, B: 40}, {What: standStill, Call: 2, A: 44, B: 15}, {What: releaseCommand, At: 77618, A: 22, B: 25}},
	}},
	{"the only master has just started again when another template comes, and the data node is stuck on the one before", Schedule{
		Seed: 8304945, Start: Start{Masters: 1, Hot: 1, Tables: []string{"0-1", "0-all", "0-1"}, Shards: 1, Extend: true}, Steps: 58,
		Items: []Item{{What: pushBadTemplate, At: 1664, A: 3, B: 3}, {What: drainNode, Call: 1, A: 43, B: 46}, {What: crashProcess, Call: 32, A: 62, B: 38}},
	}},
	{"the record is lost before the first pod goes, another set is corrected, and then a node of the first is drained", Schedule{
		Seed: 8362732, Start: Start{Masters: 3, Hot: 2, Shards: 1, Extend: true, Leave: true}, Steps: 464,
		Items: []Item{{What: pushBadTemplate, At: 2051, A: 3, B: 2}, {What: loseRecord, Call: 21, A: 33, B: 30}, {What: drainNode, At: 122137, A: 38, B: 60}, {What: crashProcess, Call: 19, A: 14, B: 33}},
	}},
	{"without a quorum the masters get another template, and a data node that was away waits for its own", Schedule{
		Seed: 8394056, Start: Start{Masters: 3, Hot: 1, Tables: []string{"0-1"}, Shards: 1, Extend: true}, Steps: 51,
		Items: []Item{{What: pushRelease, At: 3741, A: 1, B: 3}, {What: killNode, Call: 16, A: 39, B: 62}, {What: loseVolume, At: 64384, A: 61, B: 60}, {What: killNode, Call: 4, A: 4, B: 37}},
	}},
	{"a node of a new group becomes a member in the moment in which a voter is made on another template", Schedule{
		Seed: 8476203, Start: Start{Hot: 3, Tables: []string{"1-all", "1-all"}, Shards: 2, Leave: true}, Steps: 76,
		Items: []Item{{What: pushShrink, At: 2444, A: 1, B: 3}, {What: pushSetting, At: 10826, A: 5, B: 1}, {What: pushAddGroup, At: 21067, A: 1, B: 5}, {What: loseVolume, Call: 10, A: 8, B: 14}, {What: pauseCommand, At: 56679, A: 57, B: 62}, {What: loseVolume, Call: 5, A: 51, B: 19}, {What: loseRecord, Call: 16, A: 9, B: 48}},
	}},
	{"a group is to be smaller, and its last node joins in the moment in which it is removed", Schedule{
		Seed: 8505516, Start: Start{Masters: 3, Hot: 2, Tables: []string{"1-all"}, Shards: 2, Extend: true, Leave: true, Zones: true}, Steps: 600,
		Items: []Item{{What: pushBadTemplate, At: 780, A: 1, B: 7}, {What: pushAddGroup, At: 2374, A: 2, B: 1}, {What: pushShrink, At: 14600, A: 5, B: 7}, {What: conflict, Call: 21, A: 53, B: 62}, {What: killBefore, Call: 13, A: 14, B: 32}},
	}},
	{"a group goes out of the definition while its nodes start", Schedule{
		Seed: 8735466, Start: Start{Hot: 2, Tables: []string{"0-1", "0-1", "1-all", "1-all"}, Shards: 2, Leave: true}, Steps: 52,
		Items: []Item{{What: pushRevert, At: 2863, A: 7, B: 7}, {What: pushAddGroup, At: 31588, A: 5, B: 4}, {What: pushRemoveGroup, At: 32873, A: 7}},
	}},
	{"number_of_replicas is changed in the moment in which a node is removed, of a table with a filter of its own", Schedule{
		Seed: 9135921, Start: Start{Masters: 3, Hot: 2, Tables: []string{"0-all", "0"}, Shards: 3, Leave: true}, Steps: 77,
		Items: []Item{{What: pushShrink, At: 2650, A: 4, B: 5}, {What: pushTemplate, At: 56725, A: 1, B: 2}, {What: pushAddGroup, At: 71224, A: 4, B: 3}, {What: crashProcess, Call: 13, A: 44, B: 35}, {What: filterTable, Call: 36, A: 37, B: 17}, {What: alterReplicas, Call: 54, A: 55, B: 28}},
	}},
	{"somebody holds the allocation in the moment in which the record of our own hold is lost", Schedule{
		Seed: 8219834, Start: Start{Hot: 2, Warm: 1, Tables: []string{"0-all", "2", "0-1", "0"}, Shards: 1, Extend: true, Leave: true}, Steps: 440,
		Items: []Item{{What: loseRecord, Call: 11, A: 38, B: 37}, {What: setPersistent, Call: 11, A: 17, B: 56}},
	}},
	{"a cluster is released a second time while the daemon stands still", Schedule{
		Seed: 8728229, Start: Start{Masters: 3, Hot: 1, Tables: []string{"0-1", "0-1"}, Shards: 2}, Steps: 74,
		Items: []Item{{What: pushTemplate, At: 471, A: 4, B: 6}, {What: standStill, Call: 35, A: 1, B: 23}, {What: releaseCommand, At: 18809, A: 31, B: 28}, {What: releaseCommand, At: 89604, A: 23, B: 34}, {What: pauseCommand, Call: 12, A: 28, B: 32}},
	}},
	{"somebody has set what is to be set live, and the cluster is suspended", Schedule{
		Seed: 9349062, Start: Start{Hot: 2, Shards: 1, Extend: true, Leave: true}, Steps: 54,
		Items: []Item{{What: pushSetting, At: 1419, A: 6, B: 7}, {What: pushAddGroup, At: 28281, A: 2, B: 7}, {What: pushSuspend, At: 38951, A: 7, B: 5}, {What: stallController, Call: 29, A: 20, B: 10}, {What: settingByHand, Call: 16, A: 21, B: 49}},
	}},
	{"somebody sets a live setting below the very same transient value", Schedule{
		Seed: 9410770, Start: Start{Hot: 1, Shards: 1, Extend: true}, Steps: 65,
		Items: []Item{{What: pushSuspend, At: 4577, A: 4, B: 4}, {What: pushSetting, At: 52712, A: 4, B: 1}, {What: settingByHand, Call: 23, A: 24, B: 23}, {What: settingByHand, At: 61595, A: 3, B: 56}},
	}},
	{"a node comes back while one daemon stands still, and dies right before another's delete", Schedule{
		Seed: 11163607, Start: Start{Hot: 2, Shards: 1, Second: true, Extend: true, Zones: true}, Steps: 68,
		Items: []Item{{What: standStill, Call: 8, A: 24, B: 40}, {What: evict, Call: 5, A: 21, B: 19}, {What: loseVolume, Call: 26, A: 45, B: 31}},
	}},
	{"an allocation lock that a transient value hides is taken back over somebody's below it", Schedule{
		Seed: 11483510, Start: Start{Hot: 2, Tables: []string{"0", "1"}, Shards: 1}, Steps: 432,
		Items: []Item{{What: crashProcess, Call: 26, A: 17, B: 1}, {What: setTransient, At: 179175, A: 10, B: 18}, {What: setPersistent, At: 57990, A: 37, B: 20}, {What: setTransient, Call: 95, A: 7, B: 45}},
	}},
	{"a transient value goes in the moment in which an allocation lock is recorded, and somebody's is below it", Schedule{
		Seed: 11484251, Start: Start{Hot: 2, Tables: []string{"0", "1"}, Shards: 1}, Steps: 432,
		Items: []Item{{What: crashProcess, Call: 26, A: 17, B: 1}, {What: setTransient, At: 179175, A: 10, B: 18}, {What: setPersistent, At: 57990, A: 37, B: 20}, {What: setTransient, Call: 95, A: 7, B: 45}},
	}},
	{"a restart is aborted before its template is applied, and another comes with more nodes", Schedule{
		Seed: 11352934, Start: Start{Hot: 1, Tables: []string{"0-1", "0-all", "0"}, Shards: 1, Leave: true}, Steps: 72,
		Items: []Item{{What: pushTemplate, At: 4866, A: 4, B: 4}, {What: pushPause, At: 15349, A: 5, B: 1}, {What: pushGrow, At: 63858, A: 4, B: 4}, {What: conflict, Call: 1, A: 35, B: 28}, {What: abortCommand, Call: 1, A: 45, B: 35}},
	}},
	{"the daemon dies before it applies a template in the middle of a restart, and another version comes", Schedule{
		Seed: 9977120, Start: Start{Hot: 2, Tables: []string{"0-1", "1", "0", "0-all"}, Shards: 2, Extend: true, Leave: true}, Steps: 56,
		Items: []Item{{What: pushRestart, At: 1887, A: 6, B: 1}, {What: pushBadTemplate, At: 10199, A: 4, B: 2}, {What: pushUpgrade, At: 19829, A: 7, B: 7}, {What: killAfter, Call: 28, A: 61, B: 15}},
	}},
	{"the master's process dies, and a node whose probe fails is due for another template", Schedule{
		Seed: 11256250, Start: Start{Hot: 1, Warm: 1, Shards: 1, Extend: true, Leave: true}, Steps: 536,
		Items: []Item{{What: crashProcess, Call: 12, A: 36, B: 63}, {What: failProbe, At: 121688, A: 1, B: 36}},
	}},
	{"nobody answers for a moment, and the only master, whose probe fails, is due for another template", Schedule{
		Seed: 11588206, Start: Start{Masters: 1, Hot: 1, Tables: []string{"0-1"}, Shards: 1}, Steps: 77,
		Items: []Item{{What: cutDatabase, Call: 1, A: 28, B: 1}, {What: stickTerminating, At: 121002, A: 49, B: 15}, {What: failProbe, At: 75072, A: 36, B: 43}},
	}},
	{"somebody has set a live setting, and the nodes leave that were started with it", Schedule{
		Seed: 20190870, Start: Start{Hot: 3, Tables: []string{"1", "1-all", "0-all"}, Shards: 2, Leave: true, Zones: true}, Steps: 90,
		Items: []Item{{What: pushAddGroup, At: 38706, A: 2, B: 5}, {What: pushSetting, At: 50408, A: 3, B: 2}, {What: killBefore, Call: 1, A: 7, B: 10}, {What: timeoutAfter, Call: 30, B: 14}, {What: setTransient, At: 98452, A: 59, B: 8}, {What: settingByHand, Call: 20, A: 27, B: 21}},
	}},
	{"the only master is evicted in the middle of a restart, and those that are due are unready for a moment", Schedule{
		Seed: 5500810, Start: Start{Masters: 1, Hot: 1, Warm: 1, Tables: []string{"0-1", "0", "0-1"}, Shards: 3, Leave: true, Zones: true}, Steps: 71,
		Items: []Item{{What: pushRelease, At: 820, A: 1, B: 6}, {What: evict, At: 33196, A: 33, B: 52}},
	}},
	{"two sets are to be corrected, the template of the first is refused, and both are superseded", Schedule{
		Seed: 21059468, Start: Start{Masters: 3, Hot: 1, Tables: []string{"0"}, Shards: 3, Leave: true, Zones: true}, Steps: 57,
		Items: []Item{{What: pushRelease, At: 22085, A: 2}, {What: pushRevert, At: 35492, A: 1, B: 3}, {What: forbid, Call: 1, A: 47, B: 6}, {What: changePassword, At: 97661, A: 35, B: 39}, {What: killNode, At: 146199, A: 22, B: 36}},
	}},
	{"a webhook refuses a template, a push takes it back while the pod is stuck, and the restart ends", Schedule{
		Seed: 31176307, Start: Start{Hot: 1, Shards: 1, Extend: true, Leave: true}, Steps: 62,
		Items: []Item{{What: pushTemplate, At: 1726, A: 4, B: 2}, {What: pushRevert, At: 38649, A: 1, B: 4}, {What: crashProcess, Call: 4, A: 10, B: 58}, {What: forbid, Call: 1, A: 37, B: 47}, {What: pauseCommand, Call: 9, A: 62, B: 12}},
	}},
	{"a template comes while nobody answers, and another version before any pod is on it", Schedule{
		Seed: 41027385, Start: Start{Hot: 1, Tables: []string{"0-1", "0-1", "0-1", "0-1"}, Shards: 1, Extend: true, Leave: true}, Steps: 51,
		Items: []Item{{What: pushTemplate, At: 4741, A: 4, B: 7}, {What: pushBadTemplate, At: 10586, A: 7}, {What: pushUpgrade, At: 46255, A: 2}, {What: cutDatabase, Call: 31, A: 48, B: 29}},
	}},
	{"replicas are raised by hand between the look and the success that is said", Schedule{
		Seed: 41148085, Start: Start{Hot: 1, Warm: 1, Tables: []string{"1", "1-all"}, Shards: 3, Extend: true, Leave: true}, Steps: 64,
		Items: []Item{{What: pushShrink, At: 841, A: 2, B: 7}, {What: loseRecord, At: 132584, A: 55, B: 35}, {What: scaleUpByHand, At: 133314, A: 7, B: 57}},
	}},
	{"a live setting is set twice by hand in the moment of a write, once transiently", Schedule{
		Seed: 42035887, Start: Start{Hot: 2, Shards: 1, Extend: true}, Steps: 68,
		Items: []Item{{What: pushShrink, At: 1830, A: 3, B: 4}, {What: pushSetting, At: 28182, A: 4, B: 2}, {What: restartDaemon, Call: 4, A: 56, B: 52}, {What: settingByHand, Call: 10, A: 15, B: 24}, {What: settingByHand, Call: 10, A: 4, B: 35}},
	}},
	{"a cluster is paused while an empty node is long in going", Schedule{
		Seed: 55042482, Start: Start{Hot: 4, Tables: []string{"2", "0-1", "1", "1"}, Shards: 2, Extend: true, Leave: true, Zones: true}, Steps: 64,
		Items: []Item{{What: pushShrink, At: 823, A: 7, B: 2}, {What: pushPause, At: 11163, A: 2}, {What: stallController, Call: 3, A: 11, B: 36}},
	}},
	{"the record is lost before a node whose probe fails is upgraded, that is aborted, and another template comes", Schedule{
		Seed: 44252959, Start: Start{Masters: 3, Hot: 1, Warm: 1, Tables: []string{"0-1", "0-all", "0"}, Shards: 3, Extend: true, Leave: true}, Steps: 88,
		Items: []Item{{What: pushUpgrade, At: 4387, A: 3, B: 7}, {What: conflict, Call: 7, A: 37, B: 57}, {What: loseRecord, Call: 13, A: 9, B: 43}, {What: abortCommand, Call: 37, A: 36, B: 44}, {What: failProbe, At: 4073, B: 10}},
	}},
	{"a restart is released, and the next one of that set stops", Schedule{
		Seed: 44613178, Start: Start{Hot: 2, Tables: []string{"1"}, Shards: 1, Leave: true}, Steps: 696,
		Items: []Item{{What: pushTemplate, At: 3172, A: 6, B: 7}, {What: loseVolume, Call: 14, A: 55}, {What: releaseCommand, At: 15371, A: 9, B: 18}, {What: pushNeverReady, At: 10012, A: 44, B: 63}},
	}},
	{"a pod joins on a template that its set went back from, and the one that runs what it went back to is lost", Schedule{
		Seed: 43003690, Start: Start{Hot: 2, Warm: 1, Tables: []string{"2", "0-1"}, Shards: 1}, Steps: 88,
		Items: []Item{{What: pushTemplate, At: 2165, A: 4, B: 2}, {What: evict, Call: 1, A: 24, B: 30}, {What: abortCommand, Call: 13, A: 58, B: 26}, {What: loseVolume, At: 25988, A: 16, B: 28}},
	}},
	{"a cluster is released while a node leaves, and its StatefulSet controller stalls", Schedule{
		Seed: 45281209, Start: Start{Hot: 6, Tables: []string{"2"}, Shards: 3, Extend: true, Leave: true}, Steps: 74,
		Items: []Item{{What: pushShrink, At: 1580, A: 3, B: 7}, {What: pushRelease, At: 30758, A: 5}, {What: stickTerminating, Call: 36, A: 44, B: 37}, {What: forbid, Call: 27, A: 21, B: 12}, {What: stallController, Call: 37, A: 59, B: 37}, {What: releaseCommand, Call: 35, A: 8, B: 30}},
	}},
	{"the only voter waits for a set that is stuck, its turn comes, and what corrects the other comes too", Schedule{
		Seed: 57449625, Start: Start{Hot: 1, Warm: 1, Shards: 1, Extend: true, Leave: true}, Steps: 688,
		Items: []Item{{What: pushBadTemplate, At: 46523, A: 6, B: 7}, {What: releaseCommand, At: 140266, A: 2, B: 16}, {What: crashProcess, At: 67329, A: 61, B: 37}, {What: failProbe, At: 16072, A: 6, B: 9}},
	}},
	{"the record is lost when the pod of a group that was drained has gone, and its node is a member still", Schedule{
		Seed: 58519974, Start: Start{Masters: 3, Hot: 3, Warm: 1, Tables: []string{"1"}, Shards: 3, Extend: true, Leave: true}, Steps: 64,
		Items: []Item{{What: pushRemoveGroup, At: 3510, A: 7, B: 7}, {What: loseRecord, Call: 28, A: 14, B: 63}},
	}},
	{"the record is lost when the pod of a node that was drained has gone, and the node is a member still", Schedule{
		Seed: 47015135, Start: Start{Masters: 3, Hot: 2, Tables: []string{"0-all"}, Shards: 1, Leave: true}, Steps: 73,
		Items: []Item{{What: pushShrink, At: 1361, A: 7, B: 1}, {What: loseRecord, Call: 27, A: 38, B: 24}, {What: forbid, Call: 25, A: 11, B: 50}},
	}},
	{"a suspension is taken back while one set is down, and a pod of the other is never ready", Schedule{
		Seed: 81004760, Start: Start{Hot: 2, Tables: []string{"0-1", "1"}, Shards: 1, Extend: true, Leave: true}, Steps: 75,
		Items: []Item{{What: pushBadTemplate, At: 1790, A: 3, B: 1}, {What: pushAddGroup, At: 23859, A: 3, B: 3}, {What: pushSuspend, At: 64670, A: 7, B: 6}, {What: standStill, Call: 3, A: 8, B: 45}, {What: restartDaemon, Call: 38, A: 56, B: 52}, {What: killAfter, Call: 25, A: 21, B: 54}, {What: killAfter, Call: 51, A: 18, B: 62}, {What: changePassword, At: 95756, A: 56, B: 53}, {What: pushNeverReady, At: 6896, A: 58, B: 47}},
	}},
	{"the record is lost before a new group has its first pod, and the process of another set has died", Schedule{
		Seed: 81148959, Start: Start{Masters: 3, Hot: 1, Tables: []string{"0-1"}, Shards: 1, Leave: true}, Steps: 71,
		Items: []Item{{What: pushPause, At: 4477, A: 5, B: 3}, {What: pushAddGroup, At: 14874, A: 4, B: 6}, {What: crashProcess, At: 162062, A: 32, B: 46}, {What: loseRecord, Call: 3, A: 47, B: 23}},
	}},
	{"the node that somebody has added by hand has joined, and its pod is not ready yet", Schedule{
		Seed: 91072396, Start: Start{Hot: 1, Tables: []string{"0-1"}, Shards: 3, Leave: true}, Steps: 464,
		Items: []Item{{What: pushAddGroup, At: 4836, A: 1, B: 4}, {What: pushUpgrade, At: 48533, B: 3}, {What: killBefore, Call: 28, A: 56, B: 60}, {What: pauseCommand, Call: 11, A: 14, B: 1}, {What: forbid, Call: 27, A: 14, B: 8}, {What: scaleUpByHand, At: 73450, A: 28, B: 22}},
	}},
	{"the record is lost while a pod goes for its restart and the watch of pods is silent", Schedule{
		Seed: 44244797, Start: Start{Hot: 2, Warm: 1, Tables: []string{"1-all"}, Shards: 3, Extend: true, Leave: true, Zones: true}, Steps: 52,
		Items: []Item{{What: pushRevert, At: 2666, B: 6}, {What: loseRecord, Call: 20, A: 14, B: 44}, {What: unavailable, Call: 28, A: 30, B: 13}, {What: releaseCommand, At: 65223, A: 29, B: 24}, {What: stallWatch, Call: 10, A: 1, B: 59}, {What: failProbe, At: 148675, A: 12, B: 32}},
	}},
	{"the only voter has come up and is unready again, while the other set is on a template that cannot run", Schedule{
		Seed: 101217548, Start: Start{Hot: 1, Warm: 1, Shards: 1, Extend: true, Leave: true}, Steps: 89,
		Items: []Item{{What: pushRestart, At: 4347, A: 6, B: 5}, {What: pushBadTemplate, At: 43420, A: 6}, {What: crashProcess, Call: 22, A: 20, B: 43}, {What: stallWatch, At: 54907, A: 13, B: 22}, {What: excludeByName, Call: 17, A: 8, B: 28}, {What: failProbe, At: 54447, A: 29, B: 12}},
	}},
	{"a restart counts its nodes as still when other nodes are to come or to leave first", Schedule{
		Seed: 102055620, Start: Start{Hot: 4, Warm: 1, Tables: []string{"0", "0-1"}, Shards: 1, Second: true, Extend: true, Leave: true}, Steps: 472,
		Items: []Item{{What: pushUpgrade, At: 1560, A: 6, B: 5}, {What: pushUpgrade, At: 35340, A: 2, B: 7}, {What: pushSuspend, At: 38773, A: 2, B: 2}, {What: restartDaemon, Call: 12, A: 2, B: 34}, {What: stallWatch, At: 158392, A: 46, B: 18}, {What: forbid, Call: 23, A: 24, B: 35}},
	}},
	{"a suspension is taken back while the watch of pods is silent, and somebody has scaled a set by hand", Schedule{
		Seed: 102053743, Start: Start{Hot: 3, Tables: []string{"1-all", "0"}, Shards: 3, Leave: true}, Steps: 57,
		Items: []Item{{What: pushShrink, At: 2962, A: 7, B: 5}, {What: pushSuspend, At: 54059, A: 3, B: 7}, {What: stallWatch, At: 46553, A: 55, B: 46}, {What: scaleUpByHand, At: 50447, A: 18, B: 11}},
	}},
	{"the pod that was stuck on what a set got out of order has left, and the masters come first", Schedule{
		Seed: 105014235, Start: Start{Masters: 3, Hot: 2, Tables: []string{"1", "1", "1"}, Shards: 1, Leave: true, Zones: true}, Steps: 68,
		Items: []Item{{What: pushShrink, At: 4797, A: 4, B: 5}, {What: pushBadTemplate, At: 58077, A: 6, B: 4}, {What: loseVolume, At: 50094, A: 49, B: 20}},
	}},
	{"an allocation lock was hidden, and what needs the next one is an upgrade", Schedule{
		Seed: 105374045, Start: Start{Hot: 1, Tables: []string{"0-1", "0-all"}, Shards: 2, Leave: true}, Steps: 52,
		Items: []Item{{What: pushTemplate, At: 4042, A: 6, B: 3}, {What: pushUpgrade, At: 5462, A: 7, B: 3}, {What: conflict, Call: 11, A: 31, B: 36}, {What: setTransient, Call: 11, A: 46, B: 30}},
	}},
	{"a process dies and is back while the daemon stands still, right before the delete", Schedule{
		Seed: 105377091, Start: Start{Hot: 2, Tables: []string{"1", "0-1"}, Shards: 1, Leave: true}, Steps: 83,
		Items: []Item{{What: pushRestart, At: 941, B: 3}, {What: crashProcess, Call: 25, A: 21, B: 5}, {What: killBefore, Call: 9, A: 12, B: 49}, {What: standStill, Call: 25, A: 36, B: 48}},
	}},
	{"a live setting was set and read back, the database could not be asked for a while, and somebody set what had been before", Schedule{
		Seed: 105816281, Start: Start{Hot: 2, Shards: 1, Extend: true, Leave: true}, Steps: 54,
		Items: []Item{{What: pushShrink, At: 4639, B: 1}, {What: pushSetting, At: 57092, A: 3, B: 2}, {What: cutDatabase, Call: 8, A: 34, B: 53}, {What: settingByHand, Call: 16, A: 51, B: 59}, {What: settingByHand, At: 33417, A: 3, B: 1}},
	}},
	{"a live setting was set and shown, that was not recorded for a conflict, and somebody set what had been before", Schedule{
		Seed: 106712667, Start: Start{Masters: 3, Hot: 2, Warm: 1, Tables: []string{"1"}, Shards: 2, Leave: true}, Steps: 84,
		Items: []Item{{What: pushSetting, At: 2412, A: 1, B: 7}, {What: pushPause, At: 30795, A: 7, B: 4}, {What: pushRemoveGroup, At: 89887, A: 1, B: 2}, {What: conflict, Call: 11, A: 61, B: 61}, {What: settingByHand, At: 58902, A: 51, B: 6}, {What: settingByHand, Call: 24, A: 57, B: 58}},
	}},
	{"a table wants more copies after a shrink was recorded and before a node was excluded", Schedule{
		Seed: 106899143, Start: Start{Masters: 3, Hot: 2, Warm: 1, Tables: []string{"1", "0-1", "0-1", "1"}, Shards: 1, Extend: true, Leave: true}, Steps: 67,
		Items: []Item{{What: pushShrink, At: 4145, A: 4}, {What: pushRemoveGroup, At: 39979, B: 3}, {What: killBefore, Call: 6, A: 8, B: 40}, {What: standStill, Call: 9, A: 23, B: 5}, {What: alterReplicas, At: 37816, A: 42, B: 19}},
	}},
	{"the record is lost while a new group has never joined, and the only pod of another is away", Schedule{
		Seed: 107080233, Start: Start{Masters: 3, Hot: 1, Tables: []string{"0-all", "0-1"}, Shards: 2, Extend: true, Leave: true, Zones: true}, Steps: 83,
		Items: []Item{{What: pushAddGroup, At: 1078, B: 4}, {What: pushBadTemplate, At: 24159, A: 2, B: 4}, {What: loseRecord, Call: 22, A: 22, B: 47}, {What: loseVolume, Call: 14, A: 31, B: 42}},
	}},
	{"a cluster is released before any pod is on a template that cannot run, and the next one is aborted", Schedule{
		Seed: 7019916, Start: Start{Hot: 1, Tables: []string{"0", "0"}, Shards: 1, Extend: true, Leave: true, Zones: true}, Steps: 88,
		Items: []Item{{What: pushBadTemplate, At: 3518, A: 1, B: 4}, {What: pushBadTemplate, At: 37383, A: 5, B: 3}, {What: pushTemplate, At: 40500, A: 5, B: 3}, {What: abortCommand, Call: 45, A: 18, B: 28}, {What: releaseCommand, Call: 5, A: 35, B: 22}, {What: crashProcess, Call: 11, A: 51, B: 22}},
	}},
	{"a restart is aborted when its first pod has just been made on a new template, joins, and dies with its machine later", Schedule{
		Seed: 30095459, Start: Start{Hot: 1, Warm: 1, Tables: []string{"0-1", "1", "0-all", "0-all"}, Shards: 2, Extend: true, Zones: true}, Steps: 88,
		Items: []Item{{What: pushAddGroup, At: 3283, A: 1, B: 4}, {What: killNode, Call: 23, A: 11, B: 3}, {What: settingByHand, At: 14309, A: 11, B: 44}, {What: abortCommand, Call: 12, A: 5, B: 42}, {What: crashProcess, At: 121984, A: 35, B: 33}, {What: unavailable, Call: 8, A: 1, B: 40}},
	}},
	{"the record is lost while the nodes cannot be read, and a new group is on trial", Schedule{
		Seed: 760104466, Start: Start{Hot: 1, Tables: []string{}, Shards: 1, Leave: true}, Steps: 62,
		Items: []Item{{What: pushBadTemplate, At: 55079, A: 2, B: 6}, {What: pushAddGroup, At: 100526, A: 4, B: 1}, {What: setPersistent, At: 44635, A: 49, B: 61}, {What: loseRecord, Call: 49, A: 19, B: 50}, {What: excludeByID, At: 141200, A: 29, B: 13}, {What: unreadView, Call: 33, A: 24, B: 62}},
	}},
	{"the record is lost while the data nodes are on trial and the only voter has just come up", Schedule{
		Seed: 740462594, Start: Start{Masters: 1, Hot: 1, Tables: []string{"0-1", "0-1", "0-all"}, Shards: 1, Leave: true}, Steps: 79,
		Items: []Item{{What: pushRevert, At: 2660, A: 4, B: 2}, {What: evict, Call: 2, A: 21, B: 39}, {What: loseRecord, Call: 21, A: 40, B: 13}, {What: unavailable, Call: 15, A: 27, B: 46}, {What: crashProcess, At: 164583, A: 32, B: 63}},
	}},
	{"a pod of another set fails while the set that is due has no pod on its new template, and the nodes cannot be read", Schedule{
		Seed: 790906495, Start: Start{Masters: 3, Hot: 1, Warm: 1, Tables: []string{"1"}, Shards: 2, Extend: true, Zones: true}, Steps: 52,
		Items: []Item{{What: pushBadTemplate, At: 54, A: 6}, {What: crashProcess, Call: 26, B: 56}, {What: evict, Call: 27, A: 9, B: 16}, {What: snapshot, Call: 8, A: 56, B: 30}, {What: unreadView, At: 36955, A: 60, B: 28}},
	}},
	{"the quorum is lost while a new group is on trial, and the others get another template", Schedule{
		Seed: 791053789, Start: Start{Masters: 3, Hot: 2, Tables: []string{"0-1", "0-all", "1", "0-all"}, Shards: 1, Leave: true}, Steps: 69,
		Items: []Item{{What: pushBadTemplate, At: 4513, A: 5, B: 6}, {What: pushAddGroup, At: 7413, A: 5, B: 6}, {What: pushSuspend, At: 44307, A: 1, B: 6}, {What: killNode, Call: 20, A: 19, B: 42}, {What: killNode, Call: 20, A: 29, B: 23}, {What: denySystem, Call: 7, A: 2, B: 61}},
	}},
	{"a shrink begins on a reading that is older than the last change of the cluster state", Schedule{
		Seed: 791117674, Start: Start{Hot: 3, Tables: []string{"1"}, Shards: 3}, Steps: 67,
		Items: []Item{{What: pushRevert, At: 3223, A: 1, B: 4}, {What: pushGrow, At: 46729, A: 7, B: 7}, {What: cutDatabase, At: 1213, A: 38, B: 58}},
	}},
	{"somebody excludes a node id, which ends what is excluded by name", Schedule{
		Seed: 791244167, Start: Start{Hot: 2, Tables: []string{"1", "1", "0-all"}, Shards: 1, Leave: true, Zones: true}, Steps: 76,
		Items: []Item{{What: killAfter, Call: 4, A: 27, B: 17}, {What: excludeByID, Call: 24, A: 52, B: 20}, {What: excludeByName, Call: 19, A: 61, B: 11}},
	}},
	{"a table requires the zone whose pods are about to be restarted", Schedule{
		Seed: 791651921, Start: Start{Hot: 5, Tables: []string{"1-all", "2", "1"}, Shards: 1, Extend: true, Leave: true, Zones: true}, Steps: 82,
		Items: []Item{{What: pushRestart, At: 1793, A: 4, B: 7}, {What: forbid, Call: 10, A: 9, B: 34}, {What: conflict, Call: 10, A: 47, B: 60}, {What: pinTable, Call: 21, A: 33, B: 9}},
	}},
	{"a pod is to be replaced by command while the watch of pods brings nothing, and its node has joined", Schedule{
		Seed: 800190992, Start: Start{Hot: 3, Tables: []string{"1", "1-all"}, Shards: 2, Extend: true, Leave: true, Zones: true}, Steps: 84,
		Items: []Item{{What: pushSuspend, At: 1250, A: 6, B: 1}, {What: pushGrow, At: 77457, A: 5}, {What: stallWatch, Call: 20, A: 25, B: 61}, {What: replaceCommand, At: 81987, A: 28, B: 34}},
	}},
	{"a pod is replaced by command just before its set's correction, and an evicted pod of the masters is stuck on the template before", Schedule{
		Seed: 900363838, Start: Start{Masters: 3, Hot: 1, Tables: []string{"0-1", "0-1", "0"}, Shards: 3, Leave: true}, Steps: 90,
		Items: []Item{{What: pushBadTemplate, At: 4304, A: 2, B: 4}, {What: pushAddGroup, At: 52330, A: 4, B: 3}, {What: pushUpgrade, At: 107024, B: 7}, {What: stickTerminating, Call: 24, A: 57, B: 2}, {What: killBefore, Call: 48, A: 27, B: 44}, {What: standStill, Call: 4, A: 45, B: 4}, {What: releaseCommand, Call: 5, A: 12, B: 25}, {What: replaceCommand, At: 117324, A: 19, B: 43}},
	}},
	{"somebody's value stands over the allocation lock of a released cluster, and is taken off late", Schedule{
		Seed: 900488663, Start: Start{Hot: 1, Shards: 1, Leave: true}, Steps: 70,
		Items: []Item{{What: pushRestart, At: 963, B: 3}, {What: pushRelease, At: 69731, A: 1, B: 1}, {What: setPersistent, Call: 16, A: 24, B: 12}, {What: setPersistent, At: 158942, A: 53, B: 8}},
	}},
	{"the allocation lock is recorded just after a transient value went with its cluster, and with it what hid somebody's", Schedule{
		Seed: 950185326, Start: Start{Hot: 1, Shards: 1, Leave: true}, Steps: 57,
		Items: []Item{{What: setPersistent, At: 171934, A: 21, B: 38}, {What: setTransient, At: 52477, A: 18, B: 38}, {What: killNode, Call: 5, A: 57, B: 59}},
	}},
	{"a table may use a node during a drain that somebody's replicas keep", Schedule{
		Seed: 1000330484, Start: Start{Hot: 9, Warm: 1, Tables: []string{"0-1"}, Shards: 1, Extend: true, Leave: true}, Steps: 87,
		Items: []Item{{What: pushShrink, At: 814, A: 7, B: 6}, {What: restartDaemon, Call: 8, A: 62, B: 4}, {What: scaleUpByHand, At: 34496, A: 61, B: 6}, {What: pinTable, At: 45517, A: 49, B: 22}},
	}},
}
