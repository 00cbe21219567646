package ops_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
)

// twoDisksWorld is a cluster of three nodes with two disks each, and data: also a table with one copy.
func twoDisksWorld(t *testing.T) *world {
	w := newWorld(t, disked(wantedCluster(3), 2, sizeBefore))
	w.run(40)
	w.fill(model.Table{Name: "doc.one", Replicas: "1"}, 6, 2)
	w.fill(model.Table{Name: "doc.sole", Replicas: "0"}, 6, 1)
	w.run(40)
	return w
}

// checkFewer checks what holds when each pod does with one disk.
func checkFewer(t *testing.T, w *world) {
	t.Helper()
	require.Len(t, w.Templates, 1, "the StatefulSet was recreated without the claim template")
	assert.Len(t, w.Claims, 6, "nobody deletes a claim")
	for pod := range w.pods {
		assert.False(t, w.uses(pod, "data1"), pod)
		assert.True(t, w.uses(pod, "data0"), pod)
	}
	assert.Empty(t, w.asleep, "no shard is on a disk that nobody uses")
	assert.Len(t, w.shards, 18, "each copy is there")
	assert.Empty(t, w.renamed, "each node has its id still")
	checkQuiet(t, w)
}

func checkQuiet(t *testing.T, w *world) {
	t.Helper()
	assert.Empty(t, w.set(hot).Unused)
	assert.Empty(t, w.excluded(), "the exclusions were given back")
	assert.Nil(t, w.record.Removing)
	assert.Nil(t, w.record.Operation)
	assert.Zero(t, w.least["crate-data-c"], "the budget is as it was")
}

func TestDisksAreRemovedNodeByNode(t *testing.T) {
	w := twoDisksWorld(t)
	w.desired = disked(w.desired, 1, sizeBefore)
	w.run(600)
	checkFewer(t, w)
	for name, p := range w.pods {
		assert.Equal(t, 1, p.restarts, name)
	}
	assert.Equal(t, 2, w.made[hot], "the StatefulSet is recreated once, at the end")
	assert.Equal(t, 1, reported(w, "DisksRemoving"))
	assert.Equal(t, 1, reported(w, "DisksRemoved"))
	assert.Zero(t, reported(w, "RestartSucceeded"), "each node is no restart of its own")
	assert.Equal(t, model.StageVerified, w.record.Stage)
	for _, r := range w.reports {
		if r.Reason == "DisksRemoved" {
			assert.Contains(t, r.Message, "data1-crate-data-hot-c-0; data1-crate-data-hot-c-1; data1-crate-data-hot-c-2")
		}
	}
	assert.LessOrEqual(t, w.narrow, 3*4, "the template is without the disk for a few looks of each pod's restart")
}

// midway runs until the first pod does without the disk.
func (w *world) midway() {
	w.desired = disked(w.desired, 1, sizeBefore)
	for i := 0; i < 400 && w.lacks[hot+"-0"] == ""; i++ {
		_, err := w.pass()
		require.NoError(w.t, err)
	}
	require.Equal(w.t, "data1", w.lacks[hot+"-0"])
}

func TestARemovalOfDisksSurvivesAKillAtEachWrite(t *testing.T) {
	start := func() *world {
		w := twoDisksWorld(t)
		w.desired = disked(w.desired, 1, sizeBefore)
		w.backAgain = 0
		return w
	}
	cutOff(t, start, someOrEach(7), 900, func(t *testing.T, w *world, last model.Decision) {
		assert.Equal(t, model.Done, last.Verdict, "%v %v", last.Waits, last.Refusals)
		checkFewer(t, w)
	})
}

