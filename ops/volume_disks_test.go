package ops_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/aim"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/view"
)

const (
	oneDisk  = model.SizeList("data0=100Gi")
	twoDisks = model.SizeList("data0=100Gi,data1=100Gi")
)

// diskOf is a claim template of the group hot.
func diskOf(name string) model.VolumeTemplate {
	return model.VolumeTemplate{Set: hot, Name: name, Text: sizeBefore, Size: 100 * gib, Class: "fast"}
}

// moreDisks is a cluster of three nodes with one disk each, which are to have two.
func moreDisks(t *testing.T) *situation {
	s := made(t)
	s.d.Volumes = []model.VolumeTemplate{diskOf("data0"), diskOf("data1")}
	s.d.Storage = []model.ClaimClass{{Set: hot, Class: "fast", Claims: []string{"data0", "data1"}}}
	s.d.Revision = "rev-disks"
	s.d.Changes = []model.Change{{Class: model.ChangeDisks, Set: hot, Path: "spec.volumeClaimTemplates[data1]"}}
	s.o.Volumes = []model.VolumeTemplate{diskOf("data0")}
	s.o.Sets[0].Current = 3
	s.o.Claims = nil
	for i := range s.o.Pods {
		p := &s.o.Pods[i]
		p.Volumes, p.Controller = "data0", s.o.Sets[0].UID
		s.claim("data0", i)
	}
	s.o.At = s.o.At.Add(time.Hour)
	s.o.Database.At = s.o.At
	s.o.Applied.Revision = s.d.Revision
	return s
}

func (s *situation) claim(template string, ordinal int) *model.Claim {
	pod := s.o.Pods[0].Set + "-" + string(rune('0'+ordinal))
	s.o.Claims = append(s.o.Claims, model.Claim{
		Name: template + "-" + pod, Set: hot, Ordinal: ordinal, Template: template, Phase: "Bound", Class: "fast",
		Requested: 100 * gib, Capacity: 100 * gib, ClusterID: s.r.ClusterID, Version: s.r.HighestVersion,
	})
	return &s.o.Claims[len(s.o.Claims)-1]
}

// mixed has the StatefulSet recreated with both disks, which these pods have.
func (s *situation) mixed(restarted ...int) {
	s.o.Volumes = append(s.o.Volumes, diskOf("data1"))
	s.d.Changes = []model.Change{{Class: model.ChangeRestart, Set: hot, Path: "spec.template.spec.containers[crate].command[path.data]"}}
	for _, i := range restarted {
		s.o.Pods[i].Volumes = "data0,data1"
		s.claim("data1", i)
	}
}

// vanished takes a pod away.
func (s *situation) vanished(ordinal int) {
	s.away(s.o.Pods[ordinal].Name)
	s.o.Pods = slices.Delete(slices.Clone(s.o.Pods), ordinal, ordinal+1)
	s.o.Sets[0].Current--
	s.o.Database.Health.Colour, s.o.Database.ClusterHealth.Colour = model.Yellow, model.Yellow
}

func waitsWith(d model.Decision, rule string) string {
	out := ""
	for _, r := range d.Waits {
		if r.Name == rule {
			out += r.Message + "\n"
		}
	}
	return out
}

// What has to be so before a StatefulSet gets a further disk; and the gate never keeps what it waits for.
func TestADiskIsAddedOnceThePodsMayRestart(t *testing.T) {
	for _, c := range []struct {
		name   string
		so     func(s *situation)
		begins bool
		waits  string
	}{
		{"all is well", func(*situation) {}, true, ""},
		{"copies are missing", func(s *situation) { s.o.Database.Health.Colour = model.Yellow }, false, "health-green"},
		{"nobody answers", func(s *situation) { s.o.Database.Contact = model.No }, false, "no-contact"},
		{"a pod is not ready", func(s *situation) { s.o.Pods[1].Ready = false }, false, "nodes-joined"},
		{"a claim of data is not known", func(s *situation) { s.o.Claims = s.o.Claims[:2] }, false, "set-recreated"},
		{"volumes grow before", func(s *situation) {
			s.r.Growth = &model.VolumeGrowth{Sizes: "", Since: s.o.At, Grown: s.o.At, Nodes: []model.GrowingNode{{Name: s.o.Pods[0].NodeName, Set: hot, Before: -1}}}
		}, false, "size-not-visible"},
		{"claims from a try before are blank", func(s *situation) {
			c := s.claim("data1", 0)
			c.ClusterID, c.Version = "", ""
		}, true, ""},
		{"more nodes are desired: they come first", func(s *situation) { s.d.Sets[0].Replicas = 4 }, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := moreDisks(t)
			c.so(s)
			d := s.decide()
			op := d.Record.Operation
			assert.Equal(t, c.begins, op != nil && op.Kind == model.OperationExpand, "%v %v", d.Waits, d.Refusals)
			assert.Empty(t, d.Refusals)
			if c.begins {
				assert.Equal(t, twoDisks, op.Recreation.Sizes)
				assert.Positive(t, d.Effective.Budgets[0].MinAvailable)
			}
			if c.waits != "" {
				assert.Contains(t, reasons(d.Waits), c.waits)
			}
			assert.Equal(t, oneDisk, setOf(d).Sizes, "no template mounts what has no claim template yet")
		})
	}
}

