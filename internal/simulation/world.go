package simulation

import (
	"fmt"
	"hash"
	"strconv"
	"strings"
	"time"
)

// millis is virtual time since epoch.
type millis int64

const (
	second millis = 1000
	minute        = 60 * second
	never  millis = 1 << 60
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func (m millis) time() time.Time {
	if m == 0 {
		return time.Time{}
	}
	return epoch.Add(time.Duration(m) * time.Millisecond)
}

// world is everything outside the daemons: Kubernetes, CrateDB, Git and people.
type world struct {
	schedule *Schedule
	rnd      random
	now      millis
	story    *strings.Builder
	// state is the version of the cluster state, stateAt when it got it; the last one that
	// lasted for unchangedFor did so until unchangedUntil.
	state                   int64
	stateAt, unchangedUntil millis
	digest                  hash.Hash // of all decisions; nil where nobody wants it
	stats                   *Statistics

	kubernetes
	crate
	people
	delivery
	repositories
	restores
	adopted adopted
	judge   judge

	daemons []*daemon
	lease   lease
	deeds   *deeds

	// left are the items that have not happened yet, in the schedule's order.
	left []Item
	// inOperation counts the daemon's calls while an operation is recorded.
	inOperation int
	// inRecreation counts them while a StatefulSet is recreated, inReplacement while volumes are
	// replaced.
	inRecreation, inReplacement int
	// inDisking counts them while disks come or go.
	inDisking int
	// inBackup counts them while a snapshot of ours is recorded, or due.
	inBackup int
	// inDrill counts them while tables are restored.
	inDrill int
	// rightMissing: the daemons may not delete claims; whether they may is not known until rightUnknown.
	rightMissing bool
	rightUnknown millis
	// unlimited: the driver that could give no more gives what it is asked for.
	unlimited bool
	// steps counts what happened: events of the world, passes of the daemons, and
	// their calls, at each of which a fault may strike. passes are the passes in it.
	steps, passes int
	// rests counts how often it seemed to be at rest and was not.
	rests int
	// healed is true once all faults are over.
	healed bool
	// next is what due has found; dueKnown is true while it holds.
	next     millis
	dueKnown bool
}

// say adds a line to the story, when somebody reads it.
func (w *world) say(format string, values ...any) {
	if w.story == nil {
		return
	}
	fmt.Fprintf(w.story, "%9.3f  ", float64(w.now)/1000)
	fmt.Fprintf(w.story, format, values...)
	w.story.WriteByte('\n')
}

func (w *world) telling() bool { return w.story != nil }

// due is when something happens next. It is looked for anew after something has happened,
// or was done to the world.
func (w *world) due() millis {
	if !w.dueKnown {
		w.next, w.dueKnown = min(w.kubernetesDue(), w.crateDue(), w.itemDue()), true
	}
	return w.next
}

// advance lets the world run until a time.
func (w *world) advance(to millis) {
	for range 100_000 {
		if w.due() > to {
			w.now = max(w.now, to)
			return
		}
		w.now = max(w.now, w.next)
		w.steps++
		w.happenItems()
		w.happenKubernetes()
		w.happenCrate()
		w.dueKnown = false
	}
	w.violate("world", "the simulated world does not come to rest at %d ms: a defect of the simulation", w.now)
}

// names that are made once.
var (
	uids    = numbered("uid-", 4096)
	nodeIDs = numbered("node-", 512)
)

func numbered(prefix string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = prefix + strconv.Itoa(i)
	}
	return all
}

func nameOf(list []string, prefix string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return prefix + strconv.Itoa(i)
}
