package ops_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/render/definition"
)

// The template that a StatefulSet is held to mounts each disk that a node has by now: a pod that vanishes
// would come back without what is on that.
func TestATemplateThatIsKeptMountsTheDisksThatNodesHave(t *testing.T) {
	back := func(s *situation) {
		s.mixed(0)
		s.o.Sets[0].Template, s.o.Sets[0].Unused = "t1", "data1"
		s.o.Pods[0].Template, s.o.Pods[1].Template, s.o.Pods[2].Template = "t2", "t1", "t1"
		s.d.Abort = true
	}
	blank := func(s *situation) {
		c := &s.o.Claims[len(s.o.Claims)-1]
		c.ClusterID, c.Version = "", ""
	}
	for _, c := range []struct {
		name, mounts, marks string
		so                  func(s *situation)
	}{
		{"a restart was taken back after the first pod had joined with the disk", "data0,data1", "t1,t2", back},
		{"it has joined, and its claim does not say so yet", "data0,data1", "t1,t2", func(s *situation) { back(s); blank(s) }},
		{"it has joined and is not ready, and its claim does not say so", "data0,data1", "t1,t2", func(s *situation) {
			back(s)
			blank(s)
			s.podOf(hot + "-0").Ready = false // seed 6070001488
		}},
		{"its process runs as far as is known, and its node is away (6410653554)", "data0,data1", "t1,t2", func(s *situation) {
			back(s)
			blank(s)
			s.away(hot + "-0")
		}},
		{"its process does not stay up, and its claim does not say that it was ever up", "data0", "t1,t2", func(s *situation) {
			back(s)
			blank(s)
			s.away(hot + "-0")
			s.podOf(hot + "-0").Waiting = "CrashLoopBackOff"
		}},
		{"it is ready, and nobody answers", "data0,data1", "t1,t2", func(s *situation) {
			back(s)
			blank(s)
			s.o.Database = model.Database{At: s.o.At, Contact: model.No}
		}},
		{"CrateDB has written on the disk, and its pod does not start", "data0,data1", "t1,t2", func(s *situation) {
			back(s)
			s.away(hot + "-0")
			s.podOf(hot + "-0").Waiting = "CrashLoopBackOff"
		}},
		{"its pod has never started with the disk", "data0", "t1", func(s *situation) {
			back(s)
			blank(s)
			s.away(hot + "-0")
			p := s.podOf(hot + "-0")
			p.Waiting, p.Started = "CrashLoopBackOff", time.Time{}
			s.o.Claims[0].ClusterID, s.o.Claims[0].Version = "", ""
		}},
		{"no pod has the disk yet", "data0", "t1", func(s *situation) { s.mixed(); s.o.Sets[0].Unused = "data1"; s.d.Abort = true }},
		{"each node has one disk", "", "", func(s *situation) {
			s.d.Changes = append(s.d.Changes, model.Change{Class: model.ChangeRestart, Set: hot, Path: "spec.template.spec.containers[crate].resources.limits.memory"})
			s.d.Abort = true
		}},
		{"which volumes the pods have is not known", "", "", func(s *situation) {
			back(s)
			for i := range s.o.Pods {
				s.o.Pods[i].Volumes = ""
			}
		}},
		{"the StatefulSet is gone, to be recreated with the disk", "data0,data1", "t1,t2", func(s *situation) {
			back(s)
			s.r.Operation = &model.Operation{
				Kind: model.OperationExpand, Step: model.StepRecreate, Started: s.o.At, Revision: s.r.Revision,
				Recreation: &model.Recreation{Set: hot, UID: s.o.Sets[0].UID, Pods: 3, Guarded: 1_000_000, Sizes: twoDisks, Mounts: "data0,data1"},
			}
			gone(s)
		}},
		{"its pod has vanished since", "data0,data1", "t1", func(s *situation) {
			back(s)
			s.r.Operation = &model.Operation{
				Kind: model.OperationExpand, Step: model.StepRecreate, Started: s.o.At, Revision: s.r.Revision,
				Recreation: &model.Recreation{Set: hot, UID: s.o.Sets[0].UID, Pods: 3, Guarded: 1_000_000, Sizes: twoDisks, Mounts: "data0,data1"},
			}
			s.vanished(0)
			gone(s)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := moreDisks(t)
			for i := range s.o.Pods {
				s.o.Pods[i].Template = "t1"
			}
			c.so(s)
			e := setOf(s.decide())
			require.Equal(t, model.TemplateKept, e.Template)
			assert.Equal(t, c.mounts, e.Mounts)
			assert.Equal(t, c.marks, e.Marks)
		})
	}
}

