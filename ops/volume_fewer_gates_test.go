package ops_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/render/definition"
)

// What has to be so before a disk is taken from the first node: else nothing is done. And each cure passes.
func TestNoDiskIsRemovedWithoutWhatItNeeds(t *testing.T) {
	for _, c := range []struct {
		name           string
		so             func(w *world)
		refused, waits string
		says           string
		cure           func(w *world)
	}{
		{"what all nodes have does not fit", func(w *world) { w.lies(86*gib, gib) }, "volumes-too-small", "",
			"the shards of all nodes: 258.0 GiB, and the volumes that are desired for 3 node(s) have room for 255.0 GiB", func(w *world) { w.lies(84*gib, gib) }},
		{"no disk has room for the largest shard", func(w *world) { w.lies(50*gib, 86*gib) }, "volumes-too-small", "", "the largest shard: 86.0 GiB", func(w *world) { w.lies(50*gib, gib) }},
		{"a table has a copy on each node", func(w *world) {
			w.tables, w.shards = nil, nil
			w.fill(model.Table{Name: "doc.wide", Replicas: "2"}, 6, 3)
		}, "replicas-do-not-fit", "", "doc.wide", func(w *world) {
			w.tables, w.shards = nil, nil
			w.fill(model.Table{Name: "doc.wide", Replicas: "1"}, 9, 2)
		}},
		{"a snapshot runs", func(w *world) { w.snapshot = 1 << 20 }, "", "snapshot-running", "", func(w *world) { w.snapshot, w.stuck = 0, false }},
		{"it is aborted", func(w *world) { w.commands.Abort = "true" }, "aborted", "", "pods that do without a disk stay so, and no claim was deleted", func(w *world) { w.commands.Abort = "" }},
		{"copies are missing", func(w *world) { w.see = func(db *model.Database) { db.Health.Colour = model.Yellow } }, "", "health-green", "", func(w *world) { w.see = nil }},
		{"other clusters have nodes down", func(w *world) { w.disrupted = []string{"ns/other"} }, "", "disrupted-clusters", "", func(w *world) { w.disrupted = nil }},
		{"a further disk has not come to each pod yet", func(w *world) { w.has[hot+"-1"] = "data0" }, "volume-change-not-supported", "", `[data1] is "a disk that not all pods have yet" and "" is desired`, func(w *world) { w.has[hot+"-1"] = "data0,data1" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := twoDisksWorld(t)
			c.so(w)
			w.desired = disked(w.desired, 1, sizeBefore)
			var d model.Decision
			for range 200 {
				d, _ = w.pass()
			}
			if c.refused != "" {
				assert.Contains(t, reasons(d.Refusals), c.refused)
			} else {
				assert.Contains(t, reasons(d.Waits), c.waits)
			}
			assert.Contains(t, messages(append(slices.Clone(d.Refusals), d.Waits...)), c.says)
			for name, p := range w.pods {
				assert.Zero(t, p.restarts, name)
			}
			assert.Zero(t, w.narrow, "the template has never been without the disk")
			assert.Empty(t, w.excluded())
			assert.Equal(t, 1, w.made[hot])
			c.cure(w)
			w.run(1200)
			checkFewer(t, w)
		})
	}
}

// Dedicated masters have no shards: nothing is drained for them.
func TestADedicatedMasterIsNotDrainedForFewerDisks(t *testing.T) {
	w := newWorld(t, disked(tiered(3, 2), 2, sizeBefore))
	w.masters = map[string]bool{"crate-master-c": true}
	w.run(80)
	master := "crate-master-c"
	fewer := disked(w.desired, 2, sizeBefore)
	fewer.Volumes = slices.DeleteFunc(fewer.Volumes, func(v model.VolumeTemplate) bool { return v.Set == master && v.Name == "data1" })
	w.desired = fewer
	w.desired.Revision = "rev-masters"
	excluded := 0
	for range 600 {
		d, _ := w.pass()
		if excluded += len(w.excluded()); d.Verdict == model.Done && !d.Save {
			break
		}
	}
	assert.Zero(t, excluded)
	assert.Equal(t, []string{"data0"}, w.disksOf(master))
	for pod, p := range w.pods {
		assert.Equal(t, !strings.HasPrefix(pod, master), w.uses(pod, "data1"), pod)
		assert.Equal(t, strings.HasPrefix(pod, master), p.restarts == 1, pod)
	}
	checkQuiet(t, w)
}

// While a cluster is suspended no pod is there: they come back with all their disks, and then go on without.
func TestASuspendedClusterKeepsItsDisks(t *testing.T) {
	for _, when := range []string{"before", "midway"} {
		t.Run(when, func(t *testing.T) {
			w := twoDisksWorld(t)
			if when == "midway" {
				w.midway()
			}
			w.desired.Operations.Consent = []definition.Consent{definition.ConsentSuspend}
			w.desired.Sets = slices.Clone(w.desired.Sets)
			w.desired.Sets[0].Replicas, w.desired.Revision = 0, "rev-suspended"
			for i := 0; i < 1200 && len(w.record.Suspended) == 0; i++ {
				_, _ = w.pass()
			}
			for range 40 {
				_, _ = w.pass()
			}
			require.NotEmpty(t, w.record.Suspended)
			assert.Zero(t, reported(w, "DisksRemoved"))
			w.desired = disked(w.desired, 1, sizeBefore)
			for range 40 {
				_, _ = w.pass()
			}
			assert.Equal(t, []string{"data0", "data1"}, w.disksOf(hot))
			w.desired.Sets = slices.Clone(w.desired.Sets)
			w.desired.Sets[0].Replicas, w.desired.Revision = 3, "rev-resumed"
			w.run(1500)
			checkFewer(t, w)
		})
	}
}

