package simulation

import (
	"testing"

	"stevedore.dev/stevedore/ops/model"
)

// What a daemon was told and did not heed is its fault, though nothing came of it.
func TestADaemonIsHeldToWhatItSaw(t *testing.T) {
	restart := func(change func(*daemon)) func(*world, *daemon) {
		return func(w *world, d *daemon) {
			d.acting, d.claimsAt = model.ActionRestartPod, w.now
			d.observed.Database = model.Database{NodesKnown: true, TablesKnown: true, SnapshotsKnown: true, MasterNode: "node-1"}
			d.looked = looks{allocation: held}
			change(d)
			w.judge.restarts(w, d, &w.slots[0])
		}
	}
	shrink := func(excluded string) func(*world, *daemon) {
		return func(w *world, d *daemon) {
			d.acting, d.looked = model.ActionShrinkSet, looks{excluded: excluded, excludedAt: w.now, inForce: true}
			d.observed.Database = model.Database{}
			w.judge.shrinks(w, d, &w.sets[0], 2)
		}
	}
	cure := func(change func(*daemon)) func(*world, *daemon) {
		return func(w *world, d *daemon) {
			d.acting, d.looked = model.ActionReplaceStuckPod, looks{}
			change(d)
			w.judge.replacesPod(w, d, &w.slots[0])
		}
	}
	leaves := func(change func(*daemon)) func(*world, *daemon) {
		return func(w *world, d *daemon) {
			d.acting, d.looked = model.ActionShrinkSet, looks{excluded: "node-1,node-2,node-3", excludedAt: w.now, inForce: true, members: 0b111}
			d.observed.Database = model.Database{Nodes: make([]model.Node, 3)}
			change(d)
			w.judge.shrinks(w, d, &w.sets[0], 2)
		}
	}
	did := func(a model.Action, k looks) func(*world, *daemon) {
		return func(w *world, d *daemon) {
			d.looked = k
			w.judge.done(w, d, &a, model.ResultDone)
		}
	}
	// pins is a daemon that sets the include list of a table while Git wants so many nodes.
	pins := func(wanted int, list string, change func(*world, *table)) func(*world, *daemon) {
		return func(w *world, d *daemon) {
			t := &w.tables[0]
			w.commits = append(w.commits, w.commits[0])
			d.want, d.acting, d.looked.pinsAt = 1, model.ActionExcludeInTable, w.now
			hot := w.setKind(w.slots[0].set)
			w.commits[0].replicas[hot], w.commits[1].replicas[hot], w.schedule.Start.Extend = wanted, wanted, true
			change(w, t)
			t.includeNames = list
			w.judge.filters(w, d, t, pin{})
		}
	}
	// givesBack is a drain that is written down and not set yet when somebody sets a filter.
	givesBack := func(somebodys, back pin) func(*world, *daemon) {
		return func(w *world, d *daemon) {
			t := &w.tables[0]
			x := model.TableExclusion{Name: t.name, Drain: "include._name=data-hot-0", Filters: "include._name="}
			w.writesPins(d, &model.Record{Exclusions: &model.Exclusions{Tables: []model.TableExclusion{x}}})
			t.pin = somebodys
			w.pinned(t, pin{})
			w.now++
			d.acting, d.looked.pinsAt = model.ActionIncludeInTable, w.now
			t.pin = back
			w.judge.filters(w, d, t, pin{includeNames: "data-hot-0"})
		}
	}
	// loses takes the second of three voters down, while the third one is away.
	loses := func(change func(*world, *slot)) func(*world, *daemon) {
		return func(w *world, d *daemon) {
			third := &w.slots[2]
			third.pod.up = false
			change(w, third)
			w.judge.quorum(w, d, &w.slots[0])
		}
	}
	// deletes takes a pod down while another one is gone with all that it had, and so is its StatefulSet.
	deletes := func(change func(*world, *slot)) func(*world, *daemon) {
		return func(w *world, d *daemon) {
			other := &w.slots[2]
			other.set.exists, other.pod, other.volume = false, pod{}, volume{}
			change(w, other)
			w.judge.deletes(w, d, &w.slots[0])
		}
	}
	for _, c := range []struct {
		name, invariant string
		does            func(*world, *daemon)
	}{
		{"two of three voters are down", "B", loses(func(*world, *slot) {})},
		{"two of three voters are down, and a record was lost", "B", loses(func(w *world, _ *slot) { w.judge.loses(w) })},
		{"two of three voters are down, and a record was lost while their StatefulSet was gone", "B", loses(func(w *world, l *slot) {
			l.set.orphaned = true
			w.judge.loses(w)
		})},
		{"two of three voters are down, and a volume was lost", "B", loses(func(_ *world, l *slot) { l.volume.node = 0 })},
		{"of one nobody knows: its volume was lost, and the record while its StatefulSet was gone", "", loses(func(w *world, l *slot) {
			l.set.orphaned, l.volume.node = true, 0
			w.judge.loses(w)
		})},
		{"one of three voters is down, and another one is being deleted", "B", loses(func(w *world, l *slot) {
			l.pod.up = true
			w.terminate(l)
			w.daemons[0].watch()
		})},
		{"one of three voters is down, and since the pods were read another one is being deleted", "", loses(func(w *world, l *slot) {
			l.pod.up = true
			w.terminate(l)
		})},
		{"a node is not there", "B", deletes(func(*world, *slot) {})},
		{"a node is not there, and a record was lost", "B", deletes(func(w *world, _ *slot) { w.judge.loses(w) })},
		{"of the node nobody knows: the record was lost while its StatefulSet was gone", "", deletes(func(w *world, l *slot) {
			l.set.orphaned = true
			w.judge.loses(w)
		})},
		{"a pod is restarted, and all is well", "", restart(func(*daemon) {})},
		{"the tables were not read", "B", restart(func(d *daemon) { d.observed.Database.TablesKnown = false })},
		{"copies were moving", "B", restart(func(d *daemon) { d.observed.Database.Relocating = 1 })},
		{"a snapshot ran", "snapshot", restart(func(d *daemon) { d.observed.Database.Snapshots = 1 })},
		{"nobody asked for claims that are being deleted", "D", restart(func(d *daemon) { d.acted = d.claimsAt + 1 })},
		{"replicas were not held", "B", restart(func(d *daemon) { d.looked.allocation = "all" })},
		{"a table was yellow", "B", restart(func(d *daemon) { d.looked.lacking = "doc.a" })},
		{"there was no master", "B", restart(func(d *daemon) { d.observed.Database.MasterNode = "" })},
		{"a range of replicas is green and lacks a copy", "B", restart(func(d *daemon) {
			d.observed.Database.Tables = []model.Table{{Name: "doc.a", Replicas: "0-1", Started: 1}}
		})},
		{"a range of replicas is as many as fit", "", restart(func(d *daemon) {
			d.observed.Database.Tables = []model.Table{{Name: "doc.a", Replicas: "0-all", Started: 3}}
		})},
		{"somebody has just added a node, which has no copy of a table that wants one on each", "", restart(func(d *daemon) {
			w := d.w
			d.readAt, w.slots[0].pod.joinedAt = w.now, w.now
			d.observed.Database.Tables = []model.Table{{Name: "doc.a", Replicas: "0-all", Started: 2}}
		})},
		{"another pod goes right after one that came back", "pace", restart(func(d *daemon) {
			w := d.w
			w.slots[1].pod.joinedAt, w.judge.restarted = w.now-second, &w.slots[1]
			w.stateAt = w.now - 200
		})},
		{"another pod goes when nothing has happened since one came back", "", restart(func(d *daemon) {
			w := d.w
			w.slots[1].pod.joinedAt, w.judge.restarted = w.now-2*second, &w.slots[1]
			w.stateAt = w.now - 2*second
		})},
		{"another pod goes when one has stood for a while", "", restart(func(d *daemon) {
			w := d.w
			w.slots[1].pod.joinedAt, w.judge.restarted = w.now-10*second, &w.slots[1]
		})},
		{"what does not run is recreated, whatever was seen", "", func(w *world, d *daemon) {
			d.acting = model.ActionReplaceStuckPod
			w.judge.restarts(w, d, &w.slots[0])
		}},
		{"what does not run is recreated, and is no member", "", cure(func(d *daemon) { d.looked.members = 0b110 })},
		{"what is a member is recreated", "availability", cure(func(d *daemon) { d.looked.members = 0b111 })},
		{"a member is recreated by command", "availability", cure(func(d *daemon) { d.checked = d.w.now; byName(d) })},
		{"by command goes what has lost its master", "", cure(func(d *daemon) {
			d.looked.members, d.checked, d.w.master = 0b110, d.w.now, -1
			byName(d)
		})},
		{"by command goes what joined after the last look", "", cure(func(d *daemon) {
			d.looked.members, d.checked, d.w.slots[0].pod.joinedAt = 0b110, d.w.now-second, d.w.now
			byName(d)
		})},
		{"what answers is recreated", "availability", cure(func(d *daemon) { d.looked.well = d.w.slots[0].podName })},
		{"what others wait for may be recreated", "B", cure(func(d *daemon) { d.looked.masterless = true })},
		{"nodes leave, and all are there", "", leaves(func(*daemon) {})},
		{"nodes leave, and somebody had ended the effect of their exclusion", "A", leaves(func(d *daemon) { d.looked.inForce = false })},
		{"nodes leave, and another is away", "B", leaves(func(d *daemon) { d.looked.members = 0b101 })},
		{"nodes leave, and a copy is on its way", "A", leaves(func(d *daemon) { d.looked.moving = "doc.a" })},
		{"nodes leave, and a table has got a filter", "A", leaves(func(d *daemon) { d.looked.filtered = 1 })},
		{"an allocation lock is read back", "", did(model.Action{Kind: model.ActionLockAllocation}, looks{allocation: held})},
		{"an allocation lock is not read back", "B", did(model.Action{Kind: model.ActionLockAllocation}, looks{allocation: "all"})},
		{"what is given back is still held", "C", did(model.Action{Kind: model.ActionUnlockAllocation}, looks{allocation: held})},
		{"an exclusion is not read back", "A", did(model.Action{Kind: model.ActionExcludeNodes, NodeIDs: "node-3"}, looks{})},
		{"an exclusion that is given back is still read", "A", did(model.Action{Kind: model.ActionIncludeNodes, NodeIDs: "node-3"}, looks{excluded: "node-3"})},
		{"tables are called restored that nobody has asked for", "F", did(model.Action{Kind: model.ActionFetchTables}, looks{})},
		{"tables are called restored", "", did(model.Action{Kind: model.ActionFetchTables}, looks{restores: true})},
		{"a filter is called set for a drain", "A", func(w *world, d *daemon) {
			d.looked.pinsAt = w.now + 1
			w.judge.done(w, d, &model.Action{Kind: model.ActionExcludeInTable, Table: w.tables[0].name, Settings: "include._name=data-hot-0"}, model.ResultDone)
		}},
		{"a table that takes another's place is called like it", "D", func(w *world, d *daemon) {
			other := w.tables[0]
			other.name, other.replicas = "kept_"+other.name, "0-all"
			w.tables, d.acted = append(w.tables, other), w.now+1
			w.judge.done(w, d, &model.Action{Kind: model.ActionPrepareSwap, Table: w.tables[0].name, Schema: "kept_$1"}, model.ResultDone)
		}},
		{"an action is called done again and again", "E", func(w *world, d *daemon) {
			for range mostRepeated + 1 {
				w.judge.done(w, d, &model.Action{Kind: model.ActionForgetOwned}, model.ResultDone)
			}
		}},
		{"and a watch does not show what it has done", "", func(w *world, d *daemon) {
			for d.view.stalled[kindSets] = w.now + second; d.repeated <= mostRepeated && w.now < 60*minute; w.now += 100 {
				w.judge.done(w, d, &model.Action{Kind: model.ActionForgetOwned}, model.ResultDone)
				d.view.stalled[kindSets] = w.now + second
			}
		}},
		{"a password is set that its Secret has no more", "H", did(model.Action{Kind: model.ActionChangePassword, SecretVersion: model.SecretVersion{ResourceVersion: "1"}}, looks{secret: model.SecretVersion{ResourceVersion: "2"}})},
		{"somebody's live setting is set over", "C", did(model.Action{
			Kind: model.ActionSetSettings, Settings: model.SettingList(jobsLogSize + "=5000"), Expected: model.SettingList(jobsLogSize + "=10000"),
		}, looks{jobsLog: "8000"})},
		{"somebody's value is set over", "C", func(w *world, d *daemon) {
			d.looked.allocation = "none"
			w.judge.set(w, d, "cluster.routing.allocation.enable", &w.enable, "all")
		}},
		{"a node leaves that is excluded", "", shrink("node-1,node-2,node-3")},
		{"a node leaves that was excluded no more", "A", shrink("")},
		{"a node is given back that leaves", "A", func(w *world, d *daemon) {
			w.sets[0].replicas = 2
			w.judge.excludes(w, d, "node-1,node-2,node-3", "")
		}},
		{"a node is drained that the tables can do without", "", func(w *world, d *daemon) { w.judge.excludes(w, d, "", "node-1") }},
		{"nodes are drained that a table's own filter lets it use", "E", func(w *world, d *daemon) {
			w.tables[0].excludeNames = w.slots[1].nodeName
			w.judge.excludes(w, d, "", "node-1")
		}},
		{"a node is drained that a table's own filter excludes", "", func(w *world, d *daemon) {
			w.tables[0].excludeNames = w.slots[0].nodeName
			w.judge.excludes(w, d, "", nameOf(nodeIDs, "node-", w.slots[0].volume.node))
		}},
		{"a drain sets a filter that keeps a table off the nodes that leave", "", pins(2, "data-hot-0,data-hot-1", func(*world, *table) {})},
		{"a drain lets a table use a node that leaves", "E", pins(2, "data-hot-0,data-hot-2", func(*world, *table) {})},
		{"a drain puts back its list, and fewer nodes are desired since", "", pins(2, "data-hot-0,data-hot-2", func(w *world, t *table) {
			w.commits[0].replicas[w.setKind(w.slots[0].set)] = 3 // what it was written down for
		})},
		{"a drain puts back its list, with a node that leaves in it", "E", pins(2, "data-hot-0,data-hot-2", func(w *world, t *table) {
			w.commits[0].replicas[w.setKind(w.slots[0].set)] = 3
			w.excludeID.persistent = nameOf(nodeIDs, "node-", w.slots[2].volume.node)
		})},
		{"what was there before is given back", "", givesBack(pin{}, pin{})},
		{"what somebody has set during the drain is given back otherwise", "C", givesBack(pin{includeNames: "data-hot-2"}, pin{})},
		{"somebody sets what the drain was about to set, and it is given back", "", givesBack(pin{includeNames: "data-hot-0"}, pin{})},
		{"nodes are drained that a table needs", "E", func(w *world, d *daemon) { w.judge.excludes(w, d, "", "node-1,node-2") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := Schedule{Seed: 3, Start: Start{Hot: 3, Tables: []string{"1"}, Shards: 1}}
			w := newWorld(&s, nil, nil)
			for w.stored.record.Operation != nil || !w.stored.record.Bootstrap.Done {
				w.passOnce()
			}
			w.addTable("doc.a", "1", 1, firstVersion)
			w.advance(w.now + minute)
			w.judge.disturbed = 0
			d := w.daemons[0]
			d.began, d.readAt, w.commits[0].visible = w.now-second, w.now-second, w.now-30*second
			v := broken(func() { c.does(w, d) })
			requireViolation(t, v, c.invariant, c.invariant != "")
		})
	}
}

// byName: the daemon goes by a command to replace the pod that it takes down.
func byName(d *daemon) {
	l := &d.w.slots[0]
	d.decision.Record.Command.Commands.ReplacePod = l.podName + "/" + l.pod.uid
}
