package ops_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/view"
	"stevedore.dev/stevedore/render/definition"
)

// atStep is a cluster of two groups, of which the StatefulSet of hot is recreated: its claims have
// grown, and the recreation stands at a step.
func atStep(t *testing.T, name string) *situation {
	s := made(t)
	s.d = sized(s.d, sizeAfter)
	s.o.Volumes = []model.VolumeTemplate{{Set: hot, Name: "data0", Text: sizeBefore, Size: 100 * gib}}
	s.o.Claims = nil
	for i := range s.o.Pods {
		s.o.Claims = append(s.o.Claims, model.Claim{Name: "data0-" + s.o.Pods[i].Name, Set: hot, Ordinal: i, Template: "data0", Phase: "Bound", ClusterID: s.r.ClusterID, Requested: 200 * gib, Capacity: 200 * gib})
	}
	s.o.Sets[0].Current = 3
	s.r.Operation = &model.Operation{
		Kind: model.OperationExpand, Step: name, Started: s.o.At, Revision: s.r.Revision,
		Recreation: &model.Recreation{Set: hot, UID: s.o.Sets[0].UID, Pods: 3, Guarded: 1_000_000, Sizes: "data0=" + sizeAfter},
	}
	return s
}

func gone(s *situation) {
	s.o.Sets, s.o.Volumes = nil, nil
	released(s)
}

func released(s *situation) {
	for i := range s.o.Pods {
		s.o.Pods[i].Controller = ""
	}
}

// forgottenGroup: it is gone, the record was lost with it, and its group has left the definition.
func forgottenGroup(s *situation) {
	gone(s)
	s.r = model.Record{}
	s.d.Sets = []model.Set{{Name: "crate-data-warm-c", Group: "warm", Data: true, MasterEligible: true, Replicas: 1}}
	s.o.Sets = []model.ObservedSet{{Name: "crate-data-warm-c", UID: "w", Ours: true, Replicas: 1, Group: "warm"}}
}

func setOf(d model.Decision) model.EffectiveSet {
	for _, e := range d.Effective.Sets {
		if e.Name == hot {
			return e
		}
	}
	return model.EffectiveSet{}
}

// While pods belong to no StatefulSet the disruption controller lets all of them go, unless the
// budget has an integer minAvailable.
func TestTheBudgetStaysClosedUntilAStatefulSetHasItsPods(t *testing.T) {
	for _, c := range []struct {
		name   string
		step   string
		so     func(s *situation)
		closed bool
	}{
		{"it is about to be deleted", model.StepGuard, func(*situation) {}, true},
		{"it is gone", model.StepRecreate, gone, true},
		{"the new one has not taken its pods", model.StepRecreate, func(s *situation) { released(s); s.o.Sets[0].UID = "again" }, true},
		{"and the cluster is released", model.StepAdopt, func(s *situation) {
			released(s)
			s.o.Sets[0].UID, s.o.Commands.Released = "again", "true"
		}, true},
		{"the record was lost while it is being deleted", model.StepRecreate, func(s *situation) {
			s.o.Sets[0].Terminating, s.r = true, model.Record{}
		}, true},
		{"the record was lost before the new one took its pods", model.StepAdopt, func(s *situation) {
			released(s)
			s.o.Sets[0].UID, s.r = "again", model.Record{}
		}, true},
		{"the record was lost meanwhile, and its group has left the definition", model.StepRecreate, forgottenGroup, true},
		{"and the watch of pods does not show yet that it is gone (6420143394)", model.StepRecreate, func(s *situation) {
			forgottenGroup(s)
			for i := range s.o.Pods {
				s.o.Pods[i].Controller = "gone"
			}
		}, true},
		{"nothing is recreated", model.StepGuard, func(s *situation) { s.r.Operation, s.o.Volumes = nil, nil }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := atStep(t, c.step)
			c.so(s)
			d := s.decide()
			if assert.Len(t, d.Effective.Budgets, 1) {
				assert.Equal(t, c.closed, d.Effective.Budgets[0].MinAvailable > 0)
			}
			assert.NotContains(t, kinds(d), model.ActionSetBudget)
		})
	}
}

