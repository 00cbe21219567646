package ops_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
)

// What the simulation has found of disks that come and go.

// raisedTo has somebody raise the StatefulSet, whose further pods are there up to a count.
func (s *situation) raisedTo(replicas, pods int) {
	s.o.Sets[0].Replicas, s.o.Sets[0].Current = replicas, pods
	for len(s.o.Pods) < pods {
		p, n := s.o.Pods[len(s.o.Pods)-1], len(s.o.Pods)
		p.Ordinal, p.Name, p.UID, p.NodeName = n, hot+"-"+string(rune('0'+n)), "raised", hot+"/"+string(rune('0'+n))
		s.o.Pods = append(s.o.Pods, p)
		s.claim("data0", n)
		s.joins(p.Name)
	}
}

// Somebody raises a StatefulSet while its pods have not all the same disks: the new pod does not come, or
// has come, and the StatefulSet is recreated with as many replicas as it had.
func TestAStatefulSetThatSomebodyHasRaisedIsRecreatedAsItIs(t *testing.T) {
	for _, c := range []struct {
		name   string
		so     func(s *situation)
		begins bool
	}{
		{"the further pod is held back", func(s *situation) { s.mixed(0); s.raisedTo(4, 3) }, true},
		{"a pod has the disk that the StatefulSet is without", func(s *situation) {
			s.o.Pods[0].Volumes = "data0,data1"
			s.claim("data1", 0)
			s.raisedTo(4, 4)
		}, true},
		{"no pod has it: what somebody has raised is settled before", func(s *situation) { s.raisedTo(4, 4) }, false},
		{"its controller has not taken that in", func(s *situation) {
			s.o.Pods[0].Volumes = "data0,data1"
			s.claim("data1", 0)
			s.raisedTo(4, 4)
			s.o.Sets[0].Generation++
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := moreDisks(t)
			c.so(s)
			d := s.decide()
			require.Equal(t, c.begins, kindOf(d) == model.OperationExpand, "%v %v", d.Waits, d.Refusals)
			if !c.begins {
				return
			}
			s.r = d.Record
			next := *s.r.Operation
			next.Step, s.r.Operation, s.o.Sets, s.o.Volumes = model.StepRecreate, &next, nil, nil
			assert.Equal(t, 4, setOf(s.decide()).Replicas)
		})
	}
}

// A pod that is held back may be what the cluster lacks for a master. Until one is there no lock is given
// back, and the recreation that brings the pod does not wait for that.
func TestARecreationThatBringsTheMasterBackDoesNotWaitForTheLock(t *testing.T) {
	for _, c := range []struct {
		name   string
		so     func(s *situation)
		begins bool
	}{
		{"nobody answers", func(s *situation) { s.o.Database = model.Database{At: s.o.At, Contact: model.No} }, true},
		{"there is a master: it is given back first", func(*situation) {}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := moreDisks(t)
			s.mixed(1)
			s.vanished(2)
			s.r.Lock = &model.AllocationLock{Set: hot, Before: "all", Value: "primaries"}
			s.o.Database.Allocation, s.o.Sets[0].Hold = "primaries", "held"
			s.r.Operation = &model.Operation{Kind: model.OperationRestart, Step: model.StepStable, Started: s.o.At, Revision: s.d.Revision, Restart: &model.Restart{Set: hot, Since: s.o.At}}
			c.so(s)
			var d model.Decision
			for range 3 {
				d = s.decide()
				s.r = d.Record
			}
			assert.Equal(t, c.begins, kindOf(d) == model.OperationExpand, "%v %v", d.Waits, d.Refusals)
		})
	}
}

