package ops_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/render/definition"
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

// CrateDB has made the copies on that disk again, perhaps on another one of the same node, and of a shard that is on two
// disks it opens neither: the node is drained before its pod restarts. It restarts as it is where that is a repair.
func TestANodeThatLacksADiskIsDrainedBeforeItRestarts(t *testing.T) {
	for _, c := range []struct {
		name string
		so   func(s *situation)
		kind model.OperationKind
		pod  string
	}{
		{"nothing is under way", func(*situation) {}, model.OperationRemoveDisks, ""},
		{"a restart stands between two pods", func(s *situation) {
			s.r.Operation = &model.Operation{Kind: model.OperationRestart, Step: model.StepNext, Started: s.o.At, Revision: s.d.Revision, Restart: &model.Restart{Set: hot, Since: s.o.At}}
		}, model.OperationRemoveDisks, ""},
		{"its copies are not made yet", func(s *situation) { s.o.Database.Health.Colour = model.Yellow }, model.OperationRestart, ""},
		{"shards are missing", func(s *situation) {
			s.o.Database.Health.Colour, s.o.Database.ClusterHealth.Colour = model.Red, model.Red
		}, model.OperationRestart, hot + "-2"},
		{"shards may be hidden", func(s *situation) {
			s.o.Database.Denied = []model.Denial{{Privilege: "DQL", Class: "TABLE", Ident: "doc.a"}}
		}, model.OperationRestart, hot + "-2"},
		{"its node was found empty before", func(s *situation) { s.r.Removing.Done = s.o.Pods[2].UID }, model.OperationRemoveDisks, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := fewerDisks(t)
			s.o.Pods[2].Unused = "data1"
			c.so(s)
			d := s.decide()
			require.Equal(t, c.kind, kindOf(d), "%v %v", d.Waits, d.Refusals)
			if op := d.Record.Operation; c.kind == model.OperationRestart {
				assert.Equal(t, c.pod, op.Restart.Pod, "%v", d.Waits)
			} else {
				assert.Equal(t, s.r.Removing.Has(s.o.Pods[2].UID), op.Shrink.Replaces != hot+"-2", "%v", d.Waits)
			}
		})
	}
}

// Seeds 6000013996 and 6000028548: the drain went back for nodes that were to come or to go, and these waited for the restart
// that brings the disk.
func TestADrainOfANodeThatLacksADiskGoesOnWhileNodesAreToComeOrToGo(t *testing.T) {
	for _, c := range []struct {
		name     string
		lacks    bool
		replicas int
		step     string
	}{
		{"it lacks a disk, and nodes come", true, 4, model.StepExclude},
		{"it lacks a disk, and nodes go", true, 2, model.StepExclude},
		{"it has one that goes, and nodes come", false, 4, model.StepInclude},
		{"it has one that goes, and nodes go", false, 2, model.StepInclude},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := fewerDisks(t)
			s.d.Operations.Consent = []definition.Consent{definition.ConsentTwoMasters}
			if c.lacks {
				s.o.Pods[0].Unused = "data1"
			}
			s.r = s.decide().Record
			require.Equal(t, hot+"-0", s.r.Operation.Shrink.Replaces)
			s.d.Sets = slices.Clone(s.d.Sets)
			s.d.Sets[0].Replicas = c.replicas
			d := s.decide()
			assert.Equal(t, c.step, d.Record.Operation.Step, "%v %v", d.Waits, d.Refusals)
		})
	}
}