func TestADiskThatCannotComeIsRefusedBeforeAnything(t *testing.T) {
	for _, c := range []struct {
		name   string
		so     func(s *situation)
		refuse string
	}{
		{"its class is there", func(s *situation) {
			s.o.Storage.Classes = append(s.o.Storage.Classes, gates.StorageClass{Name: "fast"})
		}, ""},
		{"its class is not there", func(*situation) {}, "storage-class-missing"},
		{"another node has written to a claim of its name", func(s *situation) { s.o.Storage.Known = false; s.claim("data1", 1) }, "disk-not-blank"},
		{"that claim is of a pod that does not come", func(s *situation) { s.o.Storage.Known = false; s.claim("data1", 5) }, ""},
		{"the cluster is being made", func(s *situation) { s.o.Storage.Known, s.r.Bootstrap.Done = false, false }, "volume-change-not-supported"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := moreDisks(t)
			s.o.Storage = model.Storage{Known: true, Classes: []gates.StorageClass{{Name: "other"}}}
			c.so(s)
			d := s.decide()
			if c.refuse == "" {
				assert.Empty(t, d.Refusals)
				return
			}
			assert.Equal(t, []string{c.refuse}, reasons(d.Refusals))
			assert.NotEqual(t, model.OperationExpand, kindOf(d))
			assert.Nil(t, d.Disruptive)
		})
	}
}

func kindOf(d model.Decision) model.OperationKind {
	if d.Record.Operation == nil {
		return ""
	}
	return d.Record.Operation.Kind
}

// Larger and more at once: what grows has grown before, and the StatefulSet is recreated for each.
func TestLargerVolumesComeBeforeFurtherDisks(t *testing.T) {
	s := moreDisks(t)
	for i := range s.d.Volumes {
		s.d.Volumes[i].Text, s.d.Volumes[i].Size = sizeAfter, 200*gib
	}
	assert.Contains(t, kinds(s.decide()), model.ActionGrowClaim)
	for i := range s.o.Claims {
		s.o.Claims[i].Requested, s.o.Claims[i].Capacity = 200*gib, 200*gib
	}
	d := s.decide()
	require.Equal(t, model.OperationExpand, kindOf(d))
	assert.Equal(t, model.SizeList("data0=200Gi"), d.Record.Operation.Recreation.Sizes)
	s.o.Volumes[0].Text, s.o.Volumes[0].Size = sizeAfter, 200*gib
	d = s.decide()
	require.Equal(t, model.OperationExpand, kindOf(d))
	assert.Equal(t, model.SizeList("data0=200Gi,data1=200Gi"), d.Record.Operation.Recreation.Sizes)
}

// unusedBy has these pods come back without the use of their further disk.
func unusedBy(ordinals ...int) func(*situation) {
	return func(s *situation) {
		for _, i := range ordinals {
			s.o.Pods[i].Template, s.o.Pods[i].Unused = "t1", "data1"
		}
	}
}

// A copy that is missing may be on a disk that a pod does not use: its restart goes before that of one that lacks the disk.
func TestAPodWhoseDiskMayHaveAMissingCopyRestartsFirst(t *testing.T) {
	for colour, first := range map[model.Colour]string{model.Green: hot + "-0", model.Yellow: hot + "-2", model.Red: hot + "-2"} {
		s := moreDisks(t)
		s.mixed(2)
		s.d.Changes, s.o.Sets[0].Template = nil, "t2"
		unusedBy(2)(s)
		s.o.Database.Health.Colour = colour
		v := view.View{Desired: s.d, Observed: s.o, Record: s.r, Now: s.o.At}
		require.Equal(t, first, aim.FirstOutdated(&v, hot).Name, "%v", colour)
	}
}