// A pod that is not ready for long is restarted before those that lack a disk: their restart waits for it.
func TestAPodThatIsNotReadyForLongGoesBeforeThoseThatLackADisk(t *testing.T) {
	added := func(t *testing.T) *situation {
		s := moreDisks(t)
		s.mixed(0)
		s.d.Changes, s.o.Sets[0].Template = nil, "t2"
		s.o.Pods[0].Template = "t2"
		return s
	}
	lost := func(t *testing.T) *situation {
		s := oneDiskMore(t)
		s.o.Pods[1].Unused, s.o.Pods[2].Template = "data1", "t1"
		return s
	}
	for _, c := range []struct {
		name string
		make func(*testing.T) *situation
		up   time.Duration
		next string
	}{
		{"for an hour", added, time.Hour, hot + "-2"},
		{"for a moment: it may become so", added, time.Second, ""},
		{"for an hour, and another one has lost the disk that it had (6200261740)", lost, time.Hour, hot + "-2"},
		{"for a moment, and another one has lost the disk that it had", lost, time.Second, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := c.make(t)
			p := &s.o.Pods[2]
			p.Ready, p.Created, p.Started = false, s.o.At.Add(-c.up), s.o.At.Add(-c.up)
			s.o.Applied = model.Applied{Revision: s.d.Revision, Effective: model.Effective{Sets: []model.EffectiveSet{{Name: hot}}}}
			d := s.decide()
			require.Equal(t, model.OperationRestart, kindOf(d), "%v %v", d.Waits, d.Refusals)
			assert.Equal(t, c.next, d.Record.Operation.Restart.Pod, "%v", d.Waits)
		})
	}
}

// File systems of a driver that works offline follow where pods restart, and a further disk waits for them:
// that restart is not held back for the disk.
func TestAFurtherDiskDoesNotHoldUpTheRestartThatItWaitsFor(t *testing.T) {
	s := moreDisks(t)
	s.d.Operations.OfflineResize = model.OfflineRestart
	for i := range s.d.Volumes {
		s.d.Volumes[i].Text, s.d.Volumes[i].Size = sizeAfter, 200*gib
	}
	s.o.Volumes[0].Text, s.o.Volumes[0].Size = sizeAfter, 200*gib
	for i := range s.o.Claims {
		c := &s.o.Claims[i]
		c.Requested, c.Resize, c.Follows = 200*gib, model.ResizeNode, s.o.At.Add(-20*time.Minute)
	}
	for i := range s.o.Pods {
		s.o.Pods[i].Created = s.o.At.Add(-time.Hour)
		s.o.Pods[i].Started = s.o.Pods[i].Created
	}
	s.r.Growth = &model.VolumeGrowth{Sizes: hot + ":data0=" + sizeAfter, Offline: []string{"fast"}}
	for range 3 {
		s.r = s.decide().Record
	}
	assert.Equal(t, model.OperationRestart, kindOf(model.Decision{Record: s.r}))
}

// A claim that was made for a further disk, and for which no pod has come yet, has no volume: Kubernetes
// makes none of it larger, and nobody waits for one that no pod uses.
func TestAClaimWithoutAPodHoldsUpNoGrowth(t *testing.T) {
	for _, c := range []struct {
		name  string
		so    func(s *situation, c *model.Claim)
		asked bool
		told  bool
	}{
		{"it has no volume", func(_ *situation, c *model.Claim) { c.Phase = "Pending" }, false, true},
		{"it has one, which grows with the others", func(*situation, *model.Claim) {}, true, false},
		{"that has grown, and its file system follows once a pod has it", func(_ *situation, c *model.Claim) { c.Requested, c.Resize = 200*gib, model.ResizeNode }, false, true},
		{"the same, and a pod has had it: its StatefulSet gets the disk once what grows has grown", func(s *situation, c *model.Claim) {
			c.Requested, c.Resize = 200*gib, model.ResizeNode // seed 6026023008
			s.r.Growth.Pending = []model.PendingFileSystem{{Claim: c.Name, Since: s.o.At.Add(-time.Hour)}}
		}, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := moreDisks(t)
			for i := range s.d.Volumes {
				s.d.Volumes[i].Text, s.d.Volumes[i].Size = sizeAfter, 200*gib
			}
			s.o.Volumes[0].Text, s.o.Volumes[0].Size = sizeAfter, 200*gib
			for i := range s.o.Claims {
				s.o.Claims[i].Requested, s.o.Claims[i].Capacity = 200*gib, 200*gib
			}
			claim := s.claim("data1", 1)
			claim.ClusterID, claim.Version = "", ""
			s.r.Growth = &model.VolumeGrowth{Sizes: hot + ":data0=" + sizeAfter, Grown: s.o.At.Add(-time.Hour)}
			c.so(s, claim)
			d := s.decide()
			s.r = d.Record
			assert.Equal(t, c.asked, slices.Contains(kinds(s.decide()), model.ActionGrowClaim))
			assert.Equal(t, c.told, slices.ContainsFunc(d.Reports, func(r model.Report) bool { return r.Reason == "VolumesGrown" }), "%v", d.Waits)
		})
	}
}

