package ops_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/volume"
)

// grownWorld is a cluster of three nodes that was made with 100Gi, and whose definition then
// says another size.
func grownWorld(t *testing.T, text string) *world {
	w := newWorld(t, sized(wantedCluster(3), sizeBefore))
	w.run(40)
	w.desired = sized(w.desired, text)
	w.desired.Revision = "rev-" + text
	return w
}

func checkGrown(t *testing.T, w *world) {
	t.Helper()
	for _, c := range w.Claims {
		assert.Equal(t, 200*gib, c.Capacity, c.Name)
	}
	assert.Equal(t, model.SizeList("data0="+sizeAfter), model.Sizes(w.Templates, hot), "later pods get such claims")
	assert.Equal(t, 2, w.made[hot], "the StatefulSet was recreated once")
	assert.Zero(t, w.least["crate-data-c"], "the budget is as it was")
	assert.Equal(t, 1, w.budgets["crate-data-c"])
	assert.Nil(t, w.record.Growth)
	assert.Nil(t, w.record.Operation)
	for name, p := range w.pods {
		assert.Zero(t, p.restarts, "%s was restarted", name)
	}
}

func TestVolumesGrowWithoutARestart(t *testing.T) {
	w := grownWorld(t, sizeAfter)
	w.run(60)
	checkGrown(t, w)
	assert.Equal(t, 1, reported(w, "VolumesGrowing"))
	assert.Equal(t, 1, reported(w, "VolumesGrown"))
	assert.Equal(t, model.StageVerified, w.record.Stage)
}

func TestTheFirstClaimGrowsAlone(t *testing.T) {
	w := grownWorld(t, sizeAfter)
	// Claims of another template, which have their size, are no sign that this one can grow.
	w.desired.Volumes = append(w.desired.Volumes, model.VolumeTemplate{Set: hot, Name: "debug", Text: "64Gi", Size: 64 * gib})
	w.Claims = append(w.Claims, model.Claim{Name: "debug-" + hot + "-0", Set: hot, Template: "debug", UID: "d0", Phase: "Bound", Requested: 64 * gib, Capacity: 64 * gib})
	// Nor is one that waits for its volume.
	w.Claims = append(w.Claims, model.Claim{Name: "data0-" + hot + "-9", Set: hot, Ordinal: 9, Template: "data0", UID: "d9", Phase: "Pending", Requested: 200 * gib})
	for i := 0; len(w.asked) == 0 && i < 40; i++ {
		_, err := w.pass()
		require.NoError(t, err)
	}
	assert.Equal(t, []string{"data0-" + hot + "-0=" + sizeAfter}, w.asked)
	w.infeasible = 150 * gib
	for range 20 {
		_, _ = w.pass()
	}
	assert.Len(t, w.asked, 1, "a driver that fails with one is not asked for others")
}

// A kill before and after each write, with and without the record.
func TestGrowingVolumesSurvivesAKillAtEachWrite(t *testing.T) {
	cutOff(t, func() *world { return grownWorld(t, sizeAfter) }, 1, 60, func(t *testing.T, w *world, _ model.Decision) { checkGrown(t, w) })
}

func TestNothingHoldsUpAVolumeThatHasToGrow(t *testing.T) {
	for _, c := range []struct {
		name string
		so   func(w *world)
	}{
		{"the tables are red, as after a full disk", func(w *world) { w.see = func(db *model.Database) { db.Health.Colour = model.Red } }},
		{"the tables are yellow", func(w *world) { w.see = func(db *model.Database) { db.Health.Colour = model.Yellow } }},
		{"no node answers", func(w *world) {
			w.see = func(db *model.Database) { *db = model.Database{At: db.At, Contact: model.No} }
		}},
		{"a restart is under way", func(w *world) { w.template = "t2" }},
		{"a pod is down", func(w *world) { w.pods[hot+"-1"].away = 1 << 20 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := grownWorld(t, sizeAfter)
			c.so(w)
			w.passes(60)
			grown := 0
			for _, claim := range w.Claims {
				if claim.Capacity == 200*gib {
					grown++
				}
			}
			assert.GreaterOrEqual(t, grown, 2, "the claims of the pods that are there have grown")
		})
	}
}

