package simulation

import "testing"

// foundLostRecord are schedules from seed 6,410,000,000 on in which a record was lost while StatefulSets were recreated, or a disk
// was not known. Each has ended in a violation before the decision or the judge was corrected.
var foundLostRecord = []struct {
	name string
	s    Schedule
}{
	{"somebody makes a StatefulSet whose record was lost while it was gone, and its group leaves while another one is on trial", NewSchedule(6410574248)},
	{"the record is lost twice, and the watch of pods still shows the StatefulSet that is gone, whose group has left", NewSchedule(6420143394)},
	{"the record is lost right before a StatefulSet is deleted without its pods, one of which is away", NewSchedule(6420197532)},
	{"the record is lost while a StatefulSet is recreated, another storage class is desired, and a disk is not desired any more", NewSchedule(6420072074)},
	{"volumes have grown, a node does not say so, and the StatefulSet of another group is refused by a webhook", NewSchedule(6420424810)},
	{"the record is lost while a StatefulSet is recreated, and all its pods go while the cluster is released", NewSchedule(6430069091)},
	{"a person deletes both claims of a voter, and a shrink has just let another one leave", Schedule{
		Seed: 6430045271, Start: Start{Hot: 3, Tables: []string{"0-all"}, Shards: 3, Second: true, Leave: true, Driver: silentDriver, Offline: true, Disks: 2, Backups: true, Takes: 120000, Plan: backupPlan{Every: 2, Keep: 2, AtLeast: 1, Delay: 40, Newer: 90}}, Steps: 460,
		Items: []Item{{What: pushGrow, At: 4065, A: 2, B: 2}, {What: killNode, Call: 13, A: 12, B: 4}, {What: pauseCommand, Call: 11, A: 1, B: 58}, {What: loseRecord, Call: 11, A: 23, B: 42}, {What: loseVolume, At: 139976, A: 57, B: 17}, {What: excludeByName, Call: 57, A: 35, B: 63}, {What: scaleUpByHand, At: 53751, A: 17, B: 55}, {What: replaceCommand, At: 320586, A: 24, B: 32}, {What: pushVolumes, At: 18911, A: 60, B: 14}, {What: deleteClaimByHand, At: 53009, A: 50, B: 55}, {What: deleteClaimByHand, At: 49286, A: 25, B: 1}, {What: deleteClaimByHand, At: 7637, A: 26, B: 9}, {What: deleteClaimByHand, At: 12931, A: 36, B: 58}, {What: pushShrink, At: 16138, A: 3, B: 4}, {What: pushBadTemplate, At: 57720, A: 17, B: 8}, {What: pushRestart, At: 26157, A: 33, B: 18}, {What: evict, Backing: 1, A: 24, B: 14}, {What: standStill, Backing: 25, A: 38, B: 40}},
	}},
	{"a master joins with a further disk, and its machine is lost before its claim says so: a release came between", NewSchedule(6410653554)},
}

func TestWhatIsKeptWithoutARecordIsWhatWasLive(t *testing.T) {
	for _, c := range foundLostRecord {
		t.Run(c.name, func(t *testing.T) { staysCorrected(t, c.s) })
	}
}
