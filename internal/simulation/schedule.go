package simulation

import (
	"fmt"
	"slices"
	"strings"
)

// Schedule is one history in the making: how a cluster begins and what happens
// to it. It is made of a seed, and an item can be left out.
type Schedule struct {
	Seed  uint64
	Start Start
	Items []Item
	// Steps is how much happens before all faults end: where the items leave time,
	// other templates are pushed. 0: as much as the items bring.
	Steps int
}

// Start is the cluster at first.
type Start struct {
	Masters, Hot, Warm int
	Tables             []string // number_of_replicas of each
	Shards             int
	// Second is a second daemon beside the first.
	Second bool
	// Extend: the definition consents to extend-table-filters.
	Extend bool
	// Leave consents to remove-group and to suspend.
	Leave bool
	// Zones: pods of one zone are restarted together, and copies of a shard are kept
	// in different zones.
	Zones bool
	// Aware: CrateDB keeps copies in different zones, and the definition consents to leave-zone.
	Aware bool `json:",omitempty"`
	// JSON writes and reads the record as text each time it is saved.
	JSON bool
	// Early: the items begin with the bootstrap, not after it.
	Early bool
	// Driver makes volumes larger; none: nobody asks for it. Offline is offlineResize: restart.
	Driver  driver
	Offline bool
	// Swaps: people push other volumes; NoRight: the daemons may not delete claims at first.
	Swaps, NoRight bool
	// Compute: people push other CPU and memory.
	Compute bool
	// Disks is how many each node has at first, where people push other numbers; 0: nobody does.
	Disks int
	// Backups: snapshots are taken by Plan, each of which takes Takes at most.
	Backups bool
	Takes   millis
	Plan    backupPlan
	// Replaces: people have tables replaced by what they were in a snapshot.
	Replaces bool `json:",omitempty"`
	// Drills: snapshots are tried, and tables of them restored; each shard takes Comes at most.
	Drills bool
	Comes  millis
	// Adopted: another tool has made the cluster.
	Adopted bool
	// Drill is how many minutes are between two drills, 0 for none; Most how many MiB one restores, 0 for all.
	Drill, Most int
}

// Item happens at a time after the beginning or, with a Call, at that call of a
// daemon while an operation is under way; with Recreating while a StatefulSet is recreated, and so on.
type Item struct {
	What       What
	At         millis
	Call       int
	Recreating int
	Replacing  int // while volumes are replaced
	Disking    int // while disks come or go
	Backing    int // while a snapshot is due or is taken
	Drilling   int // while tables are restored into a cluster that runs
	A, B       int
}

// timed: it happens at a time, not at a call.
func (i *Item) timed() bool {
	return i.Call == 0 && i.Recreating+i.Replacing+i.Disking+i.Backing+i.Drilling == 0
}

// What happens.
type What uint8

const (
	// People.
	pushGrow What = iota
	pushShrink
	pushTemplate
	pushBadTemplate
	pushRestart
	pushRevert
	pushUpgrade
	pushSuspend
	pushSetting
	pushAddGroup
	pushRemoveGroup
	pushPause
	pushRelease
	createTable
	alterReplicas
	snapshot
	setTransient
	setPersistent
	excludeByName
	excludeByID
	filterTable
	pauseCommand
	abortCommand
	releaseCommand
	settingByHand
	changePassword
	scaleUpByHand
	pushNeverReady
	pinTable
	holdTable
	waitForAll
	fillDisks
	denySystem
	replaceCommand
	pushVolumes
	pushVolumesBack
	pushOffline
	deletePodByHand
	makeSetByHand
	deleteClaimByHand
	agreeByHand
	pushConsent
	dropConsent
	pushClass
	pushSmaller
	pushClassBack
	pushBoth
	pushCompute
	pushMoreDisks
	pushFewerDisks
	pushDisksBack
	dropResize
	dropRight
	hideRight
	pushSchedules
	pushNoBackups
	backupCommand
	closeTable
	writeForeign
	dropSnapshotByHand
	dropRepositoryByHand
	pushDrill
	fetchCommand
	dropTableByHand
	beFound
	// Kubernetes and machines.
	evict
	drainNode
	killNode
	crashProcess
	loseVolume
	stickTerminating
	stallWatch
	stallController
	cutDatabase
	loseRecord
	restartDaemon
	deafReceiver
	loseAnswer
	failProbe
	noExec
	unreadView
	stickDriver
	stallDisruption
	stallCollector
	stickKubelet
	awayStore
	holdStore
	lagListing
	rotateKeys
	loseKeys
	breakSnapshot
	// At a call.
	killBefore
	killAfter
	conflict
	unavailable
	timeoutAfter
	standStill
	forbid
	whats
)