// Seeds 6000014486 and 6000512764: the template went back before the drain to one that does not mount the disk, which nothing
// lacked then, so that the restart went on with it, and so forth.
func TestATemplateThatBringsADiskBackIsKeptForTheDrainBeforeIt(t *testing.T) {
	for _, c := range []struct {
		name  string
		lacks bool
		kind  model.OperationKind
		want  model.TemplateChoice
	}{
		{"a pod lacks the disk", true, model.OperationRemoveDisks, model.TemplateKept},
		{"no pod lacks it", false, model.OperationRestart, model.TemplateDesired},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := fewerDisks(t)
			s.o.Sets[0].Template = "t2"
			for i := range s.o.Pods {
				s.o.Pods[i].Template = "t1"
			}
			if c.lacks {
				s.o.Pods[0].Unused = "data1"
			}
			s.r.Operation = &model.Operation{Kind: model.OperationRestart, Step: model.StepNext, Started: s.o.At, Revision: s.d.Revision, Restart: &model.Restart{Set: hot, Remembered: "t1", Since: s.o.At}}
			d := s.decide()
			assert.Equal(t, c.kind, kindOf(d), "%v %v", d.Waits, d.Refusals)
			assert.Equal(t, c.want, d.Effective.Sets[0].Template)
		})
	}
}

// Seed 6000075188: the pod that lacks a disk is of another StatefulSet than the template that no pod is on yet. That one goes
// back, or its pods would restart while the other node is drained.
func TestATemplateOfAnotherStatefulSetGoesBackForTheDrainOfANodeThatLacksADisk(t *testing.T) {
	for lacks, want := range map[string]struct {
		kind     model.OperationKind
		template model.TemplateChoice
	}{
		hot + "-0":  {model.OperationRemoveDisks, model.TemplateKept},
		warm + "-0": {model.OperationRestart, model.TemplateBefore},
	} {
		t.Run(lacks, func(t *testing.T) {
			s := twoGroups(t)
			s.pending(model.ChangeRestart)
			for _, set := range []string{hot, warm} {
				s.d.Volumes = append(s.d.Volumes, model.VolumeTemplate{Set: set, Name: "data0"})
				s.o.Volumes = append(s.o.Volumes, model.VolumeTemplate{Set: set, Name: "data0"}, model.VolumeTemplate{Set: set, Name: "data1"})
				s.d.Changes = append(s.d.Changes, model.Change{Class: model.ChangeFewerDisks, Set: set})
			}
			s.r.Removing = &model.DiskRemoval{Desired: "data0"}
			s.o.Stable.Master = s.o.At.Add(-time.Hour)
			for i := range s.o.Pods {
				s.o.Pods[i].Volumes, s.o.Pods[i].Template = "data0,data1", "t1"
			}
			for i := range s.o.Sets {
				s.o.Sets[i].Template = map[string]string{hot: "t2", warm: "t1"}[s.o.Sets[i].Name]
			}
			s.podOf(lacks).Unused = "data1"
			s.r.Operation = &model.Operation{Kind: model.OperationRestart, Step: model.StepNext, Started: s.o.At, Revision: s.d.Revision, Restart: &model.Restart{Set: hot, Remembered: "t1", Since: s.o.At}}
			d := s.decide()
			assert.Equal(t, want.kind, kindOf(d), "%v %v", d.Waits, d.Refusals)
			assert.Equal(t, want.template, effective(t, d, hot).Template)
		})
	}
}

// Seed 6000522138: an upgrade was due. The restart ended for it when the node was empty, and the node was drained again.
func TestADrainedNodeThatLacksADiskRestartsInTheUpgradeThatIsDue(t *testing.T) {
	for _, c := range []struct {
		name    string
		version string
		unused  string
		kind    model.OperationKind
	}{
		{"an upgrade is due", "5.10.2", "data1", model.OperationUpgrade},
		{"none is", "", "data1", model.OperationRestart},
		{"it lacks no disk", "5.10.2", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := fewerDisks(t)
			p := &s.o.Pods[0]
			p.Unused = c.unused
			if c.version != "" {
				s.d.Version = c.version
				s.d.Changes = append(s.d.Changes, model.Change{Class: model.ChangeImage, Set: hot, Path: "image", New: "crate:" + c.version})
			}
			id := s.nodeID(p.Name)
			s.o.Database.Settings.Exclude = map[string]string{"_id": id}
			s.r.Exclusions = &model.Exclusions{Set: hot, IDs: id, Replaces: p.UID}
			d := s.decide()
			require.Equal(t, c.kind, kindOf(d), "%v %v", d.Waits, d.Refusals)
			if c.kind != "" {
				assert.Equal(t, p.UID, d.Record.Operation.Restart.Removes)
			}
		})
	}
}