// Pods without a StatefulSet get one, and meanwhile nothing else is written, whatever is desired.
func TestWhileAStatefulSetIsGoneNothingElseIsWritten(t *testing.T) {
	s := atStep(t, model.StepRecreate)
	gone(s)
	s.o.Sets = []model.ObservedSet{{Name: "crate-data-warm-c", UID: "w", Ours: true, Replicas: 1, Group: "warm"}}
	s.r.Sets = append(s.r.Sets, model.RecordedSet{Name: "crate-data-warm-c", Group: "warm", Replicas: 1})
	s.r.Settings = []model.RecordedSetting{{Name: "stats.jobs_log_size", Value: "5000", Done: true}}
	s.o.ApplyErrors = []string{"denied the request"}
	s.o.Commands.Paused = "true"
	d := s.decide()
	assert.True(t, d.Apply)
	for _, e := range d.Effective.Sets {
		assert.Equal(t, e.Name != hot, e.Gap, "%s is left as it is", e.Name)
	}
	assert.NotEmpty(t, setOf(d).Settings, "it says again what is set in the database")
	assert.Subset(t, reasons(d.Waits), []string{"set-recreated", "objects-applied"}, "and why it is not made")
}

func TestAStatefulSetThatWasRecreatedWaitsForItsPodsByName(t *testing.T) {
	s := atStep(t, model.StepAdopt)
	released(s)
	s.o.Sets[0].UID = "again"
	d := s.decide()
	assert.NotNil(t, d.Record.Operation)
	assert.Contains(t, messages(d.Waits), "the new one takes its pods: "+hot+"-0")
}

// A message ended in "takes its pods: " and named none, where all pods belonged to the new one already.
func TestAStatefulSetThatHasItsPodsWaitsForItsControllerByName(t *testing.T) {
	s := atStep(t, model.StepAdopt)
	s.o.Sets[0].UID, s.o.Sets[0].Generation, s.o.Sets[0].ObservedGeneration = "again", 2, 1
	for i := range s.o.Pods {
		s.o.Pods[i].Controller = "again"
	}
	d := s.decide()
	assert.NotEmpty(t, d.Waits)
	assert.Contains(t, d.Waits[0].Message, "controller has not seen the new one")
	s.o.Sets[0].ObservedGeneration = 2
	d = s.decide()
	assert.NotContains(t, reasons(d.Waits), "set-recreated")
}

func TestAStatefulSetOfSomebodyElseIsNamedThatStandsInTheWay(t *testing.T) {
	s := atStep(t, model.StepRecreate)
	released(s)
	s.o.Sets[0].UID, s.o.Sets[0].Ours, s.o.Volumes = "theirs", false, nil
	s.d.Changes = []model.Change{{Class: model.ChangeRestart, Set: hot, Path: "spec.template.spec.containers[crate].resources.limits.memory"}}
	d := s.decide()
	assert.Contains(t, d.Waits[0].Message, "delete that without its pods")
	assert.True(t, setOf(d).Gap, "what is saved of ours stays as it was")
}

// A watch that is behind shows no claim of pods that have just come, and one that was deleted
// comes back small.
func TestAStatefulSetIsNotRecreatedBeforeEachClaimIsSeenToHaveGrown(t *testing.T) {
	for _, c := range []struct {
		name string
		so   func(s *situation)
		due  bool
	}{
		{"all have grown", func(*situation) {}, true},
		{"one is not seen", func(s *situation) { s.o.Claims = s.o.Claims[:2] }, false},
		{"none is seen", func(s *situation) { s.o.Claims = nil }, false},
		{"one is small again", func(s *situation) { s.o.Claims[1].Requested, s.o.Claims[1].Capacity = 100*gib, 100*gib }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, begun := range []bool{false, true} {
				s := atStep(t, model.StepRecreate)
				for i := range s.o.Pods {
					s.o.Pods[i].Controller = s.o.Sets[0].UID
				}
				if !begun {
					s.r.Operation = nil
				}
				c.so(s)
				s.o.Applied.Effective = s.decide().Effective
				d := s.decide()
				assert.Equal(t, c.due, d.Record.Operation != nil, "begun before: %t", begun)
				assert.Equal(t, c.due && begun, d.Disruptive != nil && d.Disruptive.Kind == model.ActionRecreateSet)
			}
		})
	}
}