// fewerDisks is a cluster of three nodes with two disks each, which are to have one.
func fewerDisks(t *testing.T) *situation {
	s := moreDisks(t)
	s.mixed(0, 1, 2)
	s.d.Volumes, s.d.Revision = s.d.Volumes[:1], "rev-fewer"
	s.d.Changes = []model.Change{{Class: model.ChangeFewerDisks, Set: hot, Path: "spec.volumeClaimTemplates[data1]"}}
	s.r.Removing = &model.DiskRemoval{Desired: hot + " data0=100Gi"}
	s.o.Applied.Revision = s.d.Revision
	return s
}

// A node has fewer disks than when its volumes began to grow: CrateDB does not see what it had with them.
func TestANodeThatDoesWithoutADiskByNowHasSeenItsGrowth(t *testing.T) {
	for _, unused := range []string{"data1", ""} {
		s := fewerDisks(t)
		s.d.Volumes[0].Text, s.d.Volumes[0].Size = sizeAfter, 200*gib
		s.o.Volumes[0].Text, s.o.Volumes[0].Size = sizeAfter, 200*gib
		for i := range s.o.Claims {
			if c := &s.o.Claims[i]; c.Template == "data0" {
				c.Requested, c.Capacity = 200*gib, 200*gib
			}
		}
		p := &s.o.Pods[0]
		p.Unused = unused
		s.r.Removing.Done = p.UID
		i := slices.IndexFunc(s.o.Database.Nodes, func(n model.Node) bool { return n.Name == p.NodeName })
		s.o.Database.Nodes[i].DiskSize = 200 * gib
		s.r.Growth = &model.VolumeGrowth{Sizes: hot + ":data0=" + sizeAfter, Grown: s.o.At, Nodes: []model.GrowingNode{{Name: p.NodeName, Set: hot, Before: 200 * gib, Claims: 100 * gib}}}
		d := s.decide()
		assert.Equal(t, unused == "", slices.Contains(reasons(d.Waits), "size-not-visible"), "%v", d.Waits)
	}
}

// The end of a removal is told when no StatefulSet has other disks than desired, by then.
func TestARemovalOfDisksEndsWhenEachNodeHasWhatIsDesired(t *testing.T) {
	for _, c := range []struct {
		name string
		so   func(s *situation)
		told bool
	}{
		{"each has it", func(s *situation) { s.o.Volumes = s.o.Volumes[:1] }, true},
		{"a further one is desired by now", func(s *situation) {
			s.o.Volumes = s.o.Volumes[:1]
			s.d.Volumes = append(s.d.Volumes, diskOf("data2"))
			s.d.Changes = []model.Change{{Class: model.ChangeDisks, Set: hot, Path: "spec.volumeClaimTemplates[data2]"}}
		}, false},
		{"a StatefulSet has more", func(*situation) {}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := fewerDisks(t)
			s.d.Changes = nil
			for i := range s.o.Pods {
				s.o.Pods[i].Volumes, s.o.Pods[i].Unused = "data0", ""
			}
			c.so(s)
			d := s.decide()
			assert.Equal(t, c.told, slices.ContainsFunc(d.Reports, func(r model.Report) bool { return r.Reason == "DisksRemoved" }), "%v", d.Waits)
			assert.Equal(t, c.told, d.Record.Removing == nil)
		})
	}
}

