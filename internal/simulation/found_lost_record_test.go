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
	{"a master joins with a further disk, and its machine is lost before its claim says so: a release came between", NewSchedule(6410653554)},
}

func TestWhatIsKeptWithoutARecordIsWhatWasLive(t *testing.T) {
	for _, c := range foundLostRecord {
		t.Run(c.name, func(t *testing.T) { staysCorrected(t, c.s) })
	}
}
