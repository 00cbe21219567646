package ops_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/setting"
)

// A pod has come back without a disk, and nobody has found its node empty: its restart brings back what is
// on that. Only where shards are missing it does not wait until the cluster has stood for a while.
func TestAPodThatCameBackWithoutADiskKeepsThePaceOfARestart(t *testing.T) {
	for _, c := range []struct {
		name   string
		colour model.Colour
		stood  time.Duration
		step   string
	}{
		{"all is well", model.Green, time.Second, model.StepStable},
		{"shards are missing", model.Red, time.Second, model.StepNext},
		{"copies are missing", model.Yellow, time.Second, model.StepStable},
		{"copies are missing, and the same nodes have been there for a while", model.Yellow, time.Hour, model.StepStable},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := fewerDisks(t)
			s.o.Pods[2].Unused = "data1"
			since := s.o.At.Add(-c.stood)
			s.o.Database.Health.Colour, s.o.Database.ClusterHealth.Colour = c.colour, c.colour
			s.o.Stable = model.Stability{Since: since, Same: since, Unchanged: s.o.At}
			s.r.Operation = &model.Operation{Kind: model.OperationRestart, Step: model.StepStable, Started: since, Revision: s.d.Revision, Restart: &model.Restart{Set: hot, Pod: hot + "-0", PodUID: "before", Since: since}}
			d := s.decide()
			require.Equal(t, model.OperationRestart, kindOf(d))
			assert.Equal(t, c.step, d.Record.Operation.Step, "%v", d.Waits)
		})
	}
}

// oneDiskMore has pods that all have their further disk.
func oneDiskMore(t *testing.T) *situation {
	s := moreDisks(t)
	s.mixed(0, 1, 2)
	s.o.Sets[0].Template, s.d.Changes = "t2", nil
	for i := range s.o.Pods {
		s.o.Pods[i].Template = "t2"
	}
	return s
}

// A pod that had a further disk already vanishes while the template of its StatefulSet does not mount that,
// and comes back without it. Its restart brings back what is on the disk, and does not wait for that.
func TestAPodThatHasLostAFurtherDiskGetsItBackWhileShardsAreMissing(t *testing.T) {
	unmounted := func(p *model.Pod) { p.Unused = "data1" }
	without := func(p *model.Pod) { p.Volumes = "data0" }
	for _, c := range []struct {
		name  string
		lacks func(p *model.Pod)
		blank bool
		next  string
	}{
		{"CrateDB has written on it", unmounted, false, hot + "-1"},
		{"it has never been used: something else is missing", unmounted, true, ""},
		{"its StatefulSet was recreated without it: CrateDB has written on it", without, false, hot + "-1"},
		{"its StatefulSet was recreated without it: it has never been used", without, true, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := oneDiskMore(t)
			s.o.Pods[1].Template = "t1"
			c.lacks(&s.o.Pods[1])
			if claim := &s.o.Claims[4]; c.blank {
				claim.ClusterID, claim.Version = "", ""
			}
			s.o.Database.Health.Colour, s.o.Database.ClusterHealth.Colour = model.Red, model.Red
			s.o.Applied = model.Applied{Revision: s.d.Revision, Effective: model.Effective{Sets: []model.EffectiveSet{{Name: hot}}}}
			d := s.decide()
			require.Equal(t, model.OperationRestart, kindOf(d), "%v %v", d.Waits, d.Refusals)
			assert.Equal(t, c.next, d.Record.Operation.Restart.Pod, "%v", d.Waits)
		})
	}
}

// Seed 6000009189: a StatefulSet was recreated without a disk that a pod had, and an eviction brought that pod back without
// it. The only copy of a shard was on the disk: the disk waited for green, and the status named no claim.
func TestADiskThatMayHaveWhatIsMissingComesBackThoughTheHealthIsRed(t *testing.T) {
	for _, c := range []struct {
		name          string
		colour        model.Colour
		so            func(s *situation)
		begins, names bool
	}{
		{"CrateDB has written on it", model.Red, func(*situation) {}, true, true},
		{"only copies are missing", model.Yellow, func(*situation) {}, false, false},
		{"CrateDB has never written on it", model.Red, func(s *situation) {
			c := &s.o.Claims[len(s.o.Claims)-1]
			c.ClusterID, c.Version = "", ""
		}, false, false},
		{"it is not desired any more", model.Red, func(s *situation) { s.d.Volumes, s.d.Changes = s.d.Volumes[:1], nil }, false, true},
		{"it is the disk of a node that has left", model.Red, func(s *situation) { s.o.Claims[len(s.o.Claims)-1].Ordinal = 7 }, false, true},
		{"it is the disk of a pod that is to come", model.Red, func(s *situation) { s.vanished(0) }, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := moreDisks(t)
			s.claim("data1", 0)
			for i := range s.o.Claims {
				s.o.Claims[i].Made = s.o.At.Add(-time.Hour)
			}
			c.so(s)
			s.o.Database.Health.Colour, s.o.Database.Health.Missing = c.colour, 1
			d := s.decide()
			assert.Equal(t, c.begins, kindOf(d) == model.OperationExpand, "%v %v", d.Waits, d.Refusals)
			assert.Equal(t, c.names, strings.Contains(waitsWith(d, "tables-red"), "may be there: data1-"+hot+"-0"), "%v", d.Waits)
		})
	}
}

