package ops_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/render/definition"
)

// What is left of a cluster decides, whatever of it was deleted by hand.
func TestALostClusterIsNeitherFoundedAgainNorMadeSmaller(t *testing.T) {
	for _, c := range []struct {
		name     string
		lose     func(*situation)
		replicas int
		id       string
	}{
		{"the record and the StatefulSet", func(s *situation) { s.r, s.o.Sets, s.o.Pods, s.o.Database = model.Record{}, nil, nil, model.Database{} }, 3, "id-1"},
		{"the StatefulSet, and a claim that says another cluster", func(s *situation) {
			s.r, s.o.Sets, s.o.Pods, s.o.Database = model.Record{}, nil, nil, model.Database{}
			s.o.Claims[2].ClusterID = "id-2"
		}, 3, ""},
		{"the StatefulSet alone, its pods left", func(s *situation) { s.o.Sets = nil }, 3, "id-1"},
		{"the StatefulSet that somebody had raised, its pods left", func(s *situation) {
			s.o.Sets = nil
			s.o.Pods = append(s.o.Pods, model.Pod{Name: hot + "-4", Set: hot, Ordinal: 4, Ready: true})
		}, 5, "id-1"},
		{"the same, and the record", func(s *situation) {
			s.r, s.o.Sets = model.Record{}, nil
			s.o.Pods = append(s.o.Pods, model.Pod{Name: hot + "-4", Set: hot, Ordinal: 4, Ready: true})
		}, 5, "id-1"},
		{"the same, and Git wants fewer", func(s *situation) {
			s.r, s.o.Sets = model.Record{}, nil
			s.d.Sets = []model.Set{{Name: hot, Group: "hot", MasterEligible: true, Data: true, Replicas: 1}}
		}, 3, "id-1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := made(t)
			c.lose(s)
			d := s.decide()
			require.NotEmpty(t, d.Effective.Sets)
			e := d.Effective.Sets[0]
			assert.False(t, e.InitialMasters, "its claims carry a cluster's data: it is not founded again")
			assert.Equal(t, c.replicas, e.Replicas)
			assert.Equal(t, c.id, d.Record.ClusterID)
		})
	}
}

// Seed 53273538: the record was lost while none was desired, before the set was made. It is made with what is
// desired by now; a grow would wait for the bootstrap, and that for it.
func TestASetOfWhichNoneWasDesiredIsMadeWithTheCluster(t *testing.T) {
	for name, c := range map[string]struct {
		recorded int
		id       string
		replicas int
	}{
		"no node of it is there":                       {0, "", 3},
		"some are: more come once the cluster is made": {1, "", 1},
		"the cluster was made: more come with a grow":  {0, "id-1", 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, wantedCluster(3))
			s := &situation{d: w.desired, o: w.observe(), r: model.Record{
				ClusterID: c.id, Sets: []model.RecordedSet{{Name: hot, Group: "hot", Replicas: c.recorded}},
				Operation: &model.Operation{Kind: model.OperationBootstrap, Started: w.now},
			}}
			assert.Equal(t, c.replicas, s.decide().Record.Sets[0].Replicas)
		})
	}
}

func TestTheVersionThatWroteToAClaimIsNeverForgotten(t *testing.T) {
	s := made(t)
	s.r, s.o.Pods, s.o.Database = model.Record{}, nil, model.Database{}
	d := s.decide()
	assert.Equal(t, "5.10.1", d.Record.HighestVersion)
}

// A record that begins anew must not give the ids of transitions that were
// delivered before: they would be taken for repetitions.
func TestReportsAfterALostRecordHaveIDsOfTheirOwn(t *testing.T) {
	s := made(t)
	known := map[string]bool{}
	refuse := func() string {
		s.d.Sets = []model.Set{{Name: hot, Group: "hot", MasterEligible: true, Data: true, Replicas: 2}}
		d := s.decide()
		require.Len(t, d.Reports, 1)
		return d.Reports[0].ID
	}
	for seq := range int64(20) {
		s.r.Seq = seq
		known[refuse()] = true
	}
	s.r = model.Record{}
	d := s.decide()
	for _, r := range d.Reports {
		assert.False(t, known[r.ID], r.Reason)
	}
	require.NotEmpty(t, d.Reports)
}

func TestReportsOfDifferentRefusalsNeverShareAnID(t *testing.T) {
	one, two := made(t), made(t)
	one.d.Sets = []model.Set{{Name: hot, Group: "hot", MasterEligible: true, Data: true, Replicas: 2}}
	two.d.TLS = true
	a, b := one.decide(), two.decide()
	require.Len(t, a.Reports, 1)
	require.Len(t, b.Reports, 1)
	assert.NotEqual(t, a.Reports[0].ID, b.Reports[0].ID)
}

