package ops_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/lifecycle"
	"stevedore.dev/stevedore/ops/model"
)

func leftover(kind, name string) model.Leftover {
	return model.Leftover{Object: model.ObjectRef{Kind: kind, Name: name}, UID: "uid-" + name, ResourceVersion: "7"}
}

// What the definition makes no more goes last, and what may hold data never.
func TestWhatIsMadeNoMoreIsRemovedOnceAllElseStands(t *testing.T) {
	plain := leftover("ConfigMap", "c")
	used := leftover("ConfigMap", "c")
	used.UsedBy = "crate-data-hot-c"
	going := leftover("ConfigMap", "c")
	going.Terminating = true
	secret, set := leftover("Secret", "s"), leftover("StatefulSet", "x")
	secret.Data, set.Data = true, true
	for _, c := range []struct {
		name   string
		found  model.Leftover
		change func(*situation)
		gone   bool
		waits  string
	}{
		{"an object that is made no more", plain, nil, true, ""},
		{"a Secret", secret, nil, false, "object-kept"},
		{"a StatefulSet", set, nil, false, ""},
		{"what a template names", used, nil, false, "object-kept"},
		{"what is being deleted", going, nil, false, ""},
		{"while something is refused", plain, func(s *situation) { s.d.TLS = true }, false, ""},
		{"while it is not applied", plain, func(s *situation) { s.o.Applied = model.Applied{} }, false, ""},
		{"while an object cannot be applied", plain, func(s *situation) { s.o.ApplyErrors = []string{"Service x: no"} }, false, "objects-applied"},
		{"while a node is missing", plain, func(s *situation) { s.o.Pods[1].Ready = false }, false, "pods-ready"},
		{"while an operation runs", plain, func(s *situation) { s.d.Sets[0].Replicas = 5 }, false, ""},
		{"while it is paused", plain, func(s *situation) { s.d.Paused = true }, false, "paused"},
		{"of a released cluster", plain, func(s *situation) { s.d.Released = true }, false, "released"},
		{"of a definition that is gone without consent", plain, func(s *situation) { s.d.Removed = true }, false, ""},
		{"of another's cluster", plain, func(s *situation) { s.d.Owner = "git:b" }, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := made(t)
			s.o.Leftovers = []model.Leftover{c.found}
			if c.change != nil {
				c.change(s)
			}
			d := s.decide()
			var deleted []model.Action
			for _, a := range d.Actions() {
				if a.Kind == model.ActionDeleteObject {
					deleted = append(deleted, a)
				}
			}
			if c.waits != "" {
				assert.Contains(t, reasons(d.Waits), c.waits)
			}
			if !c.gone {
				assert.Empty(t, deleted)
				return
			}
			require.Len(t, deleted, 1)
			assert.Equal(t, model.Action{Kind: model.ActionDeleteObject, Object: c.found.Object, SetUID: "uid-c", SetVersion: "7"}, deleted[0])
		})
	}
}

// What only stays behind keeps nothing from being done.
func TestASecretThatStaysBehindHoldsNothingBack(t *testing.T) {
	s := made(t)
	secret := leftover("Secret", "s")
	secret.Data = true
	s.o.Leftovers = []model.Leftover{secret}
	assert.Equal(t, model.Done, s.decide().Verdict)
}

// consenting is a cluster whose applied definition consents to its deletion, at the
// moment at which that definition is gone.
func consenting(t *testing.T) *situation {
	s := made(t)
	s.d.Operations.Consent = append(s.d.Operations.Consent, "delete-cluster")
	s.r = s.decide().Record
	require.NotEmpty(t, s.r.DeleteConsent)
	s.d.Removed, s.d.Operations.Consent = true, nil
	s.o.Vanished = model.Vanished{Known: true, Clusters: []string{"ns/c"}, Left: 4}
	return s
}

func (s *situation) later(d time.Duration) { s.o.At = s.o.At.Add(d) }

