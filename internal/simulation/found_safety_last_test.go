package simulation

import "testing"

// foundSafetyLast are schedules from seed 6,300,000,000 on. Each has ended in a violation before the decision, the judge or the
// world was corrected.
var foundSafetyLast = []struct {
	name string
	s    Schedule
}{
	{"a pod comes back on another template than the one that a daemon has deleted, and the watch shows that one still", Schedule{
		Seed: 6310046583, Start: Start{Hot: 3, Tables: []string{"1", "1", "0"}, Shards: 3, Extend: true, Leave: true, Driver: quickDriver, Swaps: true, Compute: true, Backups: true, Takes: 120000, Plan: backupPlan{Every: 2, Keep: 2, AtLeast: 1, Delay: 100, Skip: true}, Replaces: true, Drills: true, Comes: 90000, Drill: 3, Most: 44}, Steps: 643,
		Items: []Item{{What: pushAddGroup, At: 1774, A: 6, B: 3}, {What: pushBadTemplate, At: 12896, A: 2, B: 4}, {What: pauseCommand, Call: 104, A: 30, B: 62}, {What: crashProcess, Call: 7, A: 40, B: 20}, {What: crashProcess, At: 160660, A: 31, B: 25}, {What: excludeByName, At: 41874, A: 37, B: 1}, {What: pushConsent, At: 6626, A: 52, B: 28}, {What: pushSmaller, At: 33294, A: 26, B: 55}, {What: stallWatch, Replacing: 79, A: 7, B: 8}, {What: stickTerminating, Replacing: 2, A: 6, B: 44}, {What: pushCompute, At: 17016, A: 42, B: 62}, {What: evict, At: 22161, A: 23, B: 56}, {What: loseRecord, At: 20128, A: 43, B: 52}, {What: pauseCommand, At: 27522, A: 21, B: 20}, {What: pushRestart, At: 15527, A: 6, B: 8}, {What: abortCommand, At: 68900, B: 19}, {What: abortCommand, At: 140158, A: 32, B: 42}},
	}},
	{"a group of no nodes comes to the definition, and other nodes leave after it", Schedule{
		Seed: 6310067453, Start: Start{Hot: 4, Tables: []string{"0-1", "2"}, Shards: 1, Leave: true, Driver: offlineDriver, Offline: true, Swaps: true, Compute: true, Disks: 2, Backups: true, Takes: 40000, Plan: backupPlan{Every: 1, Keep: 3, AtLeast: 2, Delay: 100, Newer: 240}, Replaces: true, Drills: true, Comes: 10000, Drill: 2}, Steps: 924,
		Items: []Item{{What: pushGrow, At: 483, A: 7, B: 7}, {What: pushAddGroup, At: 9356, A: 2, B: 7}, {What: pushSuspend, At: 21334, A: 2, B: 47}, {What: pushSmaller, At: 30799, A: 4, B: 13}, {What: pushVolumes, At: 11911, A: 54, B: 25}, {What: pushFewerDisks, At: 1395, A: 38}, {What: pushMoreDisks, At: 45867, A: 9, B: 28}, {What: pushUpgrade, Disking: 52, A: 38, B: 31}, {What: pushSuspend, At: 232481, A: 32, B: 31}, {What: pushGrow, Drilling: 19, A: 1, B: 14}, {What: pushRevert, Drilling: 11, A: 53, B: 54}, {What: fetchCommand, At: 431492, A: 22, B: 54}},
	}},
	{"a pod leaves with a shrink, somebody raises the replicas before it is gone, and another pod is evicted", Schedule{
		Seed: 6300069243, Start: Start{Masters: 3, Hot: 7, Warm: 2, Tables: []string{"1-all", "0"}, Shards: 2, Extend: true, Early: true, Driver: quickDriver, Swaps: true, Compute: true, Disks: 2}, Steps: 563,
		Items: []Item{{What: pushShrink, At: 3330, A: 5, B: 2}, {What: changePassword, At: 13497, A: 48, B: 5}, {What: pushConsent, At: 2525, A: 32, B: 24}, {What: pushClass, At: 21446, A: 21, B: 46}, {What: scaleUpByHand, Replacing: 39, A: 14, B: 28}, {What: pushCompute, At: 13634, A: 27, B: 3}, {What: abortCommand, At: 14332, A: 38, B: 63}, {What: stickTerminating, At: 13724, A: 19, B: 41}, {What: pushGrow, At: 24830, A: 61, B: 35}, {What: pushFewerDisks, At: 3858, A: 52, B: 35}},
	}},
	{"somebody sets a filter of a table right after the drain's filters were given back", Schedule{
		Seed: 6300050807, Start: Start{Masters: 5, Hot: 2, Tables: []string{"0-all"}, Shards: 1, Extend: true, Leave: true, Driver: quickDriver, Swaps: true, Compute: true, Disks: 2}, Steps: 561,
		Items: []Item{{What: pushRevert, At: 4033, A: 2, B: 1}, {What: restartDaemon, Call: 25, A: 60, B: 29}, {What: snapshot, At: 148126, A: 25, B: 44}, {What: pinTable, Call: 52, A: 55, B: 43}, {What: pinTable, At: 172696, A: 6, B: 42}, {What: pushShrink, At: 200247, A: 2, B: 4}, {What: pushBoth, At: 82, A: 39, B: 26}, {What: pushClass, At: 14394, A: 17, B: 49}, {What: pushCompute, At: 3682, A: 45, B: 28}, {What: pushUpgrade, At: 12491, A: 48, B: 36}, {What: stallWatch, At: 14849, A: 15, B: 35}, {What: pushFewerDisks, At: 8719, A: 51, B: 57}, {What: pushDisksBack, At: 47298, A: 3, B: 1}},
	}},
	{"somebody deletes a claim, and the StatefulSet controller makes it again for a pod that is to be no more", Schedule{
		Seed: 6330004476, Start: Start{Hot: 5, Warm: 1, Tables: []string{"2"}, Shards: 1, Leave: true, Aware: true, Driver: offlineDriver, Compute: true, Adopted: true}, Steps: 183,
		Items: []Item{{What: releaseCommand, Call: 9, A: 42, B: 62}, {What: stallController, Call: 38, A: 48, B: 62}, {What: pushVolumes, At: 9621, A: 29, B: 26}, {What: deleteClaimByHand, At: 23762, A: 53, B: 20}, {What: pushCompute, At: 13255, A: 1, B: 5}, {What: pushRemoveGroup, At: 18829, A: 11, B: 39}, {What: drainNode, At: 23592, A: 3, B: 5}, {What: pushRevert, At: 35302, A: 19, B: 11}},
	}},
	{"somebody has raised the replicas to what is desired, and excludes the node that has come by its name", NewSchedule(6100004154)},
	{"a StatefulSet is made of what is there in the moment in which that of somebody else makes a pod more", NewSchedule(6310147899)},
	{"somebody deletes the claim of a node, and that of one that leaves is being deleted for another volume", NewSchedule(6310184852)},
	{"a node that lacks a disk and leaves is drained, and somebody has deleted its claim", NewSchedule(6400070198)},
	{"a pod that alone has a further disk is deleted while its StatefulSet is recreated without that", NewSchedule(6400071881)},
	{"a pod that is being terminated belongs to no StatefulSet, and its cluster is suspended", NewSchedule(6410099768)},
	{"a StatefulSet of somebody else is gone, ours is made again, and its pods are away", NewSchedule(6410006744)},
	{"a node leaves and lacks a disk, and somebody has deleted one of its claims", NewSchedule(6410639794)},
	{"so it is after its record was lost", NewSchedule(6410854332)},
	{"a node that somebody excludes by its name is away for a moment, and ours is given back", NewSchedule(6410972983)},
	{"only a node that somebody has added was started with a live setting, and somebody has set another value", NewSchedule(6420117141)},
	{"an upgrade stops while nobody answers, and a stuck pod of another group has just got its template", NewSchedule(6420408473)},
	{"a pod lacks a disk on which CrateDB has written, tables are red, and it has the only copy of another shard", NewSchedule(6420309855)},
	{"a pod starts on a volume that has grown while two more are asked to grow", NewSchedule(6420162482)},
	{"the record is lost when the first pod of a restart goes, and its node joins again between two readings", NewSchedule(6420168585)},
	{"a stuck pod starts and its node joins, and the watch of pods shows that CrateDB has ended in it", NewSchedule(6420348925)},
	{"a drain changes the filters of a table that was restored beside the one that it is a copy of", NewSchedule(6430122940)},
	{"somebody deletes a claim before its node is drained for another volume, and the consent to that is taken back", NewSchedule(6430182321)},
	{"an abort, and the Kubernetes node of a node that somebody excludes by its name has died", NewSchedule(6389004745)},
	{"a drained node restarts, and a watch does not show that its volume has been replaced already", NewSchedule(6400053563)},
	{"a StatefulSet that does without a disk is being recreated, and the record is lost", NewSchedule(6400003473)},
	{"a release opens a budget, and the daemon is killed in the pass that was to close it", NewSchedule(6410393956)},
	{"the same, and the daemon pauses until it has lost the Lease", NewSchedule(6410673761)},
	{"the cluster is released while the only pod of a group is down, and the StatefulSet controller stalls", NewSchedule(6410678145)},
	{"the table that is kept of a replaced one is dropped, restored from a snapshot that lacks rows, and exchanged again", NewSchedule(6370007793)},
	{"a data pod is evicted onto an untried template while the only master is away, and another group is stuck until it is back", Schedule{
		Seed: 6410168193, Start: Start{Masters: 1, Hot: 1, Warm: 1, Tables: []string{"1-all"}, Shards: 3, Extend: true, Leave: true, Driver: quickDriver, Compute: true, Backups: true, Takes: 2000, Plan: backupPlan{Every: 1, AtLeast: 2, Delay: 40}, Replaces: true, Drills: true, Comes: 10000, Drill: 1}, Steps: 427,
		Items: []Item{{What: pushGrow, At: 29, A: 4, B: 6}, {What: loseRecord, Call: 35, A: 25, B: 48}, {What: evict, At: 6037, A: 63, B: 20}, {What: conflict, Call: 19, A: 9, B: 35}, {What: replaceCommand, At: 71791, A: 17, B: 42}, {What: pushCompute, At: 4259, A: 32, B: 10}, {What: pushBadTemplate, At: 5284, A: 44, B: 8}, {What: pushSchedules, Backing: 36, A: 40, B: 39}},
	}},
	{"the record is lost while nobody answers and before the only pod of a group is evicted onto an untried template", Schedule{
		Seed: 6410224623, Start: Start{Masters: 3, Hot: 1, Warm: 1, Tables: []string{"0-1"}, Shards: 2, Second: true, Leave: true, Driver: quickDriver, Compute: true, Adopted: true}, Steps: 119,
		Items: []Item{{What: crashProcess, Call: 3, A: 9, B: 11}, {What: standStill, Call: 25, A: 51, B: 54}, {What: unreadView, At: 379, A: 30, B: 62}, {What: pushCompute, At: 9532, A: 22, B: 38}, {What: cutDatabase, At: 11153, A: 37, B: 27}, {What: loseRecord, At: 21097, A: 23, B: 42}, {What: pushTemplate, At: 129, A: 23, B: 54}, {What: evict, At: 4930, A: 9, B: 58}},
	}},
}

func TestWhatTheLastSchedulesFoundOfSafetyStaysCorrected(t *testing.T) {
	for _, c := range foundSafetyLast {
		t.Run(c.name, func(t *testing.T) { staysCorrected(t, c.s) })
	}
}