// A StatefulSet has the claim template of a disk back, and mounts that only when the restart goes on. No pod
// is recreated meanwhile that would come back without what is on its disk.
func TestAPodIsNotRecreatedOnATemplateThatDoesNotMountItsDisk(t *testing.T) {
	for _, c := range []struct {
		name     string
		so       func(s *situation)
		replaced bool
	}{
		{"CrateDB has written on it", func(*situation) {}, false},
		{"nothing is on it", func(s *situation) {
			for i := range s.o.Claims {
				if k := &s.o.Claims[i]; k.Template == "data1" {
					k.ClusterID, k.Version = "", ""
				}
			}
		}, true},
		{"the template mounts it", func(s *situation) { s.o.Sets[0].Unused = "" }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := moreDisks(t)
			s.mixed(0)
			s.d.Changes, s.d.Abort = nil, true
			p := &s.o.Pods[0]
			s.away(p.Name)
			p.Template, p.Waiting, p.Started = "t2", "CrashLoopBackOff", time.Time{}
			s.o.Sets[0].Unused = "data1"
			c.so(s)
			s.o.Applied.Effective = s.decide().Effective
			d := s.decide()
			assert.Equal(t, c.replaced, d.Disruptive != nil, "%v %v", d.Waits, d.Refusals)
		})
	}
}

// Until the next restart a pod that goes would come back without its disk: no snapshot goes before that.
func TestASnapshotDoesNotGoBeforeARestartWithoutWhichADiskIsLost(t *testing.T) {
	for _, c := range []struct {
		name   string
		unused string
		first  bool
	}{
		{"the template does without a disk", "data1", false},
		{"the template has all disks", "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := moreDisks(t)
			s.mixed(0)
			snapshotRuns(s)
			s.o.Sets[0].Unused = c.unused
			d := s.decide()
			assert.Equal(t, c.first, slices.Contains(reasons(d.Waits), "snapshot-first"), "%v", reasons(d.Waits))
		})
	}
}

// While another pod goes, tables would be short of the copies that the drained node may not have.
func TestThePodOfADrainedNodeGoesFirst(t *testing.T) {
	for _, c := range []struct {
		name string
		so   func(s *situation, p *model.Pod)
		set  string
	}{
		{"none is drained", func(*situation, *model.Pod) {}, hot},
		{"one comes back with other disks", func(s *situation, p *model.Pod) { s.r.Operation.Restart.Removes = p.UID }, warm},
		{"one comes back onto another volume", func(s *situation, p *model.Pod) {
			s.o.Claims = append(s.o.Claims, model.Claim{Name: "data0-" + p.Name, Set: warm, Template: "data0", Terminating: true, Replace: true, Deleted: s.o.At})
		}, warm},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := twoGroups(t)
			s.pending(model.ChangeRestart)
			p := s.podOf(warm + "-0")
			p.Volumes = "data0,data1"
			for _, set := range []string{hot, warm} {
				s.d.Volumes = append(s.d.Volumes, model.VolumeTemplate{Set: set, Name: "data0"})
				s.o.Volumes = append(s.o.Volumes, model.VolumeTemplate{Set: set, Name: "data0"})
			}
			s.o.Volumes = append(s.o.Volumes, model.VolumeTemplate{Set: warm, Name: "data1"})
			i := slices.IndexFunc(s.o.Database.Nodes, func(n model.Node) bool { return n.Name == p.NodeName })
			s.r.Exclusions = &model.Exclusions{Set: warm, IDs: s.o.Database.Nodes[i].ID, Replaces: p.UID}
			s.o.Database.Settings.Exclude = map[string]string{"_id": s.o.Database.Nodes[i].ID}
			s.r.Operation = &model.Operation{Kind: model.OperationRestart, Step: model.StepNext, Started: s.o.At, Revision: s.d.Revision, Restart: &model.Restart{Replaces: true, Since: s.o.At}}
			c.so(s, p)
			d := s.decide()
			require.Equal(t, model.OperationRestart, kindOf(d), "%v %v", d.Waits, d.Refusals)
			assert.Equal(t, c.set, d.Record.Operation.Restart.Set, "%v", d.Waits)
		})
	}
}