func TestAClusterIsDeletedOnlyWhenEverythingAllowsIt(t *testing.T) {
	many := []string{"ns/a", "ns/b", "ns/c", "ns/d"}
	for _, c := range []struct {
		name    string
		change  func(*situation)
		begins  bool
		waits   string
		refused string
	}{
		{"gone long enough", nil, true, "", ""},
		{"no consent was applied", func(s *situation) { s.r.DeleteConsent = "" }, false, "", "orphaned"},
		{"gone for a moment", func(s *situation) { s.later(-time.Minute) }, false, "removal-pending", ""},
		{"the clock has jumped back", func(s *situation) { s.later(-time.Hour) }, false, "removal-pending", ""},
		{"too many are gone", func(s *situation) { s.o.Vanished.Clusters = many }, false, "", "mass-removal"},
		{"all of several are gone", func(s *situation) { s.o.Vanished.Clusters, s.o.Vanished.Left = many[:2], 0 }, false, "", "mass-removal"},
		{"the only one is gone", func(s *situation) { s.o.Vanished.Left = 0 }, true, "", ""},
		{"others came back one after the other", func(s *situation) {
			s.o.Vanished.Clusters = many
			s.r = s.decide().Record
			s.o.Vanished.Clusters = many[2:3]
		}, false, "", "mass-removal"},
		{"not every source was read", func(s *situation) { s.o.Vanished.Known = false }, false, "removal-count-known", ""},
		{"a snapshot runs", func(s *situation) { s.o.Database.Snapshots = 1 }, false, "snapshot-running", ""},
		{"paused by command", func(s *situation) { s.o.Commands.Paused = "true" }, false, "", "orphaned"},
		{"released by command", func(s *situation) { s.o.Commands.Released = "true" }, false, "released", ""},
		{"without contact, as a suspended cluster is", func(s *situation) { s.o.Database = model.Database{At: s.o.At} }, true, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := consenting(t)
			d := s.decide()
			assert.Equal(t, []string{"removal-pending"}, reasons(d.Waits))
			require.Len(t, d.Reports, 1)
			s.r = d.Record
			assert.Empty(t, s.decide().Reports, "it is told once")
			s.later(lifecycle.DefaultRemovalDelay)
			if c.change != nil {
				c.change(s)
			}
			d = s.decide()
			assert.False(t, d.Apply)
			assert.Equal(t, c.begins, d.Record.Removal != nil && !d.Record.Removal.Began.IsZero())
			if c.waits != "" {
				assert.Contains(t, reasons(d.Waits), c.waits)
			}
			if c.refused != "" {
				assert.Equal(t, []string{c.refused}, reasons(d.Refusals))
			}
			assert.Nil(t, d.Disruptive, "nothing goes before it is recorded that it goes")
			s.r = d.Record
			d = s.decide()
			assert.Empty(t, d.Reports, "it is told once")
			if !c.begins {
				assert.Nil(t, d.Disruptive)
				return
			}
			require.NotNil(t, d.Disruptive)
			assert.Equal(t, model.ActionStopSet, d.Disruptive.Kind)
		})
	}
}

// The consent counts that was in effect: one that comes and goes with the
// definition, or that a newer definition took back, is none.
func TestTheConsentToADeletionIsThatOfWhatWasApplied(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*situation)
		counts bool
	}{
		{"applied", func(*situation) {}, true},
		{"not applied yet", func(s *situation) { s.o.Applied = model.Applied{} }, false},
		{"refused", func(s *situation) { s.d.TLS = true }, false},
		{"paused", func(s *situation) { s.d.Paused = true }, false},
		{"taken back", func(s *situation) {
			s.r = s.decide().Record
			s.d.Operations.Consent = nil
		}, false},
		{"taken back by a definition that is refused", func(s *situation) {
			s.r = s.decide().Record
			s.d.Operations.Consent = nil
			s.d.TLS = true
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := made(t)
			s.d.Operations.Consent = append(s.d.Operations.Consent, "delete-cluster")
			c.change(s)
			assert.Equal(t, c.counts, s.decide().Record.DeleteConsent != "")
		})
	}
}

// remove takes a whole cluster down in the world.
func (w *world) vanish() {
	w.desired.Removed, w.desired.Operations.Consent = true, nil
	w.vanished = model.Vanished{Known: true, Clusters: []string{"ns/c"}, Left: 1}
	w.leftovers = append(w.leftovers, leftover("Service", "crate-c"), leftover("ConfigMap", "x"))
	secret := leftover("Secret", "user-system-c")
	secret.Data = true
	w.leftovers = append(w.leftovers, secret)
}