// A group without nodes has no pod that uses a disk.
func TestAGroupWithoutNodesIsRecreatedWithoutADisk(t *testing.T) {
	for _, suspended := range []bool{false, true} {
		s := fewerDisks(t)
		other := func(list []model.VolumeTemplate, name string) []model.VolumeTemplate {
			w := diskOf(name)
			w.Set = warm
			return append(list, w)
		}
		s.d.Volumes = other(append(s.d.Volumes, diskOf("data1")), "data0")
		s.o.Volumes = other(other(s.o.Volumes, "data0"), "data1")
		s.d.Sets = append(slices.Clone(s.d.Sets), model.Set{Name: warm, Group: "warm", Data: true})
		s.r.Sets = append(slices.Clone(s.r.Sets), model.RecordedSet{Name: warm, Group: "warm"})
		set := s.o.Sets[0]
		set.Name, set.UID, set.Replicas, set.Current, set.Group = warm, "uid-warm", 0, 0, "warm"
		s.o.Sets = append(slices.Clone(s.o.Sets), set)
		s.d.Changes[0].Set = warm
		if suspended {
			s.r.Suspended = []model.RecordedSet{{Name: warm, Replicas: 1}}
		}
		d := s.decide()
		assert.Equal(t, !suspended, kindOf(d) == model.OperationExpand, "%v %v", d.Waits, d.Refusals)
	}
}

// A pause meets the moment in which a template does without a disk: the node stays excluded until the
// template has it again, so that no shard comes to a node whose pod comes back without it. The same where
// the restart of another pod has stopped.
func TestAPausedRemovalGivesTheExclusionBackOnceTheTemplateHasItsDisks(t *testing.T) {
	for _, c := range []struct {
		name   string
		paused bool
		step   string
		unused string
		taken  int64
		given  bool
	}{
		{"paused, the template does without it", true, model.StepLock, "data1", 0, false},
		{"paused, its controller has not taken in that it has it again", true, model.StepLock, "", 1, false},
		{"paused, it has it again", true, model.StepLock, "", 0, true},
		{"the restart has stopped at another pod", false, model.StepStopped, "", 0, true},
		{"the restart goes on", false, model.StepStable, "", 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := fewerDisks(t)
			p := &s.o.Pods[0]
			id := s.nodeID(p.Name)
			s.d.Paused = c.paused
			s.o.Database.Settings.Exclude = map[string]string{"_id": id}
			s.r.Exclusions = &model.Exclusions{Set: hot, IDs: id, Replaces: p.UID}
			s.r.Operation = &model.Operation{Kind: model.OperationRestart, Step: c.step, Started: s.o.At, Revision: s.d.Revision, Restart: &model.Restart{Set: hot, Pod: p.Name, PodUID: p.UID, Removes: p.UID, Since: s.o.At}}
			if c.step == model.StepStopped {
				r := s.r.Operation.Restart
				r.Pod, r.PodUID, r.Removes = hot+"-1", "before", ""
				s.away(hot + "-1")
			}
			s.o.Sets[0].Unused = c.unused
			s.o.Sets[0].Generation += c.taken
			d := s.decide()
			assert.Equal(t, c.given, slices.Contains(kinds(d), model.ActionIncludeNodes), "%v %v", d.Waits, kinds(d))
		})
	}
}