// Seed 6410495979: the record was lost while no pod was there that runs the older version, in the middle of an upgrade.
func TestAResumeRecordsTheOldestVersionThatRuns(t *testing.T) {
	for _, c := range []struct {
		name                       string
		recorded, running, becomes string
	}{
		{"all run what is recorded", "6.4.3", "6.4.3", "6.4.3"},
		{"one runs an older version", "6.4.3", "6.3.7", "6.3.7"},
		{"all run a newer version than is recorded: an upgrade ends that", "6.3.7", "6.4.3", "6.3.7"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := suspendedWorld(t, wantedCluster(3))
			w.desired = wantedCluster(3)
			for i := 0; reported(w, "ResumeSucceeded") == 0; i++ {
				require.Less(t, i, 60)
				o, r, desired := w.observe(), w.record, w.desired
				if _, err := w.pass(); reported(w, "ResumeSucceeded") == 0 {
					require.NoError(t, err)
					continue
				}
				r.Version, desired.Version = c.recorded, "6.4.3"
				for i := range o.Pods {
					o.Pods[i].Version = "6.4.3"
				}
				for i := range o.Sets {
					o.Sets[i].Version = "6.4.3"
				}
				o.Pods[1].Version = c.running
				d := ops.Decide(desired, o, r, model.Policy{}, w.now)
				require.True(t, d.Record.Operation == nil || d.Record.Operation.Kind != model.OperationResume, "%v", d.Waits)
				assert.Equal(t, c.becomes, d.Record.Version)
			}
		})
	}
}

// Seed 6430069091: a StatefulSet was deleted without its pods, the record was lost, and these pods went while the cluster was
// released. Then nobody answers, and only claims say that the group had nodes.
func TestAStatefulSetThatIsGoneIsMadeWhereOnlyItsClaimsAreLeft(t *testing.T) {
	for _, c := range []struct {
		name     string
		so       func(s *situation)
		replicas int  // 0: it is not made
		grows    bool // it comes as nodes do that are added
	}{
		{"another group leaves, which waits for contact", func(*situation) {}, 3, false},
		{"the record was lost once more, with the last pod", func(s *situation) { s.r = model.Record{} }, 3, false},
		{"the same, and somebody answers: it comes as a group that is added", func(s *situation) { s.r, s.o.Database = model.Record{}, twoGroups(t).o.Database }, 3, true},
		{"somebody answers, and the other group leaves first", func(s *situation) { s.o.Database = twoGroups(t).o.Database }, 0, false},
		{"its claims are of another cluster", func(s *situation) { claimsOf(s, "another") }, 0, false},
		{"its claims say nothing", func(s *situation) { claimsOf(s, "") }, 0, false},
		{"its group is not in the definition", func(s *situation) { s.d.Sets = s.d.Sets[1:] }, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := twoGroups(t)
			s.d.Sets, s.d.Operations.Consent = s.d.Sets[:1], []definition.Consent{definition.ConsentRemoveGroup}
			s.o.Sets = slices.DeleteFunc(slices.Clone(s.o.Sets), func(live model.ObservedSet) bool { return live.Name == hot })
			s.o.Pods = slices.DeleteFunc(slices.Clone(s.o.Pods), func(p model.Pod) bool { return p.Set == hot })
			s.o.Database, s.r.Saved = model.Database{Contact: model.No}, nil
			claimsOf(s, s.r.ClusterID)
			c.so(s)
			d := s.decide()
			assert.Equal(t, c.grows, d.Record.Operation.Is(model.OperationGrow))
			is := func(e *model.EffectiveSet) bool {
				return e.Name == hot && !e.Absent && e.Template == model.TemplateDesired
			}
			if e := model.Find(d.Effective.Sets, is); c.replicas == 0 {
				assert.Nil(t, e)
			} else if assert.NotNil(t, e, "%v", d.Effective.Sets) {
				assert.Equal(t, c.replicas, e.Replicas)
				assert.False(t, e.InitialMasters, "it founds no second cluster")
			}
		})
	}
}

// claimsOf has the claims of the first group say whose data they carry.
func claimsOf(s *situation, id string) {
	s.o.Claims = slices.Clone(s.o.Claims)
	for i := range s.o.Claims {
		if s.o.Claims[i].Set == hot {
			s.o.Claims[i].ClusterID = id
		}
	}
}