// While pods lack a disk they restart from the lowest ordinal up, one at a time, before anything else
// begins, and no pod may be evicted.
func TestPodsThatLackADiskRestartFromTheLowestUp(t *testing.T) {
	for _, c := range []struct {
		name      string
		restarted []int
		so        func(s *situation)
		next      string
		closed    bool
	}{
		{"none has it", nil, func(*situation) {}, hot + "-0", true},
		{"the first has it", []int{0}, func(*situation) {}, hot + "-1", true},
		{"by zone", []int{0}, func(s *situation) {
			s.d.Operations.RestartBy = "zone"
			for i := range s.o.Pods {
				s.o.Pods[i].Zone = "a"
			}
		}, hot + "-1", true},
		{"the others have one on which CrateDB has written, and do not use it: no copy is missing", []int{1, 2}, unusedBy(1, 2), hot + "-0", true},
		{"more nodes are desired: they come later", []int{0}, func(s *situation) { s.d.Sets[0].Replicas = 4 }, hot + "-1", true},
		{"all have it", []int{0, 1, 2}, func(s *situation) {
			for i := range s.o.Pods {
				s.o.Pods[i].Template = "t2"
			}
		}, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := moreDisks(t)
			s.mixed(c.restarted...)
			s.d.Changes, s.o.Sets[0].Template = nil, "t2" // the template with the mount is live
			for _, i := range c.restarted {
				s.o.Pods[i].Template = "t2"
			}
			c.so(s)
			s.o.Applied = model.Applied{Revision: s.d.Revision, Effective: model.Effective{Sets: []model.EffectiveSet{{Name: hot}}}}
			d := s.decide()
			assert.Equal(t, c.closed, d.Effective.Budgets[0].MinAvailable > 0)
			assert.Equal(t, c.closed, slices.Contains(reasons(d.Waits), "disks-differ"))
			if c.next == "" {
				assert.NotEqual(t, model.OperationExpand, kindOf(d))
				return
			}
			require.Equal(t, model.OperationRestart, kindOf(d), "%v %v", d.Waits, d.Refusals)
			assert.Equal(t, model.StepLock, d.Record.Operation.Step, "%v", d.Waits)
			assert.Equal(t, c.next, d.Record.Operation.Restart.Pod)
			assert.Empty(t, d.Record.Operation.Restart.Pods)
		})
	}
}