// `system` is denied a table after its node was found empty: what it cannot see may be on the disk that the
// pod comes back without.
func TestNoPodComesBackWithoutADiskWhileSystemDoesNotSeeAllShards(t *testing.T) {
	for _, c := range []struct {
		name string
		see  func(db *model.Database)
		rule string
	}{
		{"a table is denied", func(db *model.Database) {
			db.DeniedKnown, db.Denied = true, []model.Denial{{Grantee: "system", Privilege: "DQL", Class: "TABLE", Ident: "doc.one"}}
		}, "system-denied"},
		{"what is denied is not known", func(db *model.Database) { db.DeniedKnown = false }, "privileges-known"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := twoDisksWorld(t)
			w.desired = disked(w.desired, 1, sizeBefore)
			for i := 0; i < 400 && (w.record.Operation == nil || w.record.Operation.Restart == nil); i++ {
				_, _ = w.pass()
			}
			require.Equal(t, model.OperationRestart, w.record.Operation.Kind)
			w.see = c.see
			said := false
			for range 60 {
				d, _ := w.pass()
				said = said || slices.Contains(reasons(append(slices.Clone(d.Refusals), d.Waits...)), c.rule)
			}
			assert.True(t, said)
			for name, p := range w.pods {
				assert.Zero(t, p.restarts, name)
			}
			w.see = nil
			w.run(900)
			checkFewer(t, w)
		})
	}
}

// A pause or a daemon that has died ends a restart in the moment in which the template does without a disk.
// The budget stays closed until the template has it again, though nothing else keeps it closed.
func TestTheBudgetStaysClosedWhileTheNextPodComesWithoutADisk(t *testing.T) {
	for _, unused := range []string{"data1", ""} {
		s := fewerDisks(t)
		s.o.Sets[0].Unused = unused
		b := s.decide().Effective.Budgets[0]
		assert.Equal(t, unused != "", b.MaxUnavailable == 0 || b.MinAvailable > 0, "%+v", b)
	}
}

// A node was emptied for fewer disks, and then a shard has come back, while another template is due: it is
// not excluded any more, for its exclusion would keep copies off it for which the restart waits.
func TestANodeThatKeepsItsDisksIsNotExcludedForThem(t *testing.T) {
	for _, shards := range []bool{true, false} {
		s := fewerDisks(t)
		p := &s.o.Pods[0]
		id := s.nodeID(p.Name)
		s.d.Changes = append(s.d.Changes, model.Change{Class: model.ChangeRestart, Set: hot})
		if shards {
			s.o.Database.Shards = append(s.o.Database.Shards, model.Shard{Table: "doc.t", Node: id, Primary: true})
		}
		s.o.Database.Settings.Exclude = map[string]string{"_id": id}
		s.r.Exclusions = &model.Exclusions{Set: hot, IDs: id, Replaces: p.UID}
		s.r.Operation = &model.Operation{Kind: model.OperationRestart, Step: model.StepNext, Started: s.o.At, Revision: s.d.Revision, Restart: &model.Restart{Set: hot, Replaces: true, Removes: p.UID, Since: s.o.At}}
		d := s.decide()
		s.r = d.Record
		assert.Equal(t, shards, slices.Contains(append(kinds(d), kinds(s.decide())...), model.ActionIncludeNodes), "%v %v", d.Waits, kinds(d))
	}
}

// Somebody has deleted one claim of a pod, and its other one goes by consent: the node stays excluded,
// though nobody has agreed to lose the first.
func TestANodeStaysExcludedWhileOneOfItsVolumesGoes(t *testing.T) {
	for _, agreed := range []bool{true, false} {
		s := moreDisks(t)
		s.mixed(0, 1, 2)
		p := &s.o.Pods[0]
		id := s.nodeID(p.Name)
		for i := range s.o.Claims {
			if c := &s.o.Claims[i]; c.Ordinal == 0 {
				c.Terminating, c.Deleted, c.Replace = true, s.o.At, agreed && c.Template == "data0"
			}
		}
		s.o.Database.Settings.Exclude = map[string]string{"_id": id}
		s.r.Exclusions = &model.Exclusions{Set: hot, IDs: id, Replaces: p.UID}
		d := s.decide()
		assert.Equal(t, !agreed, slices.Contains(kinds(d), model.ActionIncludeNodes), "%v %v", d.Waits, kinds(d))
	}
}

