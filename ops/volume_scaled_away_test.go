package ops_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
)

// scaledAway is a cluster of three nodes whose volumes have grown, with the claim of a fourth that
// was scaled away before: its volume has grown too, and its file system follows when a pod mounts it.
func scaledAway(t *testing.T) *world {
	w := grownWorld(t, sizeAfter)
	w.Claims = append(w.Claims, model.Claim{Name: "data0-" + hot + "-3", Set: hot, Ordinal: 3, Phase: "Bound", Template: "data0", UID: "u3", Class: "fast", ClusterID: w.clusterID, Requested: 100 * gib, Capacity: 100 * gib})
	w.run(60)
	return w
}

func TestTheClaimOfANodeThatWasScaledAwayGrowsWithTheOthersAndItsFileSystemWithItsPod(t *testing.T) {
	w := scaledAway(t)
	left := &w.Claims[3]
	assert.Equal(t, []int64{200 * gib, 100 * gib}, []int64{left.Requested, left.Capacity}, "its volume is larger, and no pod has mounted it")
	assert.Nil(t, w.record.Growth, "nothing more can be done for it")
	assert.Equal(t, 2, w.made[hot], "the StatefulSet was recreated once")
	assert.Contains(t, reportOf(t, w, "VolumesGrown").Message, "300.0 GiB more on 3 nodes")

	w.desired.Sets[0].Replicas, w.desired.Revision = 4, "rev-4"
	for range 60 {
		d, err := w.pass()
		require.NoError(t, err)
		assert.NotContains(t, reasons(d.Waits), "size-not-visible")
	}
	assert.Equal(t, 200*gib, w.Claims[3].Capacity)
	assert.Equal(t, 1, reported(w, "VolumesGrowing"), "a pod that mounts its volume is no growth")
	assert.Equal(t, 1, reported(w, "VolumesGrown"))
	assert.Equal(t, model.StageVerified, w.record.Stage)
}

// A kubelet makes the file system larger while it mounts the volume, before the container starts.
func TestAClaimWhoseFileSystemFollowsAtTheMountIsNoGrowth(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(s *situation, p *model.Pod)
		grows  bool
	}{
		{"the pod waits for its node", func(_ *situation, p *model.Pod) { p.Phase, p.Started = "Pending", time.Time{} }, false},
		{"the pod is not there", func(s *situation, _ *model.Pod) { s.o.Pods = s.o.Pods[:2] }, false},
		{"the pod runs, and its file system has not followed", func(*situation, *model.Pod) {}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := atStep(t, "")
			s.r.Operation, s.r.Growth = nil, nil
			s.o.Volumes[0].Text, s.o.Volumes[0].Size = sizeAfter, 200*gib
			s.o.Claims[2].Capacity, s.o.Claims[2].Resize = 100*gib, model.ResizeNode
			c.change(s, &s.o.Pods[2])
			d := s.decide()
			assert.Equal(t, c.grows, d.Record.Growth != nil)
		})
	}
}

// The growth had begun when the pod went away.
func TestAGrowthSaysThatItWaitsForThePodWhoseFileSystemFollows(t *testing.T) {
	s := atStep(t, "")
	s.r.Operation, s.r.Growth = nil, &model.VolumeGrowth{Since: s.o.At}
	s.o.Volumes[0].Text, s.o.Volumes[0].Size = sizeAfter, 200*gib
	s.o.Claims[2].Capacity, s.o.Claims[2].Resize = 100*gib, model.ResizeNode
	s.o.Pods[2].Phase, s.o.Pods[2].Started = "Pending", time.Time{}
	d := s.decide()
	require.NotNil(t, d.Record.Growth)
	for _, r := range d.Waits {
		if r.Name == "volumes-grow" {
			assert.Equal(t, "2 of 3 volume claims have the desired size: data0-"+hot+"-2 has 100.0 GiB of 200.0 GiB (its file system follows when its pod has started)", r.Message)
			return
		}
	}
	assert.Fail(t, "nothing says what it waits for", "%v", d.Waits)
}

