package simulation

import (
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// doAsTold: people do what the status has said for long, where several faults have met and only they can end it.
func (w *world) doAsTold() {
	tells := func(rule gates.Rule) bool {
		return slices.ContainsFunc(w.daemons, func(d *daemon) bool { return d.running && d.says(rule) })
	}
	if tells(gates.VolumesRule) {
		w.setsVolumesBack()
	}
	if tells(gates.DiskNotBlankRule) {
		w.freesDisks()
	}
	if tells(gates.HealthGreenRule) {
		w.doesWithoutTorn()
	}
	if tells(gates.TableKeptRule) {
		w.dropsRedKept()
	}
	if tells(gates.TablesRedRule) {
		w.bringsDisksBack()
	}
	if tells(gates.VolumeShrinkRule) {
		w.setsSizesBack()
	}
	if tells(gates.ClaimOfAnotherClusterRule) {
		w.saysWhoseIsBlank()
	}
	if tells(gates.DowngradeRule) {
		w.keepsStartedVersion()
	}
	if tells(gates.VolumeGoesRule) || tells(gates.ClaimBeingDeletedRule) {
		w.endsClaims()
		w.dropsLost()
	}
	if slices.ContainsFunc(w.daemons, func(d *daemon) bool { return d.running && d.asksForGroup() }) {
		w.pushesGroupBack()
	}
	if tells(gates.UnexplainedHoldRule) && w.hidesTwice() {
		w.say("somebody sets cluster.routing.allocation.enable to all, as the status asks for it")
		w.enable = clusterSetting{persistent: "all", theirs: "all"}
		w.reroute = w.now
	}
}

// asksForGroup: the status says of a pod that it comes up only when its group is pushed back.
func (d *daemon) asksForGroup() bool {
	return slices.ContainsFunc(d.decision.Waits, func(r model.Reason) bool { return strings.Contains(r.Message, "push the group back") })
}

// pushesGroupBack: a group has left the definition, and a pod of it is on a template on which it does not run.
func (w *world) pushesGroupBack() {
	c, last := *w.head(), &w.sets[len(w.sets)-1]
	if c.warm || c.stands() || !w.cannotRun(last) {
		return
	}
	w.say("somebody pushes the group %s back, as the status asks for it", last.group)
	c.warm, c.replicas[2] = true, max(1, last.replicas)
	w.push(c, second)
}

// setsVolumesBack: fewer disks are refused of pods that have not got yet what their StatefulSet has, or another storage class of
// a StatefulSet that is not on it, as the record was lost that had the consent.
func (w *world) setsVolumesBack() {
	c := *w.head()
	w.keepsVolumes(&c)
	w.wantsDisks(&c)
	if c.disks != w.head().disks || c.volumes != w.head().volumes {
		w.push(c, second)
	}
}

// doesWithoutTorn: a table is to have a copy on each node, and sys.allocations says that a node has a shard on two disks and
// opens neither. With fewer copies CrateDB deletes what is there once the other nodes have the shard.
func (w *world) doesWithoutTorn() {
	for i := range w.shards {
		t := &w.tables[w.shards[i].table]
		torn := slices.ContainsFunc(w.shards[i].copies, func(c replica) bool { return c.torn })
		if torn && t.number != numberOf("0-1") {
			w.say("somebody sets number_of_replicas of %s to 0-1", t.name)
			t.number = numberOf("0-1")
			w.reroute = w.now
		}
	}
}

// dropsRedKept: what is kept of a table is red.
func (w *world) dropsRedKept() {
	for i := range w.tables {
		name := w.tables[i].name
		if colour, _, _ := w.health(i, 0); keptOf(name) != "" && colour == 3 {
			w.say("somebody drops %s, which is kept", name)
			w.removeTable(name)
			return
		}
	}
}

// bringsDisksBack: a table is red, and the status names claims that no pod uses: of disks that pods came back without. With
// as many disks as the group had they come back.
func (w *world) bringsDisksBack() {
	c := *w.head()
	for _, i := range w.used {
		l := &w.slots[i]
		for disk := 1; disk < maxDisks; disk++ {
			if k := l.claimOn(disk); l.pod.exists && !l.pod.has(disk) && k.exists && k.version != "" {
				kind := w.setKind(l.set)
				c.disks[kind] = max(c.disks[kind], disk+1)
			}
		}
	}
	if c.disks != w.head().disks {
		w.say("somebody brings the disks back that hold what is missing, as the status names their claims")
		w.push(c, second)
	}
}

// setsSizesBack: a size is refused that is smaller than that of a claim template.
func (w *world) setsSizesBack() {
	c := *w.head()
	size := c.volumes[1].size
	for i := range w.sets {
		live, _ := w.liveVolumes(i)
		for disk := range maxDisks {
			if has, there := live.of(disk); there {
				size = max(size, has.size)
			}
		}
	}
	if c.sized(size); c.volumes != w.head().volumes {
		w.push(c, second)
		w.unlimited = size > mostSize // a StatefulSet asks for it, and its driver has to give it
		w.retriesDrivers()
	}
}

// keepsStartedVersion: the version before is refused, as a pod has started on the newer one of an upgrade. It was made while
// the push of the version before was refused for something else, and people saw none when they pushed it.
func (w *world) keepsStartedVersion() {
	c := *w.head()
	w.keepsVersion(&c)
	if c.version != w.head().version {
		w.say("somebody sets the version to %s, as the status asks for it", c.version)
		w.push(c, second)
	}
}

// saysWhoseIsBlank: somebody has deleted a claim, and the StatefulSet controller was behind and made it again for a pod that was to
// be no more. No node has written on it, and nobody knows whose it is.
func (w *world) saysWhoseIsBlank() {
	for _, i := range w.used {
		l := &w.slots[i]
		if l.claim.exists && l.volume.node == 0 && l.claim.clusterID == "" && !l.pod.exists {
			l.claim.clusterID = clusterID
			w.say("somebody says that %s is of this cluster", l.claimName)
			w.bump(kindClaims)
		}
	}
}

// hidesTwice: the record is lost twice, or a watch is behind too. One of these alone hides from no daemon what it holds.
func (w *world) hidesTwice() bool {
	lost, hidden := 0, 0
	for _, it := range w.schedule.Items {
		if it.What == loseRecord {
			lost++
		}
		if it.What == stallWatch {
			hidden++
		}
	}
	return lost > 1 || lost == 1 && hidden > 0
}