// With the record lost while a StatefulSet is gone nobody knows its template any more.
func TestAStatefulSetComesBackWithoutARecord(t *testing.T) {
	for _, c := range []struct {
		name     string
		so       func(s *situation)
		replicas int
	}{
		{"as it is desired", func(*situation) {}, 3},
		{"and founds no cluster, though its claims are new and say nothing", func(s *situation) {
			for i := range s.o.Claims {
				s.o.Claims[i].ClusterID = ""
			}
		}, 3},
		{"whatever of the definition is refused", func(s *situation) {
			s.d.Changes = []model.Change{{Class: model.ChangeImmutable, Set: hot, Path: "spec.serviceName"}}
		}, 3},
		{"fewer nodes are desired: they leave in order", func(s *situation) { s.d.Sets[0].Replicas = 2 }, 3},
		{"more nodes are desired", func(s *situation) { s.d.Sets[0].Replicas = 4 }, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := atStep(t, model.StepRecreate)
			gone(s)
			s.r = model.Record{}
			c.so(s)
			d := s.decide()
			e := setOf(d)
			assert.Equal(t, model.TemplateDesired, e.Template, "no other one is known")
			assert.False(t, e.InitialMasters)
			assert.Equal(t, c.replicas, e.Replicas)
			if assert.Len(t, d.Record.Sets, 1) {
				assert.Equal(t, c.replicas, d.Record.Sets[0].Replicas, "and nobody else has raised them")
			}
		})
	}
}

// Seed 6420072074: another storage class was desired, and fewer disks, when the record was lost. Of two classes no definition says, and
// a StatefulSet that had both was refused whatever was desired.
func TestADiskThatPodsUseInAdditionComesBackAsTheFirstOneIs(t *testing.T) {
	s := atStep(t, model.StepRecreate)
	gone(s)
	s.r = model.Record{}
	for i := range s.o.Pods {
		s.o.Pods[i].Volumes, s.o.Claims[i].Class, s.o.Claims[i].Requested = "data0,data1", "disks", 100*gib
		further := s.o.Claims[i]
		further.Name, further.Template = "data1-"+s.o.Pods[i].Name, "data1"
		s.o.Claims = append(s.o.Claims, further)
	}
	for i := range s.d.Volumes {
		s.d.Volumes[i].Class = "slow"
	}
	e := setOf(s.decide())
	assert.Equal(t, model.SizeList("data0="+sizeAfter+",data1="+sizeAfter), e.Sizes)
	assert.Equal(t, model.SizeList("data0=slow,data1=slow"), e.Classes)
}

// Its only pod is gone meanwhile: whatever else is said, it needs a StatefulSet.
func TestAStatefulSetComesBackThoughItsLastPodIsGone(t *testing.T) {
	for _, removed := range []bool{false, true} {
		s := atStep(t, model.StepRecreate)
		gone(s)
		s.o.Pods, s.o.Commands.Released, s.d.Removed = nil, "true", removed
		assert.Equal(t, !removed, s.decide().Apply, "by consent it is deleted with its pods")
	}
}

// A template that is kept was saved with the sizes of before.
func TestATemplateThatIsKeptHasTheSizesThatAreLive(t *testing.T) {
	s := atStep(t, "")
	s.r.Operation = nil
	s.o.Volumes[0].Text, s.o.Volumes[0].Size = sizeAfter, 200*gib
	s.o.Commands.Paused = "true"
	e := setOf(s.decide())
	assert.Equal(t, model.TemplateKept, e.Template)
	assert.Equal(t, model.SizeList("data0="+sizeAfter), e.Sizes)
}

func TestARecordThatIsLostBesideAStatefulSetOfSomebodyElseKnowsTheGroup(t *testing.T) {
	s := atStep(t, model.StepRecreate)
	released(s)
	s.o.Sets[0].Ours = false
	s.o.Sets = append(s.o.Sets, model.ObservedSet{Name: "crate-data-warm-c", UID: "w", Ours: true, Replicas: 1, Group: "warm"})
	s.d.Sets = append(s.d.Sets, model.Set{Name: "crate-data-warm-c", Group: "warm", Data: true, Replicas: 1})
	s.r = model.Record{}
	d := s.decide()
	assert.Equal(t, []model.RecordedSet{{Name: hot, Group: "hot", Replicas: 3}, {Name: "crate-data-warm-c", Group: "warm", Replicas: 1}}, d.Record.Sets)
}

