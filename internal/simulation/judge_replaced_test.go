package simulation

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
)

// Schedules in which volumes are replaced; `make simulate` runs many more.
func TestEveryInvariantHoldsWhileVolumesAreReplaced(t *testing.T) {
	var stats Statistics
	ran, replaced := 0, 0
	for seed := uint64(swapping); ran < quick; seed++ {
		s := NewSchedule(seed)
		if !s.Start.Swaps {
			continue
		}
		ran++
		result := Run(s, &stats, nil)
		stats.Note(result)
		require.Nil(t, result.Violation, "make replay SEED=%d\n%v", seed, s)
	}
	assert.Equal(t, quick, stats.Finished)
	assert.NotZero(t, stats.Operations[string(model.OperationReplace)])
	for _, what := range []What{pushClass, pushSmaller, pushBoth, dropConsent, loseRecord, killAfter, evict} {
		for _, n := range stats.Met[what] {
			replaced += n
		}
	}
	assert.NotZero(t, replaced)
}

// swappedWorld is a cluster at rest whose node hot-0 was drained, by a daemon that has looked, and whose
// StatefulSet makes volumes of another class, for which the consent was applied before.
func swappedWorld() *world {
	w := grownWorld()
	w.schedule.Start.Swaps = true
	w.addTable("doc.z", "0", 1, firstVersion)
	w.advance(w.now + minute)
	c := *w.head()
	c.consent = true
	for i := range c.volumes {
		c.volumes[i].class = 1
	}
	w.push(c, 0)
	for i := range w.sets {
		w.sets[i].template = w.head().tmpls[w.setKind(&w.sets[i])]
	}
	d := w.daemons[0]
	d.want, d.began, d.checked, d.copied, d.claimsAt = w.fetched(), w.now, w.now, w.now, w.now
	w.judge.consent, w.judge.disturbed = true, 0
	for i := range w.shards {
		w.shards[i].copies = []replica{{slot: 1, node: w.slots[1].volume.node, state: started, primary: true, synced: true}}
	}
	w.excludeID.persistent = nameOf(nodeIDs, "node-", w.slots[0].volume.node)
	d.looked = looks{excluded: w.excludeID.persistent, excludedAt: w.now, inForce: true, members: ^uint64(0)}
	w.now++
	return w
}