// How large it was nobody has seen: a node that had not joined when the growth began.
func TestOfANodeWhoseSizeWasNotKnownAllOfItsVolumeCounts(t *testing.T) {
	for _, c := range []struct {
		name  string
		sees  int64
		waits string
	}{
		{"it sees all", 196 * gib, ""},
		{"it sees what it had before", 98 * gib, "sees 98.0 GiB, and its claims have 200.0 GiB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := atStep(t, "")
			s.r.Operation = nil
			s.o.Volumes[0].Text, s.o.Volumes[0].Size = sizeAfter, 200*gib
			node := &s.o.Database.Nodes[2]
			node.DiskSize = c.sees
			s.r.Growth = &model.VolumeGrowth{Since: s.o.At, Nodes: []model.GrowingNode{{Name: node.Name, Set: hot, Ordinal: 2, Before: -1, Claims: 100 * gib}}}
			waits := ""
			for _, r := range s.decide().Waits {
				if r.Name == "size-not-visible" {
					waits = r.Message
				}
			}
			assert.Equal(t, c.waits != "", waits != "", waits)
			assert.Contains(t, waits, c.waits)
		})
	}
}

// All pods of a push were restarted for its memory, and the report of its volumes said that none was.
func TestTheReportOfAGrowthKnowsOfRestartsThatWereForSomethingElse(t *testing.T) {
	for _, restarted := range []bool{false, true} {
		s := atStep(t, "")
		s.r.Operation = nil
		s.o.Volumes[0].Text, s.o.Volumes[0].Size = sizeAfter, 200*gib
		node := &s.o.Database.Nodes[2]
		node.DiskSize = 200 * gib
		s.r.Growth = &model.VolumeGrowth{Since: s.o.At.Add(-time.Minute), Nodes: []model.GrowingNode{{Name: node.Name, Set: hot, Ordinal: 2, Before: 100 * gib, Claims: 100 * gib}}}
		for i := range s.o.Pods {
			s.o.Pods[i].Created = s.o.At.Add(-time.Hour)
		}
		want := "the volumes have the desired size, 100.0 GiB more on 1 node, and no pod was restarted for it"
		if restarted {
			s.o.Pods[2].Created = s.o.At.Add(-time.Second)
			want += "; those that restarted meanwhile did so for something else"
		}
		said := ""
		for _, r := range s.decide().Reports {
			if strings.HasPrefix(r.Reason, "VolumesGrown") {
				said = r.Message
			}
		}
		assert.Equal(t, want, said)
	}
}

// Other volumes were desired, and then a larger size of those that are there.
func TestAReplacementHasNotSucceededBeforeEachFileSystemHasItsSize(t *testing.T) {
	for _, c := range []struct {
		name     string
		change   func(s *situation)
		succeeds bool
	}{
		{"each volume has its size", func(s *situation) { s.r.Growth = nil }, true},
		{"the pod of a claim has still to start", func(s *situation) {
			s.o.Claims[2].Capacity, s.o.Claims[2].Resize = 100*gib, model.ResizeNode
			s.o.Pods[2].Phase, s.o.Pods[2].Started = "Pending", time.Time{}
		}, false},
		{"the same, and other volumes were desired meanwhile, so that the growth was forgotten (6021016996)", func(s *situation) {
			s.r.Growth = nil
			s.o.Claims[2].Capacity, s.o.Claims[2].Resize = 100*gib, model.ResizeNode
			s.o.Pods[2].Phase, s.o.Pods[2].Started = "Pending", time.Time{}
		}, false},
		{"a volume is larger, and CrateDB does not see it yet", func(s *situation) {
			s.r.Growth.Nodes = []model.GrowingNode{{Name: s.o.Pods[2].NodeName, Set: hot, Ordinal: 2, Claims: 100 * gib}}
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := atStep(t, "")
			s.r.Operation, s.r.Growth, s.r.Replacing = nil, &model.VolumeGrowth{Since: s.o.At}, &model.VolumeReplacement{Desired: "others"}
			s.o.Volumes[0].Text, s.o.Volumes[0].Size = sizeAfter, 200*gib
			c.change(s)
			d := s.decide()
			told := slices.ContainsFunc(d.Reports, func(r model.Report) bool { return r.Reason == "VolumesReplaced" })
			assert.Equal(t, c.succeeds, told)
			assert.Equal(t, c.succeeds, d.Record.Replacing == nil)
		})
	}
}