// A pod that had a further disk already vanishes while the template of its StatefulSet does not mount that,
// and comes back without it. Its restart brings back what is on the disk, and does not wait for that.
func TestAPodThatHasLostAFurtherDiskGetsItBackWhileShardsAreMissing(t *testing.T) {
	for _, c := range []struct {
		name  string
		blank bool
		next  string
	}{
		{"CrateDB has written on it", false, hot + "-1"},
		{"it has never been used: something else is missing", true, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := moreDisks(t)
			s.mixed(0, 1, 2)
			s.o.Sets[0].Template, s.d.Changes = "t2", nil
			for i := range s.o.Pods {
				s.o.Pods[i].Template = "t2"
			}
			s.o.Pods[1].Template, s.o.Pods[1].Unused = "t1", "data1"
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
			s.d.Backups = backedUp().Backups
			s.r.Backups = &model.Backups{
				Repository: model.RecordedRepository{Name: "stevedore_0a1b2c3d"},
				Running:    &model.RunningSnapshot{Name: "stevedore-often-20260102t030000z", Schedule: "often", Began: s.o.At, Asked: s.o.At},
			}
			s.o.Sets[0].Unused = c.unused
			d := s.decide()
			assert.Equal(t, c.first, slices.Contains(reasons(d.Waits), "snapshot-first"), "%v", reasons(d.Waits))
		})
	}
}

// Seed 6000506797: a node was drained before its pod restarts with the disk that it lacked, and pods of the first StatefulSet
// were to restart too. They went first, while tables were short of the copies that the drained node may not have.
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

// Seed 6023012119: another StatefulSet had got its template out of order, as the only one on trial. Its pods went first when the
// node was drained, while tables were short of its copies.
func TestANodeThatLacksADiskIsNotDrainedWhileAnotherStatefulSetIsOnTrial(t *testing.T) {
	for name, c := range map[string]struct {
		onTrial []string
		kind    model.OperationKind
	}{
		"none is on trial":      {nil, model.OperationRemoveDisks},
		"another one is":        {[]string{hot}, model.OperationRestart},
		"the one of the pod is": {[]string{warm}, model.OperationRemoveDisks},
	} {
		t.Run(name, func(t *testing.T) {
			s := twoGroups(t)
			for _, set := range []string{hot, warm} {
				s.d.Volumes = append(s.d.Volumes, model.VolumeTemplate{Set: set, Name: "data0"})
				s.o.Volumes = append(s.o.Volumes, model.VolumeTemplate{Set: set, Name: "data0"}, model.VolumeTemplate{Set: set, Name: "data1"})
				s.d.Changes = append(s.d.Changes, model.Change{Class: model.ChangeFewerDisks, Set: set})
			}
			s.r.Removing, s.r.OnTrial, s.r.Verified = &model.DiskRemoval{Desired: "data0"}, c.onTrial, nil
			s.o.Stable.Master = s.o.At.Add(-time.Hour)
			for i := range s.o.Pods {
				s.o.Pods[i].Volumes, s.o.Pods[i].Template = "data0,data1", "t1"
			}
			s.o.Sets[0].Template, s.o.Sets[1].Template = "t2", "t1"
			s.podOf(warm + "-0").Unused = "data1"
			s.o.Applied.Revision = s.d.Revision
			d := s.decide()
			assert.Equal(t, c.kind, kindOf(d), "%v %v", d.Waits, d.Refusals)
		})
	}
}