// While a StatefulSet is gone no pod is recreated.
func TestAStatefulSetIsNotRecreatedWhileAPodIsDown(t *testing.T) {
	w := grownWorld(t, sizeAfter)
	w.pods[hot+"-1"].away = 1 << 20
	var d model.Decision
	for range 60 {
		d, _ = w.pass()
	}
	assert.Equal(t, 1, w.made[hot], "it was not deleted")
	assert.Contains(t, reasons(d.Waits), "set-recreated")
	w.pods[hot+"-1"].away = 1
	w.run(60)
	checkGrown(t, w)
}

// Whatever else is so: pods without a StatefulSet get one.
func TestAStatefulSetIsMadeAgainWhateverHappensInBetween(t *testing.T) {
	for _, c := range []struct {
		name string
		so   func(w *world)
	}{
		{"nothing", func(*world) {}},
		{"the cluster is paused", func(w *world) { w.commands.Paused = "true" }},
		{"the cluster is released", func(w *world) { w.commands.Released = "true" }},
		{"the definition wants something that is refused", func(w *world) { w.desired.ClusterName = "another" }},
		{"a smaller size is pushed", func(w *world) { w.desired = sized(w.desired, sizeBefore); w.desired.Revision = "rev-back" }},
		{"fewer nodes are pushed", func(w *world) { w.desired.Sets[0].Replicas = 2; w.desired.Revision = "rev-2" }},
		{"no node answers", func(w *world) {
			w.see = func(db *model.Database) { *db = model.Database{At: db.At, Contact: model.No} }
		}},
		{"the record is lost", func(w *world) { w.record = model.Record{} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := grownWorld(t, sizeAfter)
			for i := 0; !w.away[hot] && i < 60; i++ {
				_, err := w.pass()
				require.NoError(t, err)
			}
			c.so(w)
			w.passes(3)
			assert.False(t, w.away[hot], "it is there again")
			for _, s := range w.sets {
				assert.Equal(t, 3, s.Replicas, "it takes all its pods")
				assert.False(t, s.InitialMasters)
			}
		})
	}
}

func TestAFailedGrowthIsNamedAndCanBeTakenBackToLess(t *testing.T) {
	w := grownWorld(t, sizeAfter)
	w.infeasible = 150 * gib
	var d model.Decision
	for range 30 {
		d, _ = w.pass()
	}
	require.Contains(t, reasons(d.Waits), "volume-growth-failed")
	for _, r := range d.Waits {
		if r.Name == "volume-growth-failed" {
			assert.Contains(t, r.Message, "data0-"+hot+"-0 stays at 100.0 GiB, 200.0 GiB are desired; its driver says: the array is full")
		}
	}
	assert.Equal(t, 1, reported(w, "VolumeGrowthFailed"))

	w.desired = sized(w.desired, "120Gi")
	w.desired.Revision = "rev-120"
	w.run(60)
	for _, c := range w.Claims {
		assert.Equal(t, 120*gib, c.Capacity, c.Name)
	}
	assert.Equal(t, 2, w.made[hot])
}

// A node that comes has a claim without a volume for a moment.
func TestANewClaimIsNoGrowth(t *testing.T) {
	w := newWorld(t, sized(wantedCluster(3), sizeBefore))
	w.run(40)
	w.Claims = append(w.Claims, model.Claim{Name: "data0-" + hot + "-3", Set: hot, Ordinal: 3, Phase: "Pending", Template: "data0", UID: "u3", Requested: 100 * gib})
	_, err := w.pass()
	require.NoError(t, err)
	assert.Nil(t, w.record.Growth)
	assert.Zero(t, reported(w, "VolumesGrowing"))
}

func TestSuccessIsSaidOnceCrateDBSeesTheBytes(t *testing.T) {
	w := grownWorld(t, sizeAfter)
	w.blind = true
	var d model.Decision
	for range 40 {
		d, _ = w.pass()
	}
	assert.Contains(t, reasons(d.Waits), "size-not-visible")
	assert.Zero(t, reported(w, "VolumesGrown"))
	w.blind = false
	w.run(20)
	assert.Equal(t, 1, reported(w, "VolumesGrown"))
}

