package simulation

import (
	"slices"
	"strings"

	"stevedore.dev/stevedore/internal/cratesim/allocation"
	"stevedore.dev/stevedore/ops/gates"
)

// crate is the database: its members, its master, its settings and its shards.
type crate struct {
	founded   int // how many clusters were ever founded; 1 is ours
	master    int // the slot of the master, or -1
	masterDue millis
	masterUp  millis // since when
	recovered bool
	// everRecovered: the gateway has, once; before, nobody could put anything into it.
	everRecovered bool
	// recoverDue is when the gateway recovers by its time.
	recoverDue millis
	voters     []int // node ids that count
	nodeCount  int

	enable, excludeID, excludeName, jobsLog clusterSetting
	users                                   []user
	snapshotUntil                           millis
	present                                 []presence // of each of gates.Questions; nil for nothing
	// acknowledged is a bit a slot: node check 1; it is lost when the node restarts.
	acknowledged uint64

	// rules are the deciders', and question what asked fills.
	rules    allocation.Settings
	question allocation.Copy
	// filtersRead are the exclusions by id and by name as they were changed last, at
	// filtersAt, and inForce those that rules has.
	filtersRead [2]string
	filtersAt   millis
	inForce     [2]bool

	tables  []table
	shards  []shard
	wants   []int  // replicas of each table, as countWanted found them
	reroute millis // when the allocation is looked at again; 0 for not
	retry   bool   // a drain that a snapshot held back stands still until a reroute

	unreachable millis        // until when no SQL reaches the database
	unread      [views]millis // until when a view is not read, and the others are
	beside
}

// setting has a persistent and a transient value; "" is unset. What people set
// last stands beside it, for the judge.
type clusterSetting struct {
	persistent, transient  string
	theirs, theirTransient string
	theirAt                millis
}

func (s *clusterSetting) effective(fallback string) string {
	switch {
	case s.transient != "":
		return s.transient
	case s.persistent != "":
		return s.persistent
	}
	return fallback
}

type user struct {
	name, password string
	granted        bool
}

const clusterID = "cluster-1"

func idOf(cluster int) string {
	switch cluster {
	case 0:
		return gates.NoCluster
	case 1:
		return clusterID
	}
	return "cluster-2"
}

func (w *world) crateDue() millis {
	due := never
	if w.masterDue > 0 {
		due = min(due, w.masterDue)
	}
	if w.recoverDue > 0 {
		due = min(due, w.recoverDue)
	}
	if w.reroute > 0 {
		due = min(due, w.reroute)
	}
	if w.snapshotUntil > 0 {
		due = min(due, w.snapshotUntil)
	}
	due = min(due, w.backupsDue())
	if !w.recovered || w.master < 0 {
		return due
	}
	for i := range w.shards {
		s := &w.shards[i]
		for j := range s.copies {
			if c := &s.copies[j]; c.due > 0 {
				due = min(due, c.due)
			}
		}
		if s.delayUntil > w.now {
			due = min(due, s.delayUntil)
		}
	}
	return due
}

func (w *world) happenCrate() {
	if w.masterDue > 0 && w.masterDue <= w.now {
		w.masterDue = 0
		w.elect()
	}
	if w.recoverDue > 0 && w.recoverDue <= w.now {
		w.recoverDue = 0
		w.recoverGateway()
	}
	if w.snapshotUntil > 0 && w.snapshotUntil <= w.now {
		w.snapshotUntil = 0
		w.say("the snapshot has ended")
	}
	w.happenBackups()
	w.happenShards()
}

// refusesData: a volume that a newer minor has written to.
func (w *world) refusesData(l *slot, version string) bool {
	return l.volume.version != "" && gates.CompareMinor(version, l.volume.version) < 0
}

// changes is a new version of the cluster state.
func (w *world) changes() {
	if w.now-w.stateAt >= millis(policy.UnchangedFor.Milliseconds()) {
		w.unchangedUntil = w.now
	}
	w.state, w.stateAt = w.state+1, w.now
}

// join is a process that has found the others, or founds a cluster.
func (w *world) join(l *slot) {
	p := &l.pod
	if !p.up || p.terminating {
		return
	}
	if l.volume.node == 0 {
		w.nodeCount++
		l.volume.node = w.nodeCount
	}
	if l.volume.cluster > 1 {
		return // it is another cluster for itself
	}
	if w.master < 0 {
		w.found(l)
		if w.masterDue == 0 {
			w.masterDue = w.now + w.rnd.span(100, 900)
		}
		p.joinDue = w.now + w.rnd.span(300, 1500)
		return
	}
	p.joined, p.joinedAt, l.emptied = true, w.now, false
	w.changes()
	w.settles(l)
	w.proves(l)
	l.volume.cluster, l.volume.version = 1, w.templates[p.template].version
	l.writesAll()
	p.readyDue = w.now + w.rnd.span(50, 1500)
	w.judge.up(l)
	w.vote()
	w.gateway()
	w.reroute = w.now
	if w.telling() {
		w.say("%s has joined as node %d", l.nodeName, l.volume.node)
	}
}