var whatNames = [whats]string{
	"push: more nodes", "push: fewer nodes", "push: another template", "push: a template that cannot run", "push: restartedAt",
	"push: the commit before", "push: another version",
	"push: suspended, or resumed", "push: a live setting", "push: a group more", "push: a group less", "push: paused, or not any more", "push: released, or not any more",
	"a table is made", "number_of_replicas is changed", "a snapshot runs",
	"enable is set transiently", "enable is set persistently", "a node is excluded by name", "somebody excludes a node id", "a table gets a filter of its own", "paused for a while", "abort", "released for a while", "a live setting is set by hand", "a password is changed",
	"replicas are raised by hand", "push: a template whose pods never become ready", "a table requires or includes some nodes", "a table's own allocation is held", "a table's writes wait for all copies", "disks are above the low watermark", "system is denied a table, or not any more", "a pod is to be replaced by command",
	"push: larger volumes", "push: a size between", "push: offlineResize", "a pod is deleted by hand", "a StatefulSet that is gone is made by hand", "a claim is deleted by hand", "a volume may go with its pod",
	"push: volumes may be deleted", "push: no volume may be deleted", "push: another storage class", "push: smaller volumes", "push: the storage class before", "push: another storage class, and that volumes may be deleted",
	"push: other CPU and memory", "push: more disks", "push: fewer disks", "push: the number of disks before", "pods may not be resized for a while",
	"claims may not be deleted for a while", "nobody knows whether claims may be deleted",
	"push: other spec.backups", "push: no spec.backups, or some", "a snapshot is asked for by command", "a table is closed, or opened", "somebody else writes snapshots into the folder", "a snapshot is dropped by hand", "the repository is dropped by hand",
	"push: another drill, or none", "a drill or a restore of tables is asked for by command", "a table is dropped by hand", "a statement runs that no restart may end",
	"a pod is evicted", "Kubernetes nodes are drained", "a Kubernetes node dies", "a process dies", "a volume is lost", "a pod sticks in terminating",
	"a watch stalls", "the StatefulSet controller stalls", "no SQL for a while", "the record is lost", "the daemon ends", "the receiver takes no report", "the receiver's answer is lost", "a readiness probe fails", "exec fails in pods", "a view of the database is not read",
	"a claim grows no more", "the disruption controller stalls", "the garbage collector stalls", "a kubelet gives no more",
	"the store of snapshots fails", "the store of snapshots does not answer", "sys.snapshots is behind", "the keys of the store change", "the Secret of the store is gone", "files of a snapshot are gone",
	"killed before a call", "killed after a call", "409", "429", "time-out after success", "the process stands still", "refused by a webhook",
}

func (w What) String() string { return whatNames[w] }

// fault: not a wish, nor a hand at the database.
func (w What) fault() bool { return w >= evict }

func (i Item) String() string {
	when := fmt.Sprintf("at %.1f s", float64(i.At)/1000)
	switch {
	case i.Call > 0:
		when = fmt.Sprintf("at call %d of an operation", i.Call)
	case i.Recreating > 0:
		when = fmt.Sprintf("at call %d of a recreation", i.Recreating)
	case i.Replacing > 0:
		when = fmt.Sprintf("at call %d of a replacement", i.Replacing)
	case i.Backing > 0:
		when = fmt.Sprintf("at call %d while a snapshot is due or taken", i.Backing)
	case i.Drilling > 0:
		when = fmt.Sprintf("at call %d while tables are restored", i.Drilling)
	case i.Disking > 0:
		when = fmt.Sprintf("at call %d while disks change", i.Disking)
	}
	return fmt.Sprintf("%s: %s (%d, %d)", when, i.What, i.A, i.B)
}