// Seed 6000065534: a pod with a further disk does not run, another has lost its volume with its machine, and somebody raised the
// replicas, for which the StatefulSet was recreated without the disk. Until it has that again the pod is not recreated, and
// without it there is no master, which gives back what is held.
func TestADiskComesBackWithoutAMasterWhateverIsHeld(t *testing.T) {
	for _, c := range []struct {
		name   string
		so     func(s *situation)
		begins model.OperationKind
	}{
		{"the allocation lock", func(s *situation) { s.r.Lock = &model.AllocationLock{Set: hot, Value: "primaries", Before: "all"} }, model.OperationExpand},
		{"an exclusion", func(s *situation) { s.r.Exclusions = &model.Exclusions{Set: hot, IDs: "gone"} }, model.OperationExpand},
		{"the lock, and there is a master", func(s *situation) {
			s.r.Lock, s.o.Database.MasterNode = &model.AllocationLock{Set: hot, Value: "primaries", Before: "all"}, s.o.Database.Nodes[0].ID
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := moreDisks(t)
			s.o.Pods[0].Volumes = "data0,data1"
			s.claim("data1", 0)
			s.away(hot + "-0")
			p := &s.o.Pods[0]
			p.Template, p.Waiting, p.Created = "t2", "CrashLoopBackOff", s.o.At.Add(-time.Hour)
			for i := range s.d.Sets {
				s.d.Sets[i].MasterEligible = true
			}
			s.o.Database.MasterNode = ""
			c.so(s)
			d := s.decide()
			assert.Equal(t, c.begins, kindOf(d), "%v %v", d.Waits, d.Refusals)
		})
	}
}

// Seed 6000075201: a release came in the moment in which a template did without a disk, and right after a live setting was
// set, which each StatefulSet says. The one that has all its disks was written too.
func TestAReleaseWritesOnlyTheStatefulSetWhoseTemplateLacksADisk(t *testing.T) {
	s := twoGroups(t)
	for _, set := range []string{hot, warm} {
		s.d.Volumes = append(s.d.Volumes, model.VolumeTemplate{Set: set, Name: "data0"})
		s.o.Volumes = append(s.o.Volumes, model.VolumeTemplate{Set: set, Name: "data0"}, model.VolumeTemplate{Set: set, Name: "data1"})
	}
	for i := range s.o.Pods {
		s.o.Pods[i].Volumes = "data0,data1"
	}
	s.o.Sets[0].Unused, s.d.Released = "data1", true
	d := s.decide()
	require.True(t, d.Apply)
	for _, e := range d.Effective.Sets {
		assert.Equal(t, e.Name == warm, e.Gap, e.Name)
	}
}

// A node was emptied for fewer disks, and the record has its exclusion. A pause has given that back, and the record of it
// could not be written: CrateDB sends shards there, and the template does not do without a disk for its pod.
func TestAPodKeepsItsDisksOnceItsNodeTakesCopiesAgain(t *testing.T) {
	for _, c := range []struct {
		name  string
		see   func(db *model.Database, id string)
		keeps bool
	}{
		{"CrateDB excludes the node", func(db *model.Database, id string) { db.Settings.Exclude = map[string]string{"_id": "other," + id} }, false},
		{"it does not", func(db *model.Database, _ string) { db.Settings.Exclude = nil }, true},
		{"it excludes another one", func(db *model.Database, _ string) { db.Settings.Exclude = map[string]string{"_id": "other"} }, true},
		{"that is not known", func(db *model.Database, _ string) { db.Settings.Exclude, db.AllocationKnown = nil, false }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := fewerDisks(t)
			p := &s.o.Pods[0]
			id := s.nodeID(p.Name)
			c.see(&s.o.Database, id)
			s.r.Exclusions = &model.Exclusions{Set: hot, IDs: id, Replaces: p.UID}
			s.r.Lock = &model.AllocationLock{Set: hot, Value: setting.LockedAllocation, Before: setting.NormalAllocation}
			s.r.Operation = &model.Operation{Kind: model.OperationRestart, Step: model.StepLock, Started: s.o.At, Revision: s.d.Revision, Restart: &model.Restart{Set: hot, Pod: p.Name, PodUID: p.UID, Removes: p.UID, Narrow: true, Since: s.o.At}}
			d := s.decide()
			assert.Equal(t, c.keeps, d.Effective.Sets[0].Unused == "", "%v %v", d.Waits, kinds(d))
			if c.keeps {
				assert.Empty(t, d.Record.Operation.Restart.Removes, "it is drained again")
			}
		})
	}
}