// A StatefulSet is recreated from what was saved of it, and its annotations are gone meanwhile.
func TestAStatefulSetIsRecreatedOnlyOfWhatIsLiveAndWithNothingHeld(t *testing.T) {
	for _, c := range []struct {
		name  string
		so    func(s *situation)
		step  string
		waits string
	}{
		{"nothing is in the way", func(*situation) {}, model.StepRecreate, "it is deleted without its pods"},
		{"the budget lets a pod go", func(*situation) {}, model.StepGuard, "is to keep every pod first"},
		{"its budget is not there yet", func(s *situation) { s.o.Budgets = nil }, model.StepGuard, "is not there yet"},
		{"its pods are without it already: the answer to its deletion was lost", func(s *situation) { s.o.Pods[1].Controller = "" }, model.StepRecreate, "Kubernetes deletes it without its pods"},
		{"its last change was refused", func(s *situation) { s.o.ApplyErrors = []string{"denied the request"} }, model.StepRecreate, "is not applied yet"},
		{"another definition has just come", func(s *situation) { s.o.Applied.Revision = "before" }, model.StepRecreate, "is not applied yet"},
		{"the allocation lock is not given back", func(s *situation) {
			s.r.Operation, s.r.Lock = nil, &model.AllocationLock{Set: hot, Value: "primaries", Before: "all"}
			s.o.Database.Contact = model.No
		}, "", "the allocation lock is given back first"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := atStep(t, c.step)
			for i := range s.o.Pods {
				s.o.Pods[i].Controller = s.o.Sets[0].UID
			}
			s.o.Applied.Revision = s.d.Revision
			c.so(s)
			s.o.Applied.Effective = s.decide().Effective
			d := s.decide()
			said := ""
			for _, r := range d.Waits {
				if r.Name == "set-recreated" {
					said += r.Message
				}
			}
			assert.Contains(t, said, c.waits)
			recreates := d.Disruptive != nil && d.Disruptive.Kind == model.ActionRecreateSet
			assert.Equal(t, c.waits == "it is deleted without its pods", recreates)
		})
	}
}

// Seed 1300039709: the record was lost while a StatefulSet was gone, and its group had just left the
// definition. Nobody knows how it was, and no pod of it comes back until the group is written again.
func TestNothingBeginsWhileNobodyKnowsAStatefulSetThatIsGone(t *testing.T) {
	for _, c := range []struct {
		name   string
		so     func(s *situation)
		begins model.OperationKind
		waits  bool
	}{
		{"its group is not in the definition", func(s *situation) { s.d.Sets = s.d.Sets[:1] }, "", true},
		{"its group is written back: it takes its pods, which have joined", func(*situation) {}, "", false},
		{"its group is written back, and an upgrade waits for a person", func(s *situation) {
			claimDeleted(0, false)(s)
			s.d.Changes, s.d.Version = []model.Change{{Class: model.ChangeImage, Set: hot}}, "5.10.2"
		}, "", false},
		{"its group is written back, and something else of the definition is refused (6200232416)", func(s *situation) {
			s.d.Changes = append(s.d.Changes, model.Change{Class: model.ChangeImmutable, Set: hot})
		}, "", false},
		{"its group is written back while a snapshot is being taken (6410951111)", snapshotRuns, "", false},
		{"its group is not in the definition, and a snapshot is being taken", func(s *situation) {
			s.d.Sets = s.d.Sets[:1]
			snapshotRuns(s)
		}, "", true},
		{"its pods name it still, so that one of two watches is behind", func(s *situation) {
			s.d.Sets, s.podOf(warm+"-0").Controller = s.d.Sets[:1], "uid-of-warm"
		}, model.OperationRestart, false},
		{"its pods are going", func(s *situation) {
			s.d.Sets, s.podOf(warm+"-0").Terminating = s.d.Sets[:1], true
		}, model.OperationRestart, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := twoGroups(t)
			s.d.Revision, s.d.Changes = "rev-next", []model.Change{{Class: model.ChangeRestart, Set: hot}}
			s.o.Sets = slices.DeleteFunc(slices.Clone(s.o.Sets), func(live model.ObservedSet) bool { return live.Name == warm })
			s.r.Sets = slices.DeleteFunc(slices.Clone(s.r.Sets), func(r model.RecordedSet) bool { return r.Name == warm })
			s.podOf(warm + "-0").Controller = ""
			c.so(s)
			d := s.decide()
			begins := model.OperationKind("")
			if d.Record.Operation != nil {
				begins = d.Record.Operation.Kind
			}
			assert.Equal(t, c.begins, begins, "%v %v", d.Waits, d.Refusals)
			assert.Equal(t, c.waits, slices.Contains(reasons(d.Waits), "set-recreated"))
			assert.Equal(t, len(s.d.Sets) == 2, view.Recorded(d.Record.Sets, warm) != nil)
			assert.Positive(t, d.Effective.Budgets[0].MinAvailable, "no other pod may be evicted")
		})
	}
}

// snapshotRuns has a snapshot taken for which what is desired waits.
func snapshotRuns(s *situation) {
	s.d.Backups = backedUp().Backups
	s.r.Backups = &model.Backups{
		Repository: model.RecordedRepository{Name: "stevedore_0a1b2c3d"},
		Running:    &model.RunningSnapshot{Name: "stevedore-often-20260102t030000z", Schedule: "often", Began: s.o.At, Asked: s.o.At},
	}
}