// A pod lacks a disk, and its claim may not be there: the StatefulSet is recreated for something else
// without it.
func TestTheClaimOfADiskThatAPodLacksHoldsUpNoRecreation(t *testing.T) {
	for _, c := range []struct {
		name   string
		lacks  int
		begins bool
	}{
		{"the pod lacks the disk", 1, true},
		{"it has the disk, and its claim is not seen yet", 2, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := moreDisks(t)
			s.mixed(0, 2)
			s.o.Claims = slices.DeleteFunc(s.o.Claims, func(k model.Claim) bool { return k.Template == "data1" && k.Ordinal == 2 })
			if c.lacks == 1 {
				s.claim("data1", 2)
			}
			for i := range s.d.Volumes {
				s.d.Volumes[i].Text, s.d.Volumes[i].Size = sizeAfter, 200*gib
			}
			for i := range s.o.Claims {
				s.o.Claims[i].Requested, s.o.Claims[i].Capacity = 200*gib, 200*gib
			}
			d := s.decide()
			assert.Equal(t, c.begins, kindOf(d) == model.OperationExpand, "%v %v", d.Waits, d.Refusals)
		})
	}
}

// Nodes come once all pods have the same disks. A restart that brings the disk does not make room for them.
func TestARestartForADiskDoesNotGiveWayToNodesThatWaitForIt(t *testing.T) {
	for _, mixed := range []bool{true, false} {
		s := moreDisks(t)
		if s.mixed(0); !mixed {
			s.o.Volumes, s.d.Volumes, s.o.Pods[0].Volumes = s.o.Volumes[:1], s.d.Volumes[:1], "data0"
		}
		s.d.Sets = slices.Clone(s.d.Sets)
		s.d.Sets[0].Replicas = 5
		s.o.Database.Tables = append(s.o.Database.Tables, model.Table{Name: "doc.many", Replicas: "3", TotalShardsPerNode: -1})
		s.o.Database.Health.Colour, s.o.Database.ClusterHealth.Colour = model.Yellow, model.Yellow
		s.o.Database.Shards = append(s.o.Database.Shards, model.Shard{Table: "doc.many", Node: s.nodeID(hot + "-0"), Primary: true})
		s.r.Operation = &model.Operation{Kind: model.OperationRestart, Step: model.StepNext, Started: s.o.At, Revision: s.d.Revision, Restart: &model.Restart{Set: hot, Since: s.o.At}}
		d := s.decide()
		assert.Equal(t, mixed, kindOf(d) == model.OperationRestart, "%v %v", d.Waits, d.Refusals)
	}
}

// A pod has a disk whose claim template its StatefulSet is without, and claims grow that wait for a restart: the claim
// template comes back first, and alone. The restart would bring the pod back without the disk.
func TestADiskComesBackAlsoWhereClaimsGrowThatWaitForARestart(t *testing.T) {
	s := moreDisks(t)
	s.o.Pods[0].Volumes = "data0,data1"
	s.claim("data1", 0)
	s.d.Operations.OfflineResize = model.OfflineRestart
	for i := range s.d.Volumes {
		s.d.Volumes[i].Text, s.d.Volumes[i].Size = sizeAfter, 200*gib
	}
	for i := range s.o.Claims {
		c := &s.o.Claims[i]
		c.Requested, c.Resize, c.Follows = 200*gib, model.ResizeNode, s.o.At.Add(-20*time.Minute)
	}
	s.r.Growth = &model.VolumeGrowth{Sizes: hot + ":data0=" + sizeAfter, Offline: []string{"fast"}}
	d := s.decide()
	require.Equal(t, model.OperationExpand, kindOf(d), "%v %v", d.Waits, d.Refusals)
	size := func(disk string) string {
		text, _ := d.Record.Operation.Recreation.Sizes.Size(disk)
		return text
	}
	assert.Equal(t, []string{sizeBefore, sizeBefore}, []string{size("data0"), size("data1")}, "both become larger once the claims are")
}