// What is recorded before a StatefulSet is deleted says which disks its template mounts, and whether it loses
// those that pods lack: the pod that has one may be gone when it is recreated.
func TestARecreationNotesTheDisksThatNodesHave(t *testing.T) {
	for _, c := range []struct {
		name, mounts string
		lacked       bool
		so           func(s *situation)
	}{
		{"a pod has a disk in addition", "data0,data1", false, func(s *situation) { s.o.Pods[0].Volumes = "data0,data1"; s.claim("data1", 0) }},
		{"no pod has the further disk", "data0", false, func(*situation) {}},
		{"one that lacks the disk holds another back", "", true, func(s *situation) { s.mixed(1); s.vanished(2) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := moreDisks(t)
			c.so(s)
			d := s.decide()
			require.Equal(t, model.OperationExpand, kindOf(d), "%v %v", d.Waits, d.Refusals)
			assert.Equal(t, c.mounts, d.Record.Operation.Recreation.Mounts)
			assert.Equal(t, c.lacked, d.Record.Operation.Recreation.Lacked)
		})
	}
}

// Another storage class or size comes to all disks of a StatefulSet together. Where one had it already and the consent went,
// another class would be desired for one of its disks, whatever is pushed.
func TestADiskThatComesBackIsAsTheFirstOneIs(t *testing.T) {
	for _, c := range []struct {
		name, class, size string
	}{
		{"as desired", "fast", sizeBefore},
		{"another class is desired", "slow", sizeBefore},
		{"a smaller size is desired", "fast", "50Gi"},
		{"a larger size is desired", "fast", sizeAfter},
		{"both are desired", "slow", sizeAfter},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := moreDisks(t)
			s.o.Pods[0].Volumes = "data0,data1"
			s.claim("data1", 0)
			s.d = classed(s.d, c.class, c.size)
			s.d.Operations.Consent, s.r.VolumesConsent = []definition.Consent{definition.ConsentDeleteVolumes}, true
			further := s.d.Volumes[0]
			further.Name = "data1"
			s.d.Volumes = append(s.d.Volumes, further)
			d := s.decide()
			require.Equal(t, model.OperationExpand, kindOf(d), "%v %v", d.Waits, d.Refusals)
			assert.Equal(t, model.SizeList("data0="+sizeBefore+",data1="+sizeBefore), d.Record.Operation.Recreation.Sizes)
			assert.Equal(t, model.SizeList("data0=fast,data1=fast"), d.Record.Operation.Recreation.Classes)
		})
	}
}

// A StatefulSet that is recreated with a disk that nodes have mounts it, and has the mark of their pods, so
// that none of them restarts. A template of which no pod runs what it says by then keeps its mark.
func TestATemplateGetsTheDisksBackThatNodesHave(t *testing.T) {
	const both, first = model.SizeList("data0=1Gi,data1=1Gi,debug=1Gi"), model.SizeList("data0=1Gi,debug=1Gi")
	put := func(wanted *unstructured.Unstructured, saved model.Saved, e model.EffectiveSet) (*unstructured.Unstructured, model.Saved, string) {
		e.Name, e.Replicas = "crate-data-hot-c", 3
		objects, next, err := manifest.Materialise([]*unstructured.Unstructured{wanted}, saved, model.Effective{Sets: []model.EffectiveSet{e}})
		require.NoError(t, err)
		text, err := json.Marshal(objects[0].Object["spec"].(map[string]any)["template"].(map[string]any)["spec"])
		require.NoError(t, err)
		return objects[0], next, string(text)
	}
	two := twoDisksSet(t)
	one, saved1, _ := put(two, nil, model.EffectiveSet{Sizes: first})
	whole, saved2, had := put(two, nil, model.EffectiveSet{Sizes: both})
	mark1, mark2 := manifest.TemplateOf(one), manifest.TemplateOf(whole)
	require.NotEqual(t, mark1, mark2)
	without, saved3, _ := put(two, saved2, model.EffectiveSet{Template: model.TemplateKept, Sizes: first, Lacked: true})
	require.Equal(t, mark1, manifest.TemplateOf(without))

	again, _, has := put(two, saved3, model.EffectiveSet{Template: model.TemplateKept, Sizes: both, Mounts: "data0,data1", Marks: mark1 + "," + mark2})
	assert.Equal(t, had, has, "its processes read the same, in the same order")
	assert.Equal(t, mark2, manifest.TemplateOf(again))

	taken, next, has := put(two, saved1, model.EffectiveSet{Template: model.TemplateKept, Sizes: both, Mounts: "data0,data1", Marks: "another"})
	assert.Equal(t, had, has)
	assert.Equal(t, mark1, manifest.TemplateOf(taken), "no pod runs this one")
	stays, _, _ := put(two, next, model.EffectiveSet{Template: model.TemplateKept, Sizes: both, Mounts: "data0,data1", Marks: "another"})
	assert.Equal(t, taken.Object, stays.Object)
	bare, _, has := put(two, saved1, model.EffectiveSet{Template: model.TemplateKept, Sizes: first, Mounts: "data0,data1", Marks: mark2})
	assert.NotContains(t, has, "data1", "it has no claim template of the disk")
	assert.Equal(t, mark1, manifest.TemplateOf(bare))
}