// A pod that vanishes comes back with all its disks, whenever: in the moment in which another one
// restarts too, once it is restarted once more. Nothing is lost.
func TestAPodThatVanishesWhileDisksAreRemovedLosesNothing(t *testing.T) {
	narrowed := func(w *world) bool { return w.set(hot).Unused != "" }
	draining := func(w *world) bool { return len(w.excluded()) > 0 && !narrowed(w) }
	goes := func(w *world) bool { return narrowed(w) && w.pods[hot+"-0"].away > 0 }
	for _, c := range []struct {
		name string
		when func(w *world) bool
		pod  string
		lost bool
	}{
		{"while the first node is drained", draining, hot + "-1", false},
		{"the one that is drained", draining, hot + "-0", false},
		{"before the first pod goes", narrowed, hot + "-2", false},
		{"before the first pod goes, and the record is lost", narrowed, hot + "-2", true},
		{"as the first pod goes", goes, hot + "-2", false},
		{"as the first pod goes, and the record is lost", goes, hot + "-2", true},
		{"the first pod itself, as it restarts", narrowed, hot + "-0", false},
		{"after it", func(w *world) bool { return w.lacks[hot+"-0"] != "" && !narrowed(w) }, hot + "-1", false},
		{"after it, and the record is lost", func(w *world) bool { return w.lacks[hot+"-0"] != "" && !narrowed(w) }, hot + "-1", true},
		{"the one that has come back without it", func(w *world) bool { return w.lacks[hot+"-0"] != "" && !narrowed(w) }, hot + "-0", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := twoDisksWorld(t)
			w.desired = disked(w.desired, 1, sizeBefore)
			for i := 0; i < 400 && !c.when(w); i++ {
				_, _ = w.pass()
			}
			require.True(t, c.when(w))
			if w.vanishes(c.pod); c.lost {
				w.record = model.Record{}
			}
			bereft := ""
			for i := 0; i < 1500; i++ {
				d, _ := w.pass()
				if len(w.asleep) > 0 {
					bereft += waitsWith(d, "disks-removed")
				}
				if d.Verdict == model.Done && !d.Save {
					break
				}
			}
			if c.name == "as the first pod goes" {
				assert.Contains(t, bereft, c.pod+" (data1)", "it is said by name")
				assert.Contains(t, bereft, "do not delete")
			}
			checkFewer(t, w)
		})
	}
}

// What is pushed or said midway.
func TestARemovalOfDisksFollowsWhatIsDesiredByThen(t *testing.T) {
	back := func(w *world) { w.desired = disked(w.desired, 2, sizeBefore) }
	for _, c := range []struct {
		name string
		so   func(w *world)
		// then is said after a while.
		then  func(w *world)
		check func(t *testing.T, w *world)
	}{
		{"the old number: pods have the disk again", back, nil, func(t *testing.T, w *world) {
			for pod := range w.pods {
				assert.True(t, w.uses(pod, "data1"), pod)
			}
			assert.Len(t, w.shards, 18)
			assert.Equal(t, 1, w.made[hot], "the StatefulSet has never been without it")
			assert.Equal(t, 1, w.pods[hot+"-0"].restarts-1, "only that pod restarts for it")
			assert.Equal(t, 0, w.pods[hot+"-2"].restarts)
			checkQuiet(t, w)
		}},
		{"an abort, taken back", func(w *world) { w.commands.Abort = "true" }, func(w *world) { w.commands.Abort = "" }, checkFewer},
		{"a pause, taken back", func(w *world) { w.desired.Paused = true }, func(w *world) { w.desired.Paused = false }, checkFewer},
		{"a release, taken back", func(w *world) { w.desired.Released = true }, func(w *world) { w.desired.Released = false }, checkFewer},
		{"another version", func(w *world) { w.desired.Version, w.desired.Revision = "5.10.2", "rev-version" }, nil, checkFewer},
		{"another template", func(w *world) { w.template, w.desired.Revision = "t2", "rev-t2" }, nil, checkFewer},
		{"a larger size", func(w *world) { w.desired = disked(w.desired, 1, sizeAfter); w.backAgain = 1 }, nil, func(t *testing.T, w *world) {
			checkFewer(t, w)
			for _, claim := range w.Claims {
				assert.Equal(t, claim.Template == "data0", claim.Capacity == 200*gib, claim.Name)
			}
		}},
		{"another node", func(w *world) {
			w.desired.Sets = slices.Clone(w.desired.Sets)
			w.desired.Sets[0].Replicas, w.desired.Revision = 4, "rev-4"
		}, nil, func(t *testing.T, w *world) {
			require.Len(t, w.Templates, 1)
			assert.Len(t, w.shards, 18)
			assert.Empty(t, w.asleep)
			checkQuiet(t, w)
		}},
		{"a definition that is refused, taken back", func(w *world) { w.desired.ClusterName = "another" }, func(w *world) { w.desired.ClusterName = "c" }, checkFewer},
	} {
		for _, when := range []string{"before", "narrow", "after"} {
			t.Run(c.name+", "+when, func(t *testing.T) {
				w := twoDisksWorld(t)
				was := w.desired.ClusterName
				w.desired = disked(w.desired, 1, sizeBefore)
				at := func() bool {
					switch when {
					case "before":
						return len(w.excluded()) > 0
					case "narrow":
						return w.set(hot).Unused != ""
					}
					return w.lacks[hot+"-0"] != "" && w.set(hot).Unused == ""
				}
				for i := 0; i < 400 && !at(); i++ {
					_, _ = w.pass()
				}
				require.True(t, at())
				if when == "before" && c.name == "the old number: pods have the disk again" {
					c.check = nil
				}
				c.so(w)
				for range 60 {
					_, _ = w.pass()
				}
				if c.then != nil {
					assert.Empty(t, w.set(hot).Unused, "no template stays without a disk")
					if c.then(w); w.desired.ClusterName == "c" {
						w.desired.ClusterName = was
					}
				}
				w.run(1200)
				if c.check != nil {
					c.check(t, w)
				} else {
					checkQuiet(t, w)
				}
			})
		}
	}
}