// found is what cluster.initial_master_nodes does to an empty volume.
func (w *world) found(l *slot) {
	if !l.pod.initialMasters || !l.set.eligible || l.volume.cluster != 0 {
		return
	}
	eligible := 0
	var with [maxSlots]int // those that it founds it with
	n := 0
	for i := range w.sets {
		s := &w.sets[i]
		if !s.eligible {
			continue
		}
		for o := range s.replicas {
			other := &w.slots[i*maxOrdinals+o]
			eligible++
			if other.pod.up && other.volume.cluster == 1 {
				return // it finds that one, and waits for its master
			}
			if other.pod.up && other.volume.cluster == 0 && !w.processHangs(other) {
				with[n] = other.index
				n++
			}
		}
	}
	if n*2 <= eligible {
		return
	}
	w.founded++
	w.say("%s founds cluster %d", l.nodeName, w.founded)
	w.judge.founded(w, l)
	// The first state is on more than half of those that are named before it counts.
	w.voters = w.voters[:0]
	for _, i := range with[:n] {
		other := &w.slots[i]
		if other.volume.node == 0 {
			w.nodeCount++
			other.volume.node = w.nodeCount
		}
		other.volume.cluster = 1
		w.voters = append(w.voters, other.volume.node)
	}
}

// leave is a process that is gone.
func (w *world) leave(l *slot) {
	w.changes()
	l.pod.joined = false
	w.acknowledged &^= 1 << l.index
	w.judge.gone(w, l)
	w.breaksSnapshots(l)
	w.leaveShards(l)
	if w.master == l.index {
		w.master = -1
		w.masterDue = w.now + w.rnd.span(200, 900)
	} else if w.master >= 0 {
		if !w.quorum() {
			w.master = -1
			w.say("the quorum is lost")
			w.probeAll()
		} else {
			w.vote()
		}
	}
	if !w.anyUp() {
		w.losesRestores()
		w.recovered, w.recoverDue = false, 0
		was := w.enable.transient
		w.enable.transient, w.enable.theirTransient = "", ""
		w.uncovered(was)
		w.excludeID.transient, w.excludeID.theirTransient = "", ""
		w.excludeName.transient, w.excludeName.theirTransient = "", ""
		w.jobsLog.transient, w.jobsLog.theirTransient = "", ""
	}
	w.reroute = w.now
}

// anyUp: a process that still has the cluster's state.
func (w *world) anyUp() bool {
	for _, i := range w.used {
		if l := &w.slots[i]; l.pod.up && l.pod.joined && l.set.eligible {
			return true
		}
	}
	return false
}

func (w *world) upVoters() (up int) {
	for _, v := range w.voters {
		for _, i := range w.used {
			if l := &w.slots[i]; l.pod.up && l.volume.node == v && l.volume.cluster == 1 && !w.processHangs(l) {
				up++
			}
		}
	}
	return up
}

// processHangs: the process runs and takes no part in the cluster.
func (w *world) processHangs(l *slot) bool { return w.templates[l.pod.template].bad == badHang }

func (w *world) quorum() bool { return w.upVoters()*2 > len(w.voters) }

func (w *world) elect() {
	if w.master >= 0 || len(w.voters) == 0 {
		return
	}
	if !w.quorum() {
		w.probeAll() // nobody is ready without a master
		return
	}
	for _, i := range w.used {
		l := &w.slots[i]
		if !l.pod.up || !l.set.eligible || l.volume.cluster != 1 || l.pod.terminating || w.processHangs(l) {
			continue
		}
		w.master, w.masterUp = i, w.now
		w.changes()
		if !l.pod.joined {
			l.pod.joined, l.pod.joinedAt, l.pod.joinDue, l.emptied = true, w.now, 0, false
			w.settles(l)
			w.proves(l)
			l.volume.version = w.templates[l.pod.template].version
			l.writesAll()
			w.judge.up(l)
		}
		w.readFiltersAnew(l)
		w.say("%s is the master", l.nodeName)
		w.vote()
		w.gateway()
		w.probeAll()
		w.reroute = w.now
		return
	}
}