func TestTheJudgeSeesWhatGoesWrongWithTheReplacementOfVolumes(t *testing.T) {
	deletes := func(w *world) { w.judge.deletesClaim(w, w.daemons[0], &w.slots[0], 0) }
	goes := func(w *world, slot int) {
		w.slots[slot].claim.going, w.slots[slot].claim.ours, w.slots[slot].claim.agreed = true, true, true
		w.slots[slot].claim.goingAt = w.now - second
	}
	holds := func(w *world) { w.shards[0].copies[0].slot, w.shards[0].copies[0].node = 0, w.slots[0].volume.node }
	// restarts takes the pod of the drained node down with its volume. A table has one copy of two, and this is left of the other one.
	restarts := func(left replica) func(w *world) {
		return func(w *world) {
			goes(w, 0)
			left.node = w.slots[0].volume.node
			w.shards[0].copies = append(w.shards[0].copies, left)
			w.daemons[0].observed.Database = model.Database{Tables: []model.Table{{Name: "doc.z", Replicas: "0-1", Started: 1}}}
			w.judge.ranges(w, w.daemons[0], &w.slots[0])
		}
	}
	for _, c := range []struct {
		name, invariant string
		breach          func(w *world)
	}{
		{"as it is to be", "", deletes},
		{"the definition does not consent", "D", func(w *world) {
			w.head().consent = false
			deletes(w)
		}},
		{"the consent came with the change", "D", func(w *world) {
			w.judge.consent = false
			deletes(w)
		}},
		{"the volume is as desired", "D", func(w *world) {
			w.slots[0].claim.class = 1
			deletes(w)
		}},
		{"the volume is larger than desired, by hand", "D", func(w *world) {
			w.slots[0].claim.class, w.slots[0].claim.asked = 1, w.head().volumes[1].size+8
			deletes(w)
		}},
		{"the volume is larger than desired, and its group became smaller", "", func(w *world) {
			w.slots[0].claim.class, w.slots[0].claim.asked, w.sets[0].smaller = 1, w.head().volumes[1].size+8, 1
			deletes(w)
		}},
		{"the volume is larger than desired, and another disk of the group became smaller", "D", func(w *world) {
			w.slots[0].claim.class, w.slots[0].claim.asked, w.sets[0].smaller = 1, w.head().volumes[1].size+8, 1<<1
			deletes(w)
		}},
		{"the pod leaves", "D", func(w *world) {
			w.head().replicas[1] = 0
			deletes(w)
		}},
		{"the StatefulSet makes the old volumes", "D", func(w *world) {
			w.sets[0].template = w.commits[0].tmpls[1]
			deletes(w)
		}},
		{"one of two nodes that vote", "D", func(w *world) {
			w.sets[0].replicas = 2
			deletes(w)
		}},
		{"another node is about to go with its volume", "D", func(w *world) {
			goes(w, 1)
			deletes(w)
		}},
		{"another node has not joined on its new volume yet", "D", func(w *world) {
			w.slots[1].emptied, w.slots[1].pod.joined = true, false
			deletes(w)
		}},
		{"a copy is on the node", "A", func(w *world) {
			holds(w)
			deletes(w)
		}},
		{"a copy is on its way to the node", "A", func(w *world) {
			w.shards[0].copies[0].state, w.shards[0].copies[0].to = relocating, 0
			deletes(w)
		}},
		{"a copy was not started when the daemon looked", "A", func(w *world) {
			w.daemons[0].looked.moving = "doc.z"
			deletes(w)
		}},
		{"the node was not excluded when the daemon looked", "A", func(w *world) {
			w.daemons[0].looked.excluded = ""
			deletes(w)
		}},
		{"the exclusion was not in force", "A", func(w *world) {
			w.daemons[0].looked.inForce = false
			deletes(w)
		}},
		{"nodes were away when the daemon looked", "B", func(w *world) {
			w.daemons[0].looked.members = 0
			w.daemons[0].observed.Database.Nodes = make([]model.Node, 3)
			deletes(w)
		}},
		{"the cluster is paused", "H", func(w *world) {
			w.head().paused = true
			deletes(w)
		}},
		{"the exclusion is given back before the pod goes", "A", func(w *world) {
			goes(w, 0)
			w.judge.excludes(w, w.daemons[0], w.excludeID.persistent, "")
		}},
		{"a release was shown that gives it back, and is lost with the record by then", "", func(w *world) {
			goes(w, 0)
			w.daemons[0].observed.Commands.Released = "true"
			w.judge.excludes(w, w.daemons[0], w.excludeID.persistent, "")
		}},
		{"the last copy has come back when the volume goes", "A", func(w *world) {
			goes(w, 0)
			holds(w)
			w.losesClaim(&w.slots[0], 0)
		}},
		{"the daemon restarts the pod, and the last copy has come back", "D", func(w *world) {
			goes(w, 0)
			holds(w)
			w.daemons[0].checked, w.judge.faulted = w.now, 0
			w.judge.endsVolume(w, w.daemons[0], &w.slots[0])
		}},
		{"the daemon restarts the pod, and a table lacks a copy that its disk has, with every row", "B", restarts(replica{synced: true})},
		{"the same, and the copy comes to the node", "B", restarts(replica{state: initializing})},
		{"the same, and what is on the disk is older than the other copy: CrateDB recreates it", "", restarts(replica{})},
		{"a StatefulSet gets other claim templates without consent", "D", func(w *world) {
			w.sets[0].template, w.judge.consent = w.commits[0].tmpls[1], false
			w.judge.orphans(w, w.daemons[0], &w.sets[0])
		}},
		{"a StatefulSet is recreated for nothing", "H", func(w *world) { w.judge.orphans(w, w.daemons[0], &w.sets[0]) }},
		{"it is recreated with claims of a class that nobody asked for", "H", func(w *world) {
			s := deleted(w)
			was := w.templates[s.template]
			was.class = 2
			next := w.templateOf(was.content, was.version, was.counts, was.bad, was.soft, was.shape)
			w.judge.recreates(w, &daemon{w: w, began: w.now + 1}, s, &model.EffectiveSet{Name: s.name, Replicas: s.replicas}, next)
		}},
		{"success is reported and a node is on the old class", "F", func(w *world) {
			w.now += minute
			w.judge.expanded(w, w.daemons[0], &model.Report{Action: "expand_storage", Reason: "VolumesReplaced"})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := swappedWorld()
			v := broken(func() { c.breach(w) })
			if c.invariant == "" {
				require.Nil(t, v, "%v", v)
				return
			}
			require.NotNil(t, v)
			assert.Equal(t, c.invariant, v.Invariant, v.Message)
		})
	}
}

// A consent counts once a definition was applied that has it and asks for no other volumes.
func TestAConsentIsNoneThatComesWithTheChange(t *testing.T) {
	w := swappedWorld()
	d := w.daemons[0]
	w.judge.consent = false
	w.sets[0].template = w.commits[0].tmpls[1]
	w.judge.consents(w, d)
	assert.False(t, w.judge.consent)
	w.sets[0].template = w.head().tmpls[1]
	w.judge.consents(w, d)
	assert.True(t, w.judge.consent)
	w.head().consent = false
	w.judge.consents(w, d)
	assert.False(t, w.judge.consent)
}

// What is on the volume goes with the pod: the next one is another node, without a shard, on a claim of
// the templates that are live.
func TestAClaimThatADaemonDeletesGoesWithItsPod(t *testing.T) {
	w := swappedWorld()
	w.setChanged(&w.sets[0])
	w.advance(w.now + 10*second)
	l := &w.slots[0]
	node := l.volume.node
	l.claim.going, l.claim.ours, l.claim.agreed, l.claim.goingAt = true, true, true, w.now
	w.advance(w.now + 10*second)
	assert.Equal(t, node, l.volume.node, "the volume stays while its pod is there")
	w.judge.note(w, l, byDaemon)
	w.terminate(l)
	w.advance(w.now + minute)
	assert.True(t, l.pod.joined)
	assert.NotEqual(t, node, l.volume.node)
	assert.Equal(t, sort{size: firstSize, class: 1}, l.claim.sort())
	assert.False(t, l.claim.going)
}