// What is excluded may take shards all the same: somebody may have ended the effect of an exclusion. Then the
// node keeps its disks, and is drained again.
func TestANodeThatTakesAShardAgainKeepsItsDisks(t *testing.T) {
	w := twoDisksWorld(t)
	w.desired = disked(w.desired, 1, sizeBefore)
	restarts := func() bool { return w.record.Operation != nil && w.record.Operation.Kind == model.OperationRestart }
	for i := 0; i < 400 && !restarts(); i++ {
		_, _ = w.pass()
	}
	require.True(t, restarts())
	w.besideOurs("_name", "nobody")
	require.Equal(t, 1, w.refill())
	for i := 0; i < 200 && restarts(); i++ {
		_, _ = w.pass()
	}
	assert.Zero(t, w.pods[hot+"-0"].restarts, "it has not restarted")
	assert.False(t, restarts(), "and what was begun for it has ended")
	w.run(900)
	checkFewer(t, w)
}

// A pod may take minutes to start. The template has the disk again as soon as it is made.
func TestTheTemplateHasTheDiskAgainWhileThePodStarts(t *testing.T) {
	w := twoDisksWorld(t)
	starts, waits := map[string]int{}, func(p *model.Pod) bool { return p.Unused != "" }
	away := map[string]bool{}
	w.seePods = func(pods []model.Pod) {
		clear(away)
		for i := range pods {
			if p := &pods[i]; waits(p) && starts[p.UID] < 30 {
				starts[p.UID]++
				p.Ready, away[p.NodeName] = false, true
			}
		}
	}
	w.see = func(db *model.Database) {
		db.Nodes = slices.DeleteFunc(db.Nodes, func(n model.Node) bool { return away[n.Name] })
		db.Pods = slices.DeleteFunc(db.Pods, func(a model.PodAnswer) bool { return away[a.NodeName] })
		if len(away) > 0 {
			db.Health.Colour = model.Yellow
		}
	}
	w.desired = disked(w.desired, 1, sizeBefore)
	w.run(900)
	checkFewer(t, w)
	require.Len(t, starts, 3)
	assert.LessOrEqual(t, w.narrow, 3*5)
}