// vote lets the voting configuration follow the members (CrateDB's Reconfigurator): an odd number of
// them, those that vote already first; where three have voted never less than three, filled up with those
// that are gone. It stays where the members are no majority of the next one.
func (w *world) vote() {
	if w.master < 0 {
		return
	}
	var members []int
	for _, i := range w.used {
		if l := &w.slots[i]; l.pod.joined && l.set.eligible {
			members = append(members, l.volume.node)
		}
	}
	votes := func(node int) bool { return slices.Contains(w.voters, node) }
	slices.SortStableFunc(members, func(a, b int) int { return compareBool(votes(b), votes(a)) })
	size := len(members) - 1 + len(members)%2
	if len(w.voters) >= 3 {
		size = max(size, 3)
	}
	next := members[:min(size, len(members))]
	live := len(next)
	for _, node := range w.voters {
		if !slices.Contains(members, node) && len(next) < size {
			next = append(next, node)
		}
	}
	if live*2 > len(next) {
		w.voters = next
	}
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// gateway decides whether the cluster's state may be read from the disks.
func (w *world) gateway() {
	if w.recovered || w.master < 0 {
		return
	}
	data := 0
	for _, i := range w.used {
		if l := &w.slots[i]; l.pod.joined && !l.set.masters {
			data++
		}
	}
	expected := w.templates[w.slots[w.master].pod.template].counts
	switch {
	case data >= expected:
		w.recoverGateway()
	case data >= expected/2+1 && w.recoverDue == 0:
		w.recoverDue = w.now + 5*minute
	}
}

func (w *world) recoverGateway() {
	if w.recovered || w.master < 0 {
		return
	}
	w.recovered, w.everRecovered, w.recoverDue, w.reroute = true, true, 0, w.now
	w.changes()
	w.say("the gateway has recovered")
}

func (w *world) user(name string) *user {
	for i := range w.users {
		if w.users[i].name == name {
			return &w.users[i]
		}
	}
	return nil
}

// excludes says whether the cluster's settings want any node empty.
func (w *world) excludes() bool {
	id, name := &w.excludeID, &w.excludeName
	return id.persistent != "" || id.transient != "" || name.persistent != "" || name.transient != ""
}

// readFilters takes the cluster's exclusions up where they have changed: only what a change
// has changed is in force after it.
func (w *world) readFilters() {
	now, was := [2]string{w.excludeID.effective(""), w.excludeName.effective("")}, w.filtersRead
	if now == was {
		return
	}
	w.filtersRead, w.filtersAt, w.rules.Filters = now, w.now, allocation.Filters{}
	for i, key := range [2]string{"_id", "_name"} {
		if w.inForce[i] = now[i] != was[i]; w.inForce[i] {
			w.rules.Filters.Add("exclude", key, now[i])
		}
	}
}

// readFiltersAnew: a master whose process has not seen the last change has all of them in
// force.
func (w *world) readFiltersAnew(master *slot) {
	if master.pod.joinedAt > w.filtersAt {
		w.filtersRead, w.inForce, w.rules.Filters = [2]string{}, [2]bool{}, allocation.Filters{}
		w.readFilters()
	}
}

// load is that of a node before its shards are counted.
func (l *slot) load() allocation.Load {
	size, free := l.mostFree()
	return allocation.Load{DiskSize: size, DiskFree: free}
}

func (l *slot) diskUsed() int64 {
	all := int64(0)
	for disk := range maxDisks {
		if disk == 0 || l.pod.sees(disk) {
			all += l.usedOn(disk)
		}
	}
	return all
}

// settles is a node that is a member by now, as the deciders know it.
func (w *world) settles(l *slot) {
	l.place = allocation.Node{
		Load: l.load(), ID: nameOf(nodeIDs, "node-", l.volume.node), Name: l.nodeName, Attributes: zoneAttributes[l.kube%3],
		Version: w.templates[l.pod.template].release,
	}
}

func listed(list, name string) bool {
	for list != "" {
		head, rest, _ := strings.Cut(list, ",")
		if strings.TrimSpace(head) == name {
			return true
		}
		list = rest
	}
	return false
}

// votersGone counts the voters that never come back; without is one that is lost right
// now. One whose node has left, with another away in that moment, votes on, for fewer
// than three never vote once three have. It has left because Git wants so, after a look
// at which all were there, and comes back only when Git wants it again: with the volume
// of another gone too, nothing that is desired brings a majority.
func (w *world) votersGone(without *slot) (gone int) {
	for _, v := range w.voters {
		there := false
		for _, i := range w.used {
			o := &w.slots[i]
			there = there || o != without && o.carries(v) && (o.ordinal < o.set.replicas || o.pod.up)
		}
		if !there {
			gone++
		}
	}
	return gone
}