// Of fewer disks and another change in one commit none is lost.
func TestFewerDisksAndAnotherChangeInOneCommit(t *testing.T) {
	for _, other := range parts {
		for _, dies := range []int{0, 7, 11} {
			t.Run(fmt.Sprintf("%s, dying every %d writes", other.name, dies), func(t *testing.T) {
				w := pairWorldOf(t, func(d model.Desired) model.Desired { return disked(d, 2, sizeBefore) })
				w.backAgain = 2
				other.change(w)
				w.desired.Volumes = slices.DeleteFunc(slices.Clone(w.desired.Volumes), func(v model.VolumeTemplate) bool { return v.Name == "data1" })
				w.desired.Revision = "rev-both"
				w.keepsDying(dies, 3000)
				w.run(400)
				assert.Equal(t, []string{"data0"}, w.disksOf(hot))
				assert.Len(t, w.shards, 12, "each copy is there")
				assert.Empty(t, w.asleep)
				free := slices.DeleteFunc(slices.Clone(w.Claims), func(c model.Claim) bool { return c.Template == "data0" })
				assert.GreaterOrEqual(t, len(free), 4, "nobody deletes a claim")
				w.Claims = slices.DeleteFunc(w.Claims, func(c model.Claim) bool { return c.Template != "data0" })
				other.done(t, w)
				checkQuiet(t, w)
			})
		}
	}
}

// A disk that was taken away is blank to no other node, and its own one takes it back.
func TestADiskThatWasThisVeryNodesComesBack(t *testing.T) {
	for _, c := range []struct {
		name    string
		so      func(s *situation, c *model.Claim)
		refused bool
	}{
		{"it was", func(*situation, *model.Claim) {}, false},
		{"it is of another cluster", func(_ *situation, c *model.Claim) { c.ClusterID = "another" }, true},
		{"nobody knows of which cluster", func(_ *situation, c *model.Claim) { c.ClusterID = "" }, true},
		{"its claims were made in another order", func(s *situation, c *model.Claim) { s.o.Claims[1].Made = c.Made.Add(2 * time.Second) }, false},
		{"the first disk was replaced since then: another node is on it", func(s *situation, c *model.Claim) { s.o.Claims[1].Made = c.Made.Add(time.Hour) }, true},
		{"when it was made is not known", func(_ *situation, c *model.Claim) { c.Made = time.Time{} }, true},
		{"it is being deleted", func(_ *situation, c *model.Claim) { c.Terminating = true }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := moreDisks(t)
			for i := range s.o.Claims {
				s.o.Claims[i].Made = s.o.At.Add(-time.Hour)
			}
			claim := s.claim("data1", 1)
			claim.Made = s.o.At.Add(-time.Minute)
			c.so(s, claim)
			d := s.decide()
			assert.Equal(t, c.refused, slices.Contains(reasons(d.Refusals), "disk-not-blank"), "%v", d.Refusals)
			assert.Equal(t, !c.refused, kindOf(d) == model.OperationExpand, "%v", d.Waits)
		})
	}
}

// A person deletes the claim of a disk that a pod does without. Kubernetes keeps it until the pod goes; it
// holds nothing up. Of a pod that is to have it again it does.
func TestAFreeClaimHoldsNothingUp(t *testing.T) {
	for _, c := range []struct {
		name string
		so   func(w *world)
		free bool
	}{
		{"its pod does without it", func(*world) {}, true},
		{"the old number is desired by then", func(w *world) { w.desired = disked(w.desired, 2, sizeBefore) }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := twoDisksWorld(t)
			w.midway()
			w.commands.Abort = "true" // so that it stays there
			for range 40 {
				_, _ = w.pass()
			}
			c.so(w)
			i := slices.IndexFunc(w.Claims, func(c model.Claim) bool { return c.Template == "data1" && c.Ordinal == 0 })
			w.Claims[i].Terminating, w.Claims[i].Deleted = true, w.now
			var d model.Decision
			for range 20 {
				d, _ = w.pass()
			}
			assert.Equal(t, !c.free, slices.Contains(reasons(d.Waits), "volume-goes-with-pod"), "%v", reasons(d.Waits))
		})
	}
}

// A pod that does not come up without its disk gets it again by the old number.
func TestAPodThatDoesNotStartWithoutADiskGetsItAgain(t *testing.T) {
	w := twoDisksWorld(t)
	broken := false
	w.seePods = func(pods []model.Pod) {
		for i := range pods {
			if p := &pods[i]; p.Unused != "" {
				broken = true
				p.Ready, p.Waiting, p.Started = false, "CrashLoopBackOff", time.Time{}
			}
		}
	}
	w.see = func(db *model.Database) {
		w.ended = map[string]bool{hot + "-0": broken && w.lacks[hot+"-0"] != ""}
		if w.ended[hot+"-0"] {
			db.Nodes = slices.DeleteFunc(db.Nodes, func(n model.Node) bool { return n.Name == hot+"/0" })
			db.Pods = slices.DeleteFunc(db.Pods, func(a model.PodAnswer) bool { return a.Pod == hot+"-0" })
			db.Health.Colour = model.Yellow
		}
	}
	w.desired = disked(w.desired, 1, sizeBefore)
	for range 200 {
		_, _ = w.pass()
	}
	require.True(t, broken)
	assert.False(t, w.uses(hot+"-0", "data1"))
	assert.Empty(t, w.set(hot).Unused, "no other pod comes back without it")
	w.desired = disked(w.desired, 2, sizeBefore)
	w.run(600)
	assert.True(t, w.uses(hot+"-0", "data1"))
	assert.Len(t, w.shards, 18)
	checkQuiet(t, w)
}