// A file system that several volumes share never shows it.
func TestAFileSystemThatNeverShowsItsGrowthIsNamedAndNotWaitedForForEver(t *testing.T) {
	w := grownWorld(t, sizeAfter)
	w.blind = true
	for range 40 {
		_, _ = w.pass()
	}
	w.now = w.now.Add(volume.VisibleFor)
	w.run(20)
	require.Equal(t, 1, reported(w, "VolumesGrown"))
	for _, r := range w.reports {
		if r.Reason == "VolumesGrown" {
			assert.Contains(t, r.Message, "CrateDB does not see it")
		}
	}
}

func TestWhatCannotGrowIsRefusedBeforeAClaimIsAsked(t *testing.T) {
	expands := classes("fast")
	expands.Classes[0].Expands = true
	for _, c := range []struct {
		name    string
		storage model.Storage
		change  model.ChangeClass
		refused string
	}{
		{"the class expands", expands, model.ChangeVolumesGrow, ""},
		{"nothing is known of the class: the API server decides", model.Storage{Unread: "forbidden"}, model.ChangeVolumesGrow, ""},
		{"the class does not expand", classes("fast"), model.ChangeVolumesGrow, "storage-class-not-expandable"},
		{"the class is gone", classes("other"), model.ChangeVolumesGrow, "storage-class-not-expandable"},
		{"a smaller size", expands, model.ChangeVolumesShrink, "volume-cannot-shrink"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := grownWorld(t, sizeAfter)
			o := w.observe()
			o.Storage = c.storage
			w.desired.Changes = []model.Change{{Class: c.change, Set: hot, Path: "spec.volumeClaimTemplates[data0].spec.resources.requests.storage", Old: "300Gi", New: "200Gi"}}
			s := &situation{d: w.desired, o: o, r: w.record}
			d := s.decide()
			if c.refused == "" {
				assert.Empty(t, d.Refusals)
				assert.Contains(t, kinds(d), model.ActionGrowClaim)
				return
			}
			assert.Equal(t, []string{c.refused}, reasons(d.Refusals))
			assert.NotContains(t, kinds(d), model.ActionGrowClaim)
		})
	}
}

// An offline driver waits for its pod to go: other operations do not wait for it.
func TestARestartGoesOnWhileAVolumeWaitsForItsPodToGo(t *testing.T) {
	w := grownWorld(t, sizeAfter)
	w.offline = true
	for range 20 {
		_, _ = w.pass()
	}
	w.template = "t2"
	for range 400 {
		_, _ = w.pass()
	}
	for name, p := range w.pods {
		assert.Equal(t, 1, p.restarts, name)
	}
}

// What the plan model and status say has the claim's own words.
func TestTheWaitForVolumesCountsClaims(t *testing.T) {
	w := grownWorld(t, sizeAfter)
	var d model.Decision
	for range 3 {
		d, _ = w.pass()
	}
	i := -1
	for j, r := range d.Waits {
		if r.Name == "volumes-grow" {
			i = j
		}
	}
	require.GreaterOrEqual(t, i, 0)
	assert.True(t, strings.HasPrefix(d.Waits[i].Message, "0 of 3 volume claims have the desired size: "), d.Waits[i].Message)
}

// One that was deleted with its pods, by the consent of its definition, is not recreated.
func TestADeletedClusterIsNotRecreated(t *testing.T) {
	for _, pods := range []bool{true, false} {
		s := made(t)
		s.r.Operation = &model.Operation{Kind: model.OperationExpand, Step: model.StepRecreate, Recreation: &model.Recreation{Set: hot, UID: "uid-" + hot, Pods: 3, Guarded: 3}}
		s.d.Removed, s.o.Sets = true, nil
		if !pods {
			s.o.Pods = nil
		}
		assert.Equal(t, pods, s.decide().Apply, "only pods without a StatefulSet get one")
	}
}