// Seed 1300098741: the record was lost while a StatefulSet was gone, and before it was recreated somebody made the
// old one from a file, with the small claims.
func TestNoGrowthSucceedsBeforeEverythingIsThere(t *testing.T) {
	for name, c := range map[string]struct {
		so   func(s *situation)
		said bool
	}{
		"it is there": {func(*situation) {}, true},
		"it is gone":  {gone, false},
		"the pod of a claim has still to come": {func(s *situation) {
			c := &s.o.Claims[2]
			c.Capacity, c.Resize = 100*gib, model.ResizeNode
			s.o.Pods = slices.DeleteFunc(slices.Clone(s.o.Pods), func(p model.Pod) bool { return c.Of(p.Name) })
		}, false},
		"another group is being made, whose claims have the size (6420424810)": {func(s *situation) {
			s.r.Operation = &model.Operation{Kind: model.OperationGrow, From: s.r.Sets}
			s.r.Sets = append(slices.Clone(s.r.Sets), model.RecordedSet{Name: warm, Group: "warm", Replicas: 1})
			s.d.Sets = append(slices.Clone(s.d.Sets), model.Set{Name: warm, Group: "warm", Data: true, Replicas: 1})
		}, true},
		"somebody's stands in its place, and nothing of ours is recorded": {func(s *situation) {
			s.d.Sets = append(slices.Clone(s.d.Sets), model.Set{Name: warm, Group: "warm", Data: true, Replicas: 1})
			s.o.Sets = append(slices.Clone(s.o.Sets), model.ObservedSet{Name: warm, UID: "somebodys"})
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := atStep(t, "")
			s.r.Operation, s.r.Growth = nil, &model.VolumeGrowth{Sizes: hot + ":data0=" + sizeAfter}
			s.o.Volumes[0].Text, s.o.Volumes[0].Size = sizeAfter, 200*gib
			c.so(s)
			d := s.decide()
			said := slices.ContainsFunc(d.Reports, func(r model.Report) bool { return r.Reason == "VolumesGrown" })
			assert.Equal(t, c.said, said)
			assert.Equal(t, c.said, d.Record.Growth == nil)
		})
	}
}

// Seeds 1100209594 and 1300155378: the record is lost while the only StatefulSet is gone, and another
// definition has come. The cluster is made already, whatever that asks for.
func TestAClusterThatHasLostItsOnlyStatefulSetAndItsRecordIsNotBootstrappedAgain(t *testing.T) {
	for _, c := range []struct {
		name  string
		so    func(s *situation)
		under model.OperationKind
	}{
		{"nothing else is desired", func(*situation) {}, ""},
		{"a group more is desired: it comes by a grow, once this one is back", func(s *situation) {
			s.d.Sets = append(s.d.Sets, model.Set{Name: warm, Group: "warm", Data: true, Replicas: 2})
		}, ""},
		{"it is to be suspended", func(s *situation) {
			s.d.Sets[0].Replicas, s.d.Operations.Consent = 0, []definition.Consent{definition.ConsentSuspend}
		}, model.OperationSuspend},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := atStep(t, model.StepRecreate)
			gone(s)
			s.r, s.d.Sets = model.Record{}, slices.Clone(s.d.Sets)
			c.so(s)
			d := s.decide()
			assert.True(t, d.Record.Bootstrap.Done)
			assert.True(t, d.Apply)
			assert.Empty(t, d.Refusals)
			assert.Equal(t, 3, setOf(d).Replicas)
			under := model.OperationKind("")
			if d.Record.Operation != nil {
				under = d.Record.Operation.Kind
			}
			assert.Equal(t, c.under, under)
		})
	}
}

// Seed 1300137051: a pod failed, so that its StatefulSet was to get the desired template in the very
// pass in which it was deleted. That write was refused, and it came back on that template.
func TestAStatefulSetIsNotDeletedInAPassThatChangesIt(t *testing.T) {
	for _, changes := range []bool{false, true} {
		s := atStep(t, model.StepRecreate)
		for i := range s.o.Pods {
			s.o.Pods[i].Controller = s.o.Sets[0].UID
		}
		s.o.Applied = model.Applied{Revision: s.d.Revision}
		s.o.Applied.Effective = s.decide().Effective
		if changes {
			s.o.Applied.Effective.Sets = slices.Clone(s.o.Applied.Effective.Sets)
			s.o.Applied.Effective.Sets[0].Template = model.TemplateBefore
		}
		d := s.decide()
		assert.Equal(t, !changes, d.Disruptive != nil && d.Disruptive.Kind == model.ActionRecreateSet)
	}
}