func (s Schedule) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %d masters, %d hot, %d warm, tables with replicas %s of %d shards",
		s.Seed, s.Start.Masters, s.Start.Hot, s.Start.Warm, strings.Join(s.Start.Tables, " "), s.Start.Shards)
	if s.Start.Second {
		b.WriteString(", two daemons")
	}
	for _, o := range []struct {
		on   bool
		word string
	}{{s.Start.Extend, "extend-table-filters"}, {s.Start.Leave, "remove-group and suspend"}, {s.Start.Zones, "zones"}, {s.Start.Aware, "awareness and leave-zone"}, {s.Start.JSON, "the record as JSON"}, {s.Start.Swaps, "volumes are replaced"}, {s.Start.NoRight, "without the right to delete claims"}, {s.Start.Compute, "CPU and memory change"}, {s.Start.Adopted, "adopted"}, {s.Start.Disks > 0, fmt.Sprintf("%d disks", s.Start.Disks)}, {s.Start.Backups, fmt.Sprintf("snapshots of at most %d ms by %+v", s.Start.Takes, s.Start.Plan)}, {s.Start.Drills, fmt.Sprintf("drills each %d minutes of %d MiB whose shards take at most %d ms", s.Start.Drill, s.Start.Most, s.Start.Comes)}} {
		if o.on {
			b.WriteString(", " + o.word)
		}
	}
	if s.Start.Early {
		b.WriteString(", from the first moment")
	}
	if s.Start.Driver != noDriver {
		fmt.Fprintf(&b, ", volumes whose driver is: %s, offlineResize: restart %t", s.Start.Driver, s.Start.Offline)
	}
	for _, i := range s.Items {
		b.WriteString("\n  ")
		b.WriteString(i.String())
	}
	return b.String()
}

// pushes; those that only refusals meet are not among them.
var pushes = []What{pushGrow, pushShrink, pushShrink, pushTemplate, pushBadTemplate, pushRestart, pushRevert, pushUpgrade,
	pushSuspend, pushSetting, pushAddGroup, pushRemoveGroup, pushPause, pushRelease}

var disturbances = []What{
	createTable, alterReplicas, snapshot, setTransient, setPersistent, excludeByName, excludeByID, filterTable, pauseCommand, abortCommand, releaseCommand, settingByHand, changePassword,
	evict, drainNode, killNode, crashProcess, loseVolume, stickTerminating, stallWatch, stallController, cutDatabase, loseRecord, restartDaemon, deafReceiver, loseAnswer,
	killBefore, killAfter, conflict, unavailable, timeoutAfter, standStill, forbid,
}

var faults = slices.DeleteFunc(slices.Clone(disturbances), func(w What) bool { return !w.fault() })

// ofTables are people's acts, and what befalls disks, that keep copies where they are;
// blinding what keeps the daemon from seeing them.
var (
	ofTables = []What{pinTable, pinTable, holdTable, waitForAll, fillDisks}
	blinding = []What{denySystem, denySystem, noExec, unreadView}
)

// hotChoices: where three nodes do, more of them only take longer.
var hotChoices = []int{1, 2, 2, 2, 2, 3, 3, 3, 3, 4}

var replicaChoices = []string{"1", "1", "0", "0-1", "0-all", "2", "1-all"}

// replacing is the first seed whose schedule may have commands that replace a pod: those
// before it decide as they always did, and a digest of them can be compared.
const replacing = 100_000_000

// pinning is the first seed whose schedule may shrink by consent while a table is pinned to some
// nodes: at random that comes too seldom.
const pinning = 800_000_000

// span of a schedule before it heals.
const eventful = 6 * minute