// The StatefulSet controller brings no pod back behind one that lacks a disk.
func TestAPodThatIsHeldBackComesBackByARecreationWithoutTheDisk(t *testing.T) {
	restarting := func(s *situation, step string) {
		s.r.Operation = &model.Operation{Kind: model.OperationRestart, Step: step, Started: s.o.At, Revision: s.d.Revision, Restart: &model.Restart{Set: hot, Since: s.o.At}}
	}
	for _, c := range []struct {
		name   string
		so     func(s *situation)
		begins bool
	}{
		{"the last one vanishes, and none has the disk", func(s *situation) { s.mixed(); s.vanished(2) }, true},
		{"the first has it, and the one that lacks it is of the same group", func(s *situation) { s.mixed(0); s.vanished(2) }, false},
		{"all before it have it: the controller brings it back", func(s *situation) { s.mixed(0, 1); s.vanished(2) }, false},
		{"the first vanishes: the controller brings it back", func(s *situation) { s.mixed(); s.vanished(0) }, false},
		{"the definition is refused", func(s *situation) { s.mixed(1); s.vanished(2); s.d.ClusterName = "another" }, true},
		{"nobody answers", func(s *situation) {
			s.mixed(1)
			s.vanished(2)
			s.o.Database = model.Database{At: s.o.At, Contact: model.No}
		}, true},
		{"a restart waits between two pods", func(s *situation) { s.mixed(1); s.vanished(2); restarting(s, model.StepStable) }, true},
		{"a restart has stopped", func(s *situation) { s.mixed(1); s.vanished(2); restarting(s, model.StepStopped) }, true},
		{"the restart's own pod is on its way", func(s *situation) {
			s.mixed(1)
			s.vanished(2)
			restarting(s, model.StepDown)
			s.r.Operation.Restart.Pod, s.r.Operation.Restart.PodUID = hot+"-0", "before"
			s.away(hot + "-0")
		}, false},
		{"the restart's own pod is back, and does not start", func(s *situation) {
			s.mixed(1)
			s.vanished(2)
			restarting(s, model.StepDown)
			s.r.Operation.Restart.Pod, s.r.Operation.Restart.PodUID = hot+"-0", "before"
			s.away(hot + "-0")
			s.podOf(hot + "-0").Waiting = "CrashLoopBackOff"
		}, true},
		{"nodes come", func(s *situation) {
			s.mixed(1)
			s.vanished(2)
			s.r.Operation = &model.Operation{Kind: model.OperationGrow, Started: s.o.At, Revision: s.d.Revision, From: s.r.Sets, To: s.r.Sets}
		}, true},
		{"the cluster is being resumed", func(s *situation) {
			s.mixed(1)
			s.vanished(2)
			s.r.Suspended = s.r.Sets
			s.r.Operation = &model.Operation{Kind: model.OperationResume, Step: "recover", Started: s.o.At, Revision: s.d.Revision, From: s.r.Sets, To: s.r.Sets}
		}, true},
		{"a node is drained for another volume", func(s *situation) {
			s.mixed(1)
			s.vanished(2)
			s.r.Operation = &model.Operation{Kind: model.OperationReplace, Step: model.StepDrain, Started: s.o.At, Revision: s.d.Revision, From: s.r.Sets, To: s.r.Sets, Shrink: &model.Shrink{Replaces: hot + "-1", Set: hot, From: 3, To: 3, Before: 3, Since: s.o.At}}
			s.r.Exclusions = &model.Exclusions{Set: hot, IDs: "n1"}
		}, true},
		{"the restart's own pod is the one that is held back", func(s *situation) {
			s.mixed(1)
			s.vanished(2)
			restarting(s, model.StepDown)
			s.r.Operation.Restart.Pod, s.r.Operation.Restart.PodUID = hot+"-2", "before"
		}, true},
		{"one is too many, and does not go", func(s *situation) {
			s.mixed(1)
			s.o.Sets[0].Replicas, s.r.Sets[0].Replicas = 2, 2
		}, true},
		{"which volumes the pods have is not known", func(s *situation) {
			s.mixed()
			for i := range s.o.Pods {
				s.o.Pods[i].Volumes = ""
			}
			s.vanished(2)
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := moreDisks(t)
			c.so(s)
			var d model.Decision
			for range 3 { // what is under way gives way first
				d = s.decide()
				s.r = d.Record
			}
			if !c.begins {
				assert.NotEqual(t, model.OperationExpand, kindOf(d))
				return
			}
			require.Equal(t, model.OperationExpand, kindOf(d), "%v %v", d.Waits, d.Refusals)
			assert.Equal(t, oneDisk, d.Record.Operation.Recreation.Sizes)
			assert.Positive(t, d.Effective.Budgets[0].MinAvailable)
		})
	}
}

// A StatefulSet says what is locked, and goes while it is recreated: the restart gives the lock back before. Only a
// master takes it, and where there is none the pod that does not come back may be it.
func TestARestartThatGivesWayGivesTheLockBackBefore(t *testing.T) {
	for _, c := range []struct {
		name   string
		so     func(s *situation)
		unlock bool
		after  model.OperationKind
	}{
		{"there is a master", func(*situation) {}, true, model.OperationRestart},
		{"there is a master, and nothing is locked", func(s *situation) { s.r.Lock, s.o.Database.Allocation = nil, "all" }, false, ""},
		{"there is none", func(s *situation) {
			s.o.Database.MasterNode = ""
			for i := range s.d.Sets {
				s.d.Sets[i].MasterEligible = true
			}
		}, true, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := moreDisks(t)
			s.mixed(1)
			s.vanished(2)
			s.r.Operation = &model.Operation{Kind: model.OperationRestart, Step: model.StepNext, Started: s.o.At, Revision: s.d.Revision, Restart: &model.Restart{Set: hot, Since: s.o.At}}
			s.r.Lock, s.o.Database.Allocation = &model.AllocationLock{Set: hot, Value: "primaries", Before: "all"}, "primaries"
			c.so(s)
			d := s.decide()
			assert.Equal(t, c.unlock, action(&d, model.ActionUnlockAllocation) != nil, "%v %v", kinds(d), d.Waits)
			assert.Equal(t, c.after, kindOf(d))
		})
	}
}