// A restart had stopped before its pod was seen with a further disk, and the disk was desired no more for a while. The
// template mounted it with the mark of those that lack it, so that the pod restarted for nothing when it was desired again.
func TestATemplateThatMountsADiskHasTheMarkOfAPodThatHasIt(t *testing.T) {
	const both, first = model.SizeList("data0=1Gi,data1=1Gi,debug=1Gi"), model.SizeList("data0=1Gi,debug=1Gi")
	put, two := materialises(t), twoDisksSet(t)
	one, saved := put(two, nil, model.EffectiveSet{Sizes: first})
	whole, _ := put(two, nil, model.EffectiveSet{Sizes: both})
	lacks, has := manifest.TemplateOf(one), manifest.TemplateOf(whole)
	fewer := twoDisksSet(t)
	fewer.Object["spec"] = one.Object["spec"]
	for _, c := range []struct{ name, marks, mounts, mark string }{
		{"the pod is away", lacks, "data0", lacks},
		{"it is seen, and CrateDB has not started in it", lacks + "," + has, "data0", has},
		{"its node has the disk", lacks + "," + has, "data0,data1", has},
	} {
		t.Run(c.name, func(t *testing.T) {
			stopped, next := put(fewer, saved, model.EffectiveSet{Template: model.TemplateKept, Sizes: both, Mounts: "data0", Marks: lacks})
			require.Empty(t, manifest.UnusedDisksOf(stopped))
			kept, next := put(fewer, next, model.EffectiveSet{Template: model.TemplateKept, Sizes: both, Mounts: c.mounts, Marks: c.marks})
			assert.Equal(t, c.mark, manifest.TemplateOf(kept))
			again, _ := put(two, next, model.EffectiveSet{})
			assert.Equal(t, c.mark, manifest.TemplateOf(again), "it is the same where the disk is desired again")
		})
	}
}

// A StatefulSet loses a disk for two reasons. Each pod has come to do without it: then its mark stays. Or pods
// have never had it: then it has the mark of those, also where the disk is desired no more.
func TestAStatefulSetThatLosesADiskHasTheMarkOfItsPods(t *testing.T) {
	const both, first = model.SizeList("data0=1Gi,data1=1Gi,debug=1Gi"), model.SizeList("data0=1Gi,debug=1Gi")
	two, desired := twoDisksSet(t), twoDisksSet(t)
	put := materialises(t)
	one, _ := put(two, nil, model.EffectiveSet{Sizes: first})
	whole, saved := put(two, nil, model.EffectiveSet{Sizes: both})
	desired.Object["spec"] = one.Object["spec"]
	for _, c := range []struct {
		name   string
		lacked bool
		mark   string
	}{
		{"each pod has come to do without", false, manifest.TemplateOf(whole)},
		{"pods have never had it", true, manifest.TemplateOf(one)},
	} {
		t.Run(c.name, func(t *testing.T) {
			set, _ := put(desired, saved, model.EffectiveSet{Template: model.TemplateKept, Sizes: first, Lacked: c.lacked})
			assert.Equal(t, c.mark, manifest.TemplateOf(set))
		})
	}
}

// A StatefulSet was recreated without a disk for a while, and then the disk was desired no more. Whoever resumes the cluster
// gets the claim templates that are desired: a shard may be on the other disk only.
func TestNoClusterIsSuspendedWhileAPodHasADiskThatWouldNotComeBack(t *testing.T) {
	for _, extra := range []bool{true, false} {
		s := moreDisks(t)
		s.d.Changes, s.d.Volumes = nil, s.d.Volumes[:1]
		if extra {
			s.o.Pods[0].Volumes = "data0,data1"
			s.claim("data1", 0)
		}
		s.d = at0(s.d)
		s.o.Applied.Revision = s.d.Revision
		d := s.decide()
		assert.Equal(t, !extra, kindOf(d) == model.OperationSuspend, "%v %v", d.Waits, d.Refusals)
		assert.Equal(t, extra, slices.Contains(reasons(d.Refusals), "volume-change-not-supported"))
	}
}