// Killed at any write, a deletion ends the same: nodes and objects are gone, and
// claims and Secrets are there.
func TestADeletionThatIsKilledAtAnyWriteEndsTheSame(t *testing.T) {
	begin := func() *world {
		desired := wantedCluster(3)
		desired.Operations.Consent = append(desired.Operations.Consent, "delete-cluster")
		w := newWorld(t, desired)
		for range 40 {
			if d, err := w.pass(); err == nil && d.Verdict == model.Done && !d.Save {
				break
			}
		}
		require.NotEmpty(t, w.record.DeleteConsent)
		w.vanish()
		_, err := w.pass()
		require.NoError(t, err)
		w.now = w.now.Add(lifecycle.DefaultRemovalDelay)
		return w
	}
	end := func(w *world) {
		for range 60 {
			if _, err := w.pass(); err == nil && w.record.Stage == model.StageRemoved {
				break
			}
		}
		require.Equal(t, model.StageRemoved, w.record.Stage)
		assert.Empty(t, w.sets)
		require.Len(t, w.leftovers, 1)
		assert.Equal(t, "Secret", w.leftovers[0].Object.Kind)
		assert.NotEmpty(t, w.Claims)
		assert.Contains(t, w.secrets, "user-system-c")
		told := map[string]bool{}
		for _, r := range w.reports {
			told[r.Reason] = true
		}
		assert.True(t, told["RemovalPending"] && told["RemovalStarted"] && told["ClusterRemoved"], "%v", told)
	}
	w := begin()
	before := w.writes
	end(w)
	total := w.writes - before
	require.Greater(t, total, 5)
	for kill := 1; kill <= total; kill++ {
		for _, after := range []bool{false, true} {
			w := begin()
			w.killAt, w.after = w.writes+kill, after
			end(w)
		}
	}
}

// A definition that comes back while its cluster is being deleted stops that, and
// what had gone is recreated on the same volumes.
func TestADefinitionThatComesBackStopsTheDeletion(t *testing.T) {
	s := consenting(t)
	s.r = s.decide().Record
	s.later(lifecycle.DefaultRemovalDelay)
	s.r = s.decide().Record
	require.False(t, s.r.Removal.Began.IsZero())
	s.d.Removed = false
	s.o.Sets[0].Replicas = 0
	d := s.decide()
	assert.Nil(t, d.Record.Removal)
	assert.Empty(t, d.Record.DeleteConsent, "it does not consent any more")
	assert.True(t, d.Apply)
	require.Len(t, d.Effective.Sets, 1)
	assert.Equal(t, 3, d.Effective.Sets[0].Replicas)
	assert.False(t, d.Effective.Sets[0].InitialMasters, "it would found a second cluster")
}

// What is left of a cluster that is being deleted is waited for, and data nodes go before dedicated masters.
func TestADeletionTakesOneThingAfterTheOther(t *testing.T) {
	begun := func(t *testing.T) *situation {
		s := consenting(t)
		s.r = s.decide().Record
		s.later(lifecycle.DefaultRemovalDelay)
		s.r = s.decide().Record
		require.False(t, s.r.Removal.Began.IsZero())
		return s
	}
	t.Run("data nodes go first", func(t *testing.T) {
		s := begun(t)
		master := s.o.Sets[0]
		master.Name, master.Group = "crate-master-c", "master"
		s.o.Sets = append([]model.ObservedSet{master}, s.o.Sets...)
		assert.Equal(t, hot, s.decide().Disruptive.Set)
	})
	t.Run("a controller that has not seen that its pods are to go", func(t *testing.T) {
		s := begun(t)
		s.o.Sets[0].Replicas, s.o.Pods = 0, nil
		s.o.Sets[0].Generation = s.o.Sets[0].ObservedGeneration + 1
		d := s.decide()
		assert.Nil(t, d.Disruptive)
		assert.Contains(t, messages(d.Waits), "its controller has not counted yet")
		s.o.Sets[0].ObservedGeneration++
		require.NotZero(t, s.o.Sets[0].Current)
		assert.Nil(t, s.decide().Disruptive, "it counts pods still: the deletion would fail, and be logged as a failure")
		s.o.Sets[0].Current = 0
		assert.Equal(t, model.ActionDeleteSet, s.decide().Disruptive.Kind)
	})
	t.Run("an object that is being deleted", func(t *testing.T) {
		s := begun(t)
		going := leftover("Service", "s")
		going.Terminating = true
		s.o.Sets, s.o.Pods, s.o.Leftovers = nil, nil, []model.Leftover{going}
		assert.Equal(t, model.StageRemovalPending, s.decide().Record.Stage)
		s.o.Leftovers = nil
		s.r = s.decide().Record
		assert.Equal(t, model.StageRemoved, s.r.Stage)
		s.o.Leftovers = []model.Leftover{leftover("Service", "s")}
		d := s.decide()
		assert.Empty(t, d.Actions(), "what comes later is somebody else's")
	})
}
