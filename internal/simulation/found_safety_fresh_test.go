package simulation

import "testing"

// foundSafetyFresh are schedules from seed 6,200,000,000 on, and one from before, that broke safety. Each has ended in a violation before the
// decision or the judge was corrected.
var foundSafetyFresh = []struct {
	name string
	s    Schedule
}{
	{"somebody deletes a voter's pod between the reading of the pods and the restart of another voter", Schedule{
		Seed: 6200327668, Start: Start{Hot: 3, Tables: []string{"0", "0-all", "2"}, Shards: 1, Extend: true, Leave: true, Driver: quickDriver, Swaps: true, Compute: true, Disks: 2, Backups: true, Takes: 40000, Plan: backupPlan{Every: 2, Second: 3, AtLeast: 2, Delay: 120, Newer: 60, Skip: true}, Replaces: true, Drills: true, Comes: 90000, Most: 44}, Steps: 854,
		Items: []Item{{What: pushRevert, At: 29112, A: 6, B: 3}, {What: killBefore, Call: 19, A: 55, B: 10}, {What: pushNeverReady, At: 8029, A: 55, B: 34}, {What: pushBoth, At: 8921, A: 53, B: 31}, {What: pushSmaller, At: 30556, A: 33, B: 21}, {What: pushUpgrade, Replacing: 218, A: 16, B: 61}, {What: deletePodByHand, Replacing: 97, A: 22, B: 27}, {What: loseVolume, Replacing: 218, A: 19, B: 17}, {What: pushCompute, At: 12203, A: 48, B: 38}, {What: stickTerminating, At: 16895, A: 57, B: 30}, {What: pushGrow, At: 8475, A: 40, B: 28}, {What: holdStore, Backing: 40, A: 45, B: 61}, {What: deletePodByHand, Drilling: 18, A: 42, B: 45}, {What: fetchCommand, At: 258573, A: 36, B: 19}},
	}},
	{"the StatefulSet controller stalls while a template does without a disk, and the pod that goes then is on a lost machine", Schedule{
		Seed: 6200003865, Start: Start{Hot: 3, Tables: []string{"0-all"}, Shards: 2, Leave: true, Zones: true, Driver: quickDriver, Swaps: true, NoRight: true, Disks: 2}, Steps: 502,
		Items: []Item{{What: pushGrow, At: 4203, A: 7, B: 6}, {What: loseRecord, Call: 33, A: 19, B: 19}, {What: excludeByID, At: 127685, A: 16, B: 2}, {What: pushConsent, At: 196, A: 1, B: 1}, {What: pushSmaller, At: 12619, A: 54, B: 36}, {What: pushClass, At: 60251, A: 26, B: 15}, {What: loseVolume, Replacing: 80, A: 12, B: 57}, {What: pushFewerDisks, At: 4465, A: 12, B: 52}, {What: stallController, Disking: 57, A: 43, B: 56}},
	}},
	{"the only master is evicted while a restart waits for the pod of a data node that has joined, and another template is pushed", Schedule{
		Seed: 6200266571, Start: Start{Masters: 1, Hot: 2, Tables: []string{"1-all"}, Shards: 2, Leave: true, Driver: quickDriver, Compute: true, Backups: true, Takes: 40000, Plan: backupPlan{Every: 1, Keep: 1, AtLeast: 2, Delay: 100, Newer: 240, Skip: true}, Replaces: true, Drills: true, Comes: 10000, Drill: 1}, Steps: 418,
		Items: []Item{{What: pushRemoveGroup, At: 2946, A: 7, B: 7}, {What: evict, Call: 4, A: 45, B: 61}, {What: createTable, At: 13618, A: 25, B: 44}, {What: stickTerminating, At: 59796, A: 27, B: 10}, {What: pushNeverReady, At: 47453, A: 20, B: 20}, {What: pushCompute, At: 15916, A: 11, B: 22}, {What: pushUpgrade, At: 13, A: 5, B: 19}, {What: killBefore, Backing: 36, A: 33, B: 47}, {What: fetchCommand, At: 69422, A: 3, B: 44}},
	}},
	{"the record is lost while one set is on trial and a pod of another one is away, and no reading shows the pod on trial", Schedule{
		Seed: 6200304444, Start: Start{Masters: 3, Hot: 2, Tables: []string{"0-all", "0-1", "0"}, Shards: 1, Extend: true, Leave: true, Driver: quickDriver, Compute: true, Disks: 1, Backups: true, Takes: 2000, Plan: backupPlan{Every: 2, Keep: 3, AtLeast: 1, Delay: 20, Newer: 150}, Replaces: true, Drills: true, Comes: 2000, Drill: 3}, Steps: 613,
		Items: []Item{{What: pushAddGroup, At: 1696, A: 2}, {What: pushPause, At: 19707, A: 5, B: 6}, {What: loseRecord, At: 13663, A: 45, B: 50}, {What: killNode, Call: 36, A: 51, B: 42}, {What: pushCompute, At: 318, A: 59, B: 23}, {What: pushBadTemplate, At: 2251, A: 49, B: 59}, {What: dropResize, At: 55549, A: 55, B: 34}, {What: pushMoreDisks, At: 7512, A: 60, B: 54}, {What: pushUpgrade, At: 85543, A: 12, B: 35}, {What: stallWatch, Disking: 99, A: 7, B: 48}, {What: pushPause, Disking: 115, A: 6, B: 61}},
	}},
	{"a node has joined with a further disk and is not ready when its StatefulSet gets that disk back", Schedule{
		Seed: 6070001488, Start: Start{Hot: 3, Tables: []string{}, Shards: 1, Leave: true, Driver: quickDriver, Offline: true, Disks: 1, Backups: true, Takes: 2000, Plan: backupPlan{Every: 2, Keep: 1, AtLeast: 1, Delay: 100, Newer: 120}}, Steps: 473,
		Items: []Item{{What: pushUpgrade, At: 60062, A: 7, B: 3}, {What: pushNeverReady, At: 55419, A: 12, B: 8}, {What: loseVolume, At: 39029, A: 6, B: 54}, {What: deleteClaimByHand, At: 14787, A: 44, B: 50}, {What: pushMoreDisks, At: 725, A: 45, B: 40}, {What: scaleUpByHand, At: 104803, A: 44, B: 24}, {What: beFound, Call: 23, A: 41, B: 40}, {What: beFound, At: 281936, A: 5, B: 10}},
	}},
}

func TestWhatFreshSchedulesFoundOfSafetyStaysCorrected(t *testing.T) {
	for _, c := range foundSafetyFresh {
		t.Run(c.name, func(t *testing.T) { staysCorrected(t, c.s) })
	}
}
