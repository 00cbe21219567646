package simulation

import "testing"

// foundSafetyFresh are schedules from seed 6,200,000,000 on that broke safety. Each has ended in a violation before the
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
}

func TestWhatFreshSchedulesFoundOfSafetyStaysCorrected(t *testing.T) {
	for _, c := range foundSafetyFresh {
		t.Run(c.name, func(t *testing.T) { staysMended(t, c.s) })
	}
}