// NewSchedule makes the schedule of a seed.
func NewSchedule(seed uint64) Schedule {
	r := random{state: seed}
	r.state = r.next() // seeds that follow each other have nothing in common
	s := Schedule{Seed: seed}
	s.Start.Hot = hotChoices[r.below(len(hotChoices))]
	if r.oneIn(4) {
		s.Start.Masters, s.Start.Hot = []int{3, 3, 3, 3, 3, 5, 1}[r.below(7)], r.between(1, 2)
	}
	if r.oneIn(6) {
		s.Start.Warm = 1
	}
	if r.oneIn(24) {
		s.Start.Hot, s.Start.Warm = r.between(3, 12), r.between(0, 2)
	}
	data := s.Start.Hot + s.Start.Warm
	for range r.between(1, 4) {
		choice := replicaChoices[r.below(len(replicaChoices))]
		if choice[0]-'0' >= byte(data) {
			choice = "0-1"
		}
		s.Start.Tables = append(s.Start.Tables, choice)
	}
	s.Start.Shards = r.between(1, 3)
	s.Start.Second = r.oneIn(4)
	s.Start.Early = r.oneIn(12)
	s.Start.Extend = r.oneIn(2)
	s.Start.Leave = !r.oneIn(4)
	s.Start.Zones = r.oneIn(4)
	s.Start.JSON = r.oneIn(64)
	at := r.span(0, 5*second)
	for range r.between(1, 3) {
		s.Items = append(s.Items, Item{What: pushes[r.below(len(pushes))], At: at, A: r.below(8), B: r.below(8)})
		at += r.span(second, minute)
	}
	for n := range r.between(2, 6) {
		i := Item{What: disturbances[r.below(len(disturbances))], A: r.below(64), B: r.below(64)}
		if n == 0 {
			// One at least that meets an operation.
			i.What = faults[r.below(len(faults))]
		}
		if n == 0 || i.What >= killBefore || r.oneIn(2) {
			i.Call = 1 + r.below(40)
			if n > 0 && r.oneIn(2) {
				i.Call = 1 + r.below(120)
			}
		} else {
			i.At = r.span(0, eventful/2)
		}
		s.Items = append(s.Items, i)
	}
	s.Steps = r.between(50, 90)
	if r.oneIn(16) {
		s.Steps *= 8
	}
	if r.oneIn(32) {
		s.Items = append(s.Items, Item{What: scaleUpByHand, At: r.span(0, eventful/2), A: r.below(64), B: r.below(64)})
	}
	// Drawn last: what is drawn before stays as it was.
	if r.oneIn(24) {
		what := failProbe
		if r.oneIn(2) {
			what = pushNeverReady
		}
		s.Items = append(s.Items, Item{What: what, At: r.span(0, eventful/2), A: r.below(64), B: r.below(64)})
	}
	if r.oneIn(6) {
		i := Item{What: ofTables[r.below(len(ofTables))], A: r.below(64), B: r.below(64)}
		if r.oneIn(2) {
			i.Call = 1 + r.below(60)
		} else {
			i.At = r.span(0, eventful/2)
		}
		s.Items = append(s.Items, i)
	}
	if r.oneIn(6) {
		for range r.between(1, 3) {
			i := Item{What: blinding[r.below(len(blinding))], A: r.below(64), B: r.below(64)}
			if r.oneIn(2) {
				i.Call = 1 + r.below(60)
			} else {
				i.At = r.span(0, eventful/2)
			}
			s.Items = append(s.Items, i)
		}
	}
	if seed >= replacing && r.oneIn(3) {
		for range r.between(1, 3) {
			s.Items = append(s.Items, Item{What: replaceCommand, At: r.span(0, eventful), A: r.below(64), B: r.below(64)})
		}
	}
	if seed >= pinning && r.oneIn(4) {
		s.Start.Extend = true
		at := r.span(0, eventful/2)
		for range r.between(1, 2) {
			s.Items = append(s.Items, Item{What: pinTable, At: at, A: r.below(64), B: r.below(64)})
		}
		s.Items = append(s.Items, Item{What: pushShrink, At: at + r.span(second, minute/2), A: r.below(8), B: r.below(8)})
		if r.oneIn(2) {
			s.Items = append(s.Items, Item{What: pinTable, At: at + r.span(second, minute), A: r.below(64), B: r.below(64)})
		}
	}
	if seed >= growing && r.oneIn(3) {
		s.grows(&r)
		if seed >= agreeing && r.oneIn(2) {
			s.losesClaims(&r)
		}
	}
	if seed >= swapping && r.oneIn(2) {
		s.swaps(&r)
	}
	if seed >= resizing && r.oneIn(2) {
		s.resizes(&r)
	}
	if seed >= disking && r.oneIn(3) {
		s.disks(&r)
	}
	if seed >= backing && r.oneIn(2) {
		s.backs(&r)
	}
	if seed >= drilling && r.oneIn(2) {
		if !s.Start.Backups {
			s.backs(&r)
		}
		s.drills(&r)
	}
	if seed >= adopting && r.oneIn(2) {
		s.adopts(&r)
	}
	if seed >= exchanging && s.Start.Drills {
		s.replaces(&r)
	}
	if seed >= answering && r.oneIn(3) {
		s.answers(&r)
	}
	if seed >= zoning && s.mayBeAware() && r.oneIn(2) {
		s.awareOf(&r)
	}
	return s
}