// Once the pod is there the StatefulSet gets the disk again at once, whatever the health: until then
// a pod that has it would come back without it.
func TestAStatefulSetOfWhichAPodHasAFurtherDiskGetsItAgainAtOnce(t *testing.T) {
	s := moreDisks(t)
	s.o.Pods[0].Volumes = "data0,data1"
	s.claim("data1", 0)
	s.o.Pods[2].Ready = false
	s.o.Database.Health.Colour = model.Yellow
	d := s.decide()
	require.Equal(t, model.OperationExpand, kindOf(d), "%v %v", d.Waits, d.Refusals)
	assert.Empty(t, d.Refusals, "its claims are those of its own pods")
	assert.Equal(t, twoDisks, d.Record.Operation.Recreation.Sizes)
	s.vanished(2)
	d = s.decide()
	assert.NotEqual(t, model.OperationExpand, kindOf(d), "not before the pod is back")
	assert.Contains(t, waitsWith(d, "set-recreated"), "it has 2 pods of 3")
	assert.Positive(t, d.Effective.Budgets[0].MinAvailable)
}

// The number of disks is taken back while the StatefulSet is without the claim template: a pod that has
// the disk would come back without what is on it.
func TestADiskThatAPodHasIsNotTakenAway(t *testing.T) {
	for _, has := range []bool{true, false} {
		s := moreDisks(t)
		s.d.Volumes, s.d.Changes = s.d.Volumes[:1], nil
		s.o.Sets[0].Template = "t2"
		if has {
			s.o.Pods[0].Volumes = "data0,data1"
		}
		d := s.decide()
		assert.Equal(t, has, slices.Contains(reasons(d.Refusals), "volume-change-not-supported"), "%v", d.Refusals)
		assert.Equal(t, has, d.Effective.Budgets[0].MinAvailable > 0, "and it may not be evicted")
		assert.Equal(t, has, d.Record.Operation == nil, "no pod restarts for it")
	}
}

// While the StatefulSet is without the claim template no pod is recreated that has the disk: it would
// come back without it.
func TestAPodThatHasADiskBesideItsStatefulSetIsNotReplaced(t *testing.T) {
	for name, c := range map[string]struct{ has, blank, replaced bool }{
		"it has none":                          {false, false, true},
		"it has one":                           {true, false, false},
		"it has one that came with it, unused": {true, true, true},
	} {
		s := moreDisks(t)
		if c.has {
			s.o.Pods[0].Volumes = "data0,data1"
			s.claim("data1", 0)
		}
		if k := &s.o.Claims[len(s.o.Claims)-1]; c.blank {
			k.ClusterID, k.Version, k.Made = "", "", s.o.Pods[0].Created
		}
		p := &s.o.Pods[0]
		s.away(p.Name)
		p.Template, p.Waiting, p.Started = "t2", "CrashLoopBackOff", time.Time{}
		s.vanished(2) // so that the StatefulSet does not get the disk at once
		s.o.Applied.Effective = s.decide().Effective
		d := s.decide()
		assert.Equal(t, c.replaced, d.Disruptive != nil, "%s: %v %v", name, d.Waits, d.Disruptive)
	}
}

// A third disk comes once all pods have the second.
func TestAnotherDiskWaitsUntilThePodsHaveTheLastOne(t *testing.T) {
	s := moreDisks(t)
	s.mixed(0)
	s.d.Volumes = append(s.d.Volumes, diskOf("data2"))
	s.d.Changes = append(s.d.Changes, model.Change{Class: model.ChangeDisks, Set: hot, Path: "spec.volumeClaimTemplates[data2]"})
	assert.Equal(t, model.OperationRestart, kindOf(s.decide()))
	for i := range s.o.Pods {
		s.o.Pods[i].Volumes = "data0,data1"
	}
	s.claim("data1", 1)
	s.claim("data1", 2)
	s.d.Changes = s.d.Changes[1:]
	d := s.decide()
	require.Equal(t, model.OperationExpand, kindOf(d), "%v %v", d.Waits, d.Refusals)
	assert.Equal(t, model.SizeList("data0=100Gi,data1=100Gi,data2=100Gi"), d.Record.Operation.Recreation.Sizes)
}

// The controller makes the claim of a disk before its pod restarts: nothing is written on it yet.
func TestAClaimThatNoPodMountsIsNobodys(t *testing.T) {
	s := moreDisks(t)
	s.mixed(0)
	for _, ordinal := range []int{0, 1} {
		s.o.Claims = slices.DeleteFunc(s.o.Claims, func(c model.Claim) bool { return c.Template == "data1" && c.Ordinal == ordinal })
		c := s.claim("data1", ordinal)
		c.ClusterID, c.Version = "", ""
	}
	var annotated []string
	d := s.decide()
	for _, a := range d.Actions() {
		if a.Kind == model.ActionAnnotateClaim {
			annotated = append(annotated, a.Claim)
		}
	}
	assert.Equal(t, []string{"data1-" + hot + "-0"}, annotated)
}