// The template does without the disk until one pod is made. Whatever becomes of that pod, the next one of its name has all
// disks: its node was given back by then, and may have copies on the way.
func TestTheNextPodOfARestartHasItsDisksAgain(t *testing.T) {
	w := twoDisksWorld(t)
	w.desired = disked(w.desired, 1, sizeBefore)
	narrow := func() bool {
		op := w.record.Operation
		return op != nil && op.Restart != nil && op.Restart.Narrow
	}
	for i := 0; i < 900 && !narrow(); i++ {
		_, _ = w.pass()
	}
	require.True(t, narrow())
	uid := w.record.Operation.Restart.PodUID
	for i := 0; i < 30 && narrow(); i++ {
		_, _ = w.pass()
	}
	require.Equal(t, uid, w.record.Operation.Restart.PodUID)
	assert.False(t, narrow(), "the restart goes on, and no pod comes without the disk any more")
}

// Seed 6024033266: a pod is to come back without a disk, and its machine is lost while it ends. A push gives the template no
// further time to do without the disk: each pod that vanishes meanwhile comes without it.
func TestAPushDoesNotKeepATemplateWithoutADiskForLonger(t *testing.T) {
	for pushed, name := range map[string]string{"": "nobody pushes", "rev-then": "another revision after half of the time"} {
		t.Run(name, func(t *testing.T) {
			w := twoDisksWorld(t)
			w.desired = disked(w.desired, 1, sizeBefore)
			narrow := func() bool { return w.set(hot).Unused != "" }
			for i := 0; i < 400 && !(narrow() && w.pods[hot+"-0"].away > 0); i++ {
				_, _ = w.pass()
			}
			require.True(t, narrow())
			w.pods[hot+"-0"].away = 1 << 20
			since := w.now
			for narrow() && w.now.Sub(since) < 2*model.DefaultPodTimeout {
				if pushed != "" && w.now.Sub(since) > model.DefaultPodTimeout/2 {
					w.desired.Revision = pushed
				}
				_, _ = w.pass()
			}
			assert.Less(t, w.now.Sub(since), model.DefaultPodTimeout+time.Minute)
		})
	}
}

// A pod that has come back without a disk restarts before all else that is desired by then. While the
// definition is refused it is said by name.
func TestAPodThatLacksItsDiskComesFirst(t *testing.T) {
	for _, c := range []struct {
		name string
		so   func(w *world)
	}{
		{"a node more", func(w *world) { w.desired.Sets[0].Replicas = 4 }},
		{"another version", func(w *world) { w.desired.Version = "5.10.2" }},
		{"the old number", func(w *world) { w.desired = disked(w.desired, 2, sizeBefore) }},
		{"what is refused", func(w *world) { w.desired.ClusterName = "another" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := twoDisksWorld(t)
			was := w.desired.ClusterName
			w.desired = disked(w.desired, 1, sizeBefore)
			for i := 0; i < 400 && !(w.set(hot).Unused != "" && w.pods[hot+"-0"].away > 0); i++ {
				_, _ = w.pass()
			}
			w.vanishes(hot + "-2")
			for i := 0; i < 20 && len(w.asleep) == 0; i++ {
				_, _ = w.pass()
			}
			require.NotEmpty(t, w.asleep)
			w.desired.Sets = slices.Clone(w.desired.Sets)
			c.so(w)
			w.desired.Revision = "rev-then"
			var d model.Decision
			for i := 0; i < 200 && len(w.asleep) > 0; i++ {
				if d, _ = w.pass(); len(w.asleep) > 0 && w.pods[hot+"-2"].away == 0 {
					require.Contains(t, waitsWith(d, "disks-removed"), hot+"-2 (data1)", "turn %d", i)
				}
				require.NotContains(t, w.pods, hot+"-3", "no node comes before")
			}
			if c.name == "what is refused" {
				assert.Contains(t, reasons(d.Refusals), "cluster-name-change")
				w.desired.ClusterName = was
			} else {
				assert.Empty(t, w.asleep)
			}
			w.run(1500)
			assert.Empty(t, w.asleep)
			assert.Len(t, w.shards, 18)
			checkQuiet(t, w)
		})
	}
}