// A driver that works offline makes a file system larger only when the node mounts the volume again.
// By its policy each pod is restarted for that, behind every gate of a restart, and once.
func TestAnOfflineDriverHasItsPodsRestartedByPolicy(t *testing.T) {
	for _, c := range []struct {
		name, policy string
		restarts     int
		says         string
	}{
		{"wait: nothing restarts, and the wait says what to do", "wait", 0, "its driver works offline: restart the cluster, or write spec.operations.offlineResize: restart"},
		{"left out is wait", "", 0, "its driver works offline: restart the cluster"},
		{"restart", model.OfflineRestart, 1, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := grownWorld(t, sizeAfter)
			w.offline = true
			w.desired.Operations.OfflineResize = c.policy
			var d model.Decision
			for range 900 {
				d, _ = w.pass()
			}
			for name, p := range w.pods {
				assert.Equal(t, c.restarts, p.restarts, name)
			}
			if c.restarts == 0 {
				require.NotEmpty(t, d.Waits)
				assert.Contains(t, d.Waits[len(d.Waits)-1].Message+d.Waits[0].Message, c.says)
				assert.Nil(t, d.Record.Operation, "other operations do not wait for it")
				return
			}
			assert.Equal(t, model.Done, d.Verdict, "%v", d.Waits)
			assert.Nil(t, d.Record.Growth)
			for _, claim := range w.Claims {
				assert.Equal(t, 200*gib, claim.Capacity, claim.Name)
			}
		})
	}
}

// A file system that does not follow though its pod was restarted restarts nothing more.
func TestAFileSystemThatNeverFollowsRestartsItsPodOnce(t *testing.T) {
	w := grownWorld(t, sizeAfter)
	w.offline, w.neverMounts = true, true
	w.desired.Operations.OfflineResize = model.OfflineRestart
	var d model.Decision
	for range 900 {
		d, _ = w.pass()
	}
	restarts := 0
	for _, p := range w.pods {
		restarts += p.restarts
	}
	assert.Equal(t, 1, restarts)
	require.NotEmpty(t, d.Waits)
	assert.Contains(t, d.Waits[0].Message, "has not followed though the pod was restarted")
}

func TestAnOfflineGrowthSurvivesAKillAtEachWrite(t *testing.T) {
	offline := func() *world {
		w := grownWorld(t, sizeAfter)
		w.offline, w.desired.Operations.OfflineResize = true, model.OfflineRestart
		return w
	}
	cutOff(t, offline, someOrEach(7), 750, func(t *testing.T, w *world, _ model.Decision) {
		for _, c := range w.Claims {
			assert.Equal(t, 200*gib, c.Capacity, c.Name)
		}
		for name, p := range w.pods {
			assert.Equal(t, 1, p.restarts, name)
		}
		assert.Nil(t, w.record.Growth)
		assert.Nil(t, w.record.Operation)
		assert.Equal(t, model.SizeList("data0="+sizeAfter), model.Sizes(w.Templates, hot))
	})
}

// Seed 1300130675: two claims had failed, and both were asked for less one right after the other.
func TestOfClaimsThatFailedTheFirstIsAskedForLessAlone(t *testing.T) {
	for _, c := range []struct {
		name  string
		first model.ResizeState
		has   int64
		asks  []string
	}{
		{"it is on its way", model.ResizeController, 100, nil},
		{"it has failed again", model.ResizeFailed, 100, []string{"data0-" + hot + "-1"}},
		{"it has grown", model.ResizeNone, 200, []string{"data0-" + hot + "-1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := atStep(t, "")
			s.r.Operation = nil
			for i := range s.o.Claims {
				claim := &s.o.Claims[i]
				claim.Requested, claim.Capacity, claim.Resize = 300*gib, 100*gib, model.ResizeFailed
			}
			first := &s.o.Claims[0]
			first.Requested, first.Capacity, first.Resize = 200*gib, c.has*gib, c.first
			var asks []string
			d := s.decide()
			for _, a := range d.Actions() {
				if a.Kind == model.ActionGrowClaim {
					asks = append(asks, a.Claim)
				}
			}
			assert.Equal(t, c.asks, asks)
		})
	}
}