// The last look let a pod stay that was to come back without a disk. Somebody evicts it while the cluster is to be stable
// before the next one: nobody has asked then what is on its node, and it comes back with all its disks.
func TestAPodThatGoesAfterTheLastLookLetItStayHasAllItsDisks(t *testing.T) {
	for _, unseen := range []bool{true, false} {
		s := fewerDisks(t)
		p := s.o.Pods[0]
		s.r.Operation = &model.Operation{Kind: model.OperationRestart, Step: model.StepStable, Started: s.o.At, Revision: s.d.Revision, Restart: &model.Restart{Set: hot, Pod: p.Name, PodUID: p.UID, Removes: p.UID, Narrow: true, Unseen: unseen, Since: s.o.At}}
		s.away(p.Name)
		s.o.Pods = s.o.Pods[1:]
		d := s.decide()
		assert.Equal(t, unseen, d.Record.Operation.Step == model.StepDown, "%v", d.Waits)
		assert.Empty(t, d.Effective.Sets[0].Unused)
	}
}

// Seed 6410948130: of a pod with a disk whose claim template is to come back none else is made before that. An upgrade in which
// only such pods are left ends for the recreation, and begins again after it.
func TestAnUpgradeGivesWayWhereOnlyPodsAreLeftWhoseDiskIsToComeBack(t *testing.T) {
	for _, c := range []struct {
		name  string
		so    func(s *situation)
		stays bool
	}{
		{"only such a pod is left", func(*situation) {}, false},
		{"another pod is left", func(s *situation) { s.o.Pods[2].Template = "t1" }, true},
		{"nobody asks for the disk", func(s *situation) { s.d.Volumes, s.d.Changes = s.d.Volumes[:1], nil }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := moreDisks(t)
			s.d.Version, s.r.Version = "5.10.2", "5.10.1"
			for i := range s.o.Pods {
				s.o.Pods[i].Template = "t2"
			}
			s.o.Sets[0].Template = "t2"
			old := &s.o.Pods[0]
			old.Template, old.Volumes = "t1", "data0,data1"
			s.claim("data1", 0)
			s.r.Operation = &model.Operation{
				Kind: model.OperationUpgrade, Step: model.StepNext, Started: s.o.At, Revision: s.d.Revision, From: s.r.Sets, To: s.r.Sets,
				Upgrade: &model.Upgrade{OldVersion: "5.10.1", NewVersion: "5.10.2"}, Restart: &model.Restart{Set: hot, Since: s.o.At},
			}
			c.so(s)
			d := s.decide()
			assert.Equal(t, c.stays, d.Record.Operation != nil && d.Record.Operation.Kind == model.OperationUpgrade, "%v %v", d.Waits, d.Refusals)
		})
	}
}

// Seed 6420165973: a StatefulSet was made again for two of its three pods, and the volume of the third had the only copies. A
// pod lacked a disk, so that its restart went first, and waited for green.
func TestNodesThatBringMissingShardsBackComeBeforePodsGetTheirDisks(t *testing.T) {
	for _, c := range []struct {
		name   string
		so     func(s *situation)
		begins model.OperationKind
	}{
		{"tables are red", func(*situation) {}, model.OperationGrow},
		{"no shard is missing", func(s *situation) { s.o.Database.Health.Colour = model.Yellow }, model.OperationRestart},
		{"nobody has written on the volume", func(s *situation) {
			c := s.diskClaim("data0", 2)
			c.ClusterID, c.Version = "", ""
		}, model.OperationRestart},
		{"no more nodes are desired", func(s *situation) { s.d.Sets[0].Replicas = 2 }, model.OperationRestart},
	} {
		for _, runs := range []bool{false, true} {
			s := moreDisks(t)
			s.mixed(0)
			s.vanished(2)
			s.d.Sets, s.r.Sets = slices.Clone(s.d.Sets), slices.Clone(s.r.Sets)
			s.o.Sets[0].Replicas, s.o.Sets[0].Current, s.r.Sets[0].Replicas = 2, 2, 2
			s.o.Database.Health.Colour, s.o.Database.ClusterHealth.Colour = model.Red, model.Red
			c.so(s)
			if runs {
				s.r.Operation = &model.Operation{Kind: model.OperationRestart, Step: model.StepNext, Started: s.o.At, Revision: s.d.Revision, Restart: &model.Restart{Since: s.o.At}}
				s.r = s.decide().Record
			}
			assert.Equal(t, c.begins, kindOf(s.decide()), "%s, and a restart is under way: %t", c.name, runs)
		}
	}
}

// diskClaim is the claim of a pod for a disk, to be changed.
func (s *situation) diskClaim(template string, ordinal int) *model.Claim {
	return model.Find(s.o.Claims, func(c *model.Claim) bool { return c.Template == template && c.Ordinal == ordinal })
}
