package ops_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/render/definition"
)

// elects is true while most of the pods that may become master are up. A node that is desired and not made yet votes on
// nothing.
func (w *world) elects() bool {
	up, all := 0, 0
	for _, s := range w.desired.Sets {
		if !s.MasterEligible {
			continue
		}
		was := w.counted(s.Name)
		for _, live := range w.sets {
			if live.Name == s.Name {
				up, was = up+live.Replicas, max(was, live.Replicas)
			}
		}
		all += was
	}
	return up > all/2
}

// counted is how many replicas a suspended set is to come back with.
func (w *world) counted(set string) int {
	var note struct{ Replicas int }
	if json.Unmarshal([]byte(w.set(set).Suspended), &note) != nil {
		return 0
	}
	return note.Replicas
}

// ShrinkSet asserts that the counts are remembered before the first node goes,
// and that dedicated masters go last.
func (w *world) ShrinkSet(_ context.Context, set, uid, _ string, from, to int) error {
	if len(w.record.Suspended) == 0 && to > 0 || w.recordReplicas(set) == to && w.record.Operation != nil && w.record.Operation.Shrink != nil {
		return w.shrinkDrained(set, uid, from, to)
	}
	require.True(w.t, strings.HasPrefix(uid, "uid-"+set), uid)
	i := slices.IndexFunc(w.sets, func(s model.ObservedSet) bool { return s.Name == set })
	if w.sets[i].Replicas == to {
		return nil
	}
	require.Equal(w.t, from, w.sets[i].Replicas)
	w.write(func() {
		if w.desired.Removed {
			require.False(w.t, w.record.Removal.Began.IsZero(), "that it is deleted is in the record before the first node goes")
		} else {
			require.Equal(w.t, from, w.counted(set), "the count is said on the StatefulSet before it is lowered")
			require.NotEmpty(w.t, w.record.Suspended, "and in the record")
		}
		for _, s := range w.desired.Sets {
			for other := range w.pods {
				require.False(w.t, set == "crate-master-c" && s.Data && strings.HasPrefix(other, s.Name), "%s is there while the masters stop", other)
			}
		}
		w.sets[i].Replicas = to
	})
	return nil
}

// at0 is the same cluster with all groups at 0, by consent.
func at0(d model.Desired) model.Desired {
	d.Sets = slices.Clone(d.Sets)
	for i := range d.Sets {
		d.Sets[i].Replicas = 0
	}
	d.Operations.Consent = []definition.Consent{definition.ConsentSuspend}
	d.Revision, d.Commit = d.Revision+"-suspended", d.Commit+"-suspended"
	return d
}

// rest runs passes until a suspension has ended. A lost record leaves it unknown whether the users are as they are
// desired: that waits, and is said.
func (w *world) rest(turns int) {
	for range turns {
		d, err := w.pass()
		settled := d.Verdict == model.Done || slices.Equal(reasons(d.Waits), []string{gates.SuspendedRule.Name}) && d.Verdict == model.Wait
		if err == nil && settled && !d.Save && w.record.Operation == nil {
			return
		}
	}
	d := ops.Decide(w.desired, w.observe(), w.record, model.Policy{}, w.now)
	require.Failf(w.t, "not suspended", "%v, waits %v, refusals %v, actions %v", d.Verdict, d.Waits, d.Refusals, d.Actions())
}

func checkSuspended(t *testing.T, w *world) {
	t.Helper()
	require.Nil(t, w.record.Operation)
	require.NotEmpty(t, w.record.Suspended)
	require.Empty(t, w.pods, "%v", w.record.Operation)
	for _, s := range w.sets {
		require.Zero(t, s.Replicas, s.Name)
	}
	for name, v := range w.budgets {
		require.Equal(t, 1, v, "budget %s is open", name)
	}
	require.Equal(t, "id-1", w.record.ClusterID)
	require.True(t, w.record.Bootstrap.Done)
}

func checkResumed(t *testing.T, w *world, nodes int) {
	t.Helper()
	checkMade(t, w, nodes)
	require.Empty(t, w.record.Suspended)
	for _, s := range w.sets {
		require.Empty(t, s.Suspended, s.Name)
	}
}

func suspendedWorld(t *testing.T, d model.Desired) *world {
	w := newWorld(t, d)
	w.run(60)
	w.desired = at0(w.desired)
	w.run(60)
	return w
}

func TestASuspendedClusterRestsAndComesBackAsItWas(t *testing.T) {
	for name, d := range map[string]model.Desired{"one group": wantedCluster(3), "masters and two groups": tiered(3, 2)} {
		t.Run(name, func(t *testing.T) {
			nodes := 0
			for _, s := range d.Sets {
				nodes += s.Replicas
			}
			w := suspendedWorld(t, d)
			checkSuspended(t, w)
			require.Equal(t, 1, reported(w, "SuspendStarted"))
			require.Equal(t, 1, reported(w, "SuspendSucceeded"))
			for range 2 { // and it never takes an old suspension for a new one
				writes := w.writes
				for range 3 {
					d, err := w.pass()
					require.NoError(t, err)
					require.Equal(t, model.Done, d.Verdict, "%v", d.Waits)
				}
				require.Equal(t, writes, w.writes, "a suspended cluster writes nothing")
				w.applied = model.Applied{} // a new process has to look once
				_, err := w.pass()
				require.NoError(t, err)
			}
			resumed := d
			resumed.Revision += "-resumed"
			w.desired = resumed
			w.run(60)
			checkResumed(t, w, nodes)
			require.Equal(t, 1, reported(w, "ResumeSucceeded"))

			w.desired = at0(resumed)
			w.run(60)
			checkSuspended(t, w)
			require.Equal(t, 2, reported(w, "SuspendSucceeded"))
			w.desired = d
			w.run(60)
			checkResumed(t, w, nodes)
			require.Equal(t, 2, reported(w, "ResumeSucceeded"))
			require.Equal(t, 1, reported(w, "BootstrapSucceeded"))
		})
	}
}

// Each write of a suspension, a resume with a grow, killed before and after it,
// with the record kept and lost.
func TestASuspensionIsKilledAtAnyWriteAndEndsTheSame(t *testing.T) {
	for name, c := range map[string]struct {
		from, to model.Desired
		nodes    int
	}{
		"one group":              {wantedCluster(3), wantedCluster(4), 4},
		"masters and two groups": {tiered(3, 2), tiered(3, 4), 8},
	} {
		t.Run(name, func(t *testing.T) {
			atEachWrite(t, 15, 1, func(t *testing.T, dies cut) *world {
				w := newWorld(t, c.from)
				w.run(60)
				w.dies(dies)
				w.desired = at0(w.desired)
				w.rest(60)
				checkSuspended(t, w)
				w.desired = c.to
				w.run(60)
				checkResumed(t, w, c.nodes)
				for _, reason := range []string{"SuspendSucceeded", "ResumeSucceeded", "BootstrapSucceeded", "GrowSucceeded"} {
					require.True(t, dies.lose || reported(w, reason) == 1, reason)
				}
				return w
			})
		})
	}
}

// Git changes its mind after any number of turns, both ways.
func TestAMindThatChangesMidwayIsFollowed(t *testing.T) {
	for turns := range 14 {
		t.Run(fmt.Sprintf("after %d turns", turns), func(t *testing.T) {
			d := tiered(3, 2)
			w := newWorld(t, d)
			w.run(60)
			w.desired = at0(d)
			w.passes(turns)
			back := d
			back.Revision += "-back"
			w.desired = back
			w.passes(turns)
			w.desired = at0(back)
			w.run(60)
			checkSuspended(t, w)
			w.desired = d
			w.run(60)
			checkResumed(t, w, 6)
		})
	}
}

func TestARecordThatIsLostWhileSuspendedMakesNoSecondCluster(t *testing.T) {
	for name, lose := range map[string]func(*world){
		"with the annotations": func(*world) {},
		"without the annotations": func(w *world) {
			for i := range w.sets {
				w.sets[i].Suspended = ""
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := suspendedWorld(t, wantedCluster(3))
			w.record = model.Record{}
			lose(w)
			w.rest(60)
			checkSuspended(t, w)
			for _, s := range w.sets {
				require.False(t, s.InitialMasters)
			}
			w.desired = wantedCluster(3)
			w.run(60)
			checkResumed(t, w, 3)
			require.Equal(t, 1, reported(w, "BootstrapSucceeded"), "it is not recreated")
		})
	}
}

func TestAnOutageIsNoSuspension(t *testing.T) {
	s := made(t)
	s.o.Pods, s.o.Database = nil, model.Database{At: s.o.At, Contact: model.No}
	s.o.Sets = slices.Clone(s.o.Sets)
	for i := range s.o.Sets {
		s.o.Sets[i].Current, s.o.Sets[i].Ready = 0, 0
	}
	d := s.decide()
	assert.NotEqual(t, model.Done, d.Verdict)
	assert.Equal(t, 3, d.Effective.Sets[0].Replicas)
	assert.Contains(t, reasons(d.Waits), gates.ContactRule.Name)
	assert.Contains(t, reasons(d.Waits), gates.PodsReadyRule.Name)
	assert.Empty(t, d.Record.Suspended)
}

// What keeps a suspension from beginning, and what does not.
func TestASuspensionWaitsForWhatWouldBeCutOff(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*situation)
		waits  string
	}{
		{"nothing", func(*situation) {}, ""},
		{"no contact", func(s *situation) { s.o.Database = model.Database{At: s.o.At, Contact: model.No} }, "no-contact"},
		{"an old reading", func(s *situation) { s.o.Database.At = s.o.At.Add(-time.Hour) }, "fresh-reading"},
		{"not recovered", func(s *situation) { s.o.Database.Recovered = model.No }, "gateway-recovered"},
		{"a snapshot", func(s *situation) { s.o.Database.Snapshots = 1 }, "snapshot-running"},
		{"tables unknown", func(s *situation) { s.o.Database.TablesKnown = false }, "tables-known"},
		{"a shard on its way", func(s *situation) { s.o.Database.Relocating = 1 }, "shards-moving"},
		{"a copy in the making", func(s *situation) { s.o.Database.Initializing = 1 }, "shards-moving"},
		{"a primary missing", func(s *situation) { s.o.Database.Health.Colour = model.Red }, "health-green"},
		{"health unknown", func(s *situation) { s.o.Database.Health.Colour = model.ColourUnknown }, "health-green"},
		{"a yellow that stays", func(s *situation) { s.o.Database.Health.Colour = model.Yellow }, ""},
		{"a pod that never came", func(s *situation) { s.o.Pods = s.o.Pods[:2]; s.o.Database.Nodes = s.o.Database.Nodes[:2] }, ""},
		{"a claim that is being deleted", claimDeleted(1, false), "claim-being-deleted"},
		{"one whose volume may go: nobody makes its copies again while all are stopped", claimDeleted(1, true), "claim-being-deleted"},
		{"another cluster that is being suspended", func(s *situation) { s.o.Disrupted = []string{"ns/other"} }, "disrupted-clusters"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := made(t)
			s.d = at0(s.d)
			s.o.Applied.Revision = s.d.Revision
			c.change(s)
			d := s.decide()
			require.Nil(t, d.Disruptive)
			if c.waits == "" {
				require.NotNil(t, d.Record.Operation, "%v", d.Waits)
				require.Equal(t, model.OperationSuspend, d.Record.Operation.Kind)
				return
			}
			require.Nil(t, d.Record.Operation)
			require.Empty(t, d.Record.Suspended)
			require.Contains(t, reasons(d.Waits), c.waits)
			require.NotEqual(t, model.Done, d.Verdict)
		})
	}
}

func TestAWaitNeverMakesASuspensionBegunAgain(t *testing.T) {
	// Half of the groups have stopped and nobody answers any more: it goes on.
	w := newWorld(t, tiered(3, 2))
	w.run(60)
	w.desired = at0(w.desired)
	for !slices.ContainsFunc(w.sets, func(s model.ObservedSet) bool { return s.Replicas == 0 }) {
		_, err := w.pass()
		require.NoError(t, err)
	}
	w.users["system"].password = "lost" // no contact
	w.record = model.Record{}
	w.rest(60)
	checkSuspended(t, w)
}

func TestChangesOfASuspendedClusterWaitAndAreNamed(t *testing.T) {
	w := suspendedWorld(t, restartable(wantedCluster(3)))
	w.template, w.desired.Revision = "t2", "rev-changed"
	w.desired.Users = append(slices.Clone(w.desired.Users), model.User{Name: "eve", Secret: model.SecretKey{Name: "ada", Key: "password"}})
	var d model.Decision
	for range 5 {
		var err error
		d, err = w.pass()
		require.NoError(t, err)
	}
	require.Equal(t, model.Wait, d.Verdict, "it is not as its definition says")
	require.Equal(t, []string{"suspended"}, reasons(d.Waits))
	require.Contains(t, d.Waits[0].Message, "user eve")
	require.Equal(t, "t1", w.live["crate-data-hot-c"])

	resumed := restartable(wantedCluster(3))
	resumed.Users = w.desired.Users
	w.desired = resumed
	seen := false
	for range 100 {
		d, err := w.pass()
		require.NoError(t, err)
		if reported(w, "ResumeSucceeded") == 0 {
			require.Equal(t, "t1", w.live["crate-data-hot-c"], "it comes back on the template that it had")
			require.NotContains(t, w.users, "eve-too-early")
		} else if w.live["crate-data-hot-c"] == "t2" {
			seen = true
		}
		if d.Verdict == model.Done && !d.Save {
			break
		}
	}
	require.True(t, seen, "the change follows as a restart of its own")
	require.Equal(t, 1, reported(w, "RestartSucceeded"))
	require.Contains(t, w.users, "eve")
}

func TestReplicasThatSomebodyRaisesWhileSuspendedAreNamedAndNotLowered(t *testing.T) {
	w := suspendedWorld(t, wantedCluster(3))
	w.sets[0].Replicas = 2
	var d model.Decision
	for range 3 {
		var err error
		d, err = w.pass()
		require.NoError(t, err)
	}
	require.Equal(t, []string{"replicas-raised-by-others"}, reasons(d.Refusals))
	require.Equal(t, 2, w.sets[0].Replicas)
	w.desired = wantedCluster(3)
	w.run(60)
	checkResumed(t, w, 3)
}

func TestAnAbortedSuspensionStartsAgainWhatItHasStopped(t *testing.T) {
	w := newWorld(t, wantedCluster(3))
	w.run(60)
	w.desired = at0(w.desired)
	w.passes(3)
	w.commands.Abort = "true"
	var d model.Decision
	for range 30 {
		var err error
		d, err = w.pass()
		require.NoError(t, err)
	}
	require.Equal(t, []string{"aborted"}, reasons(d.Refusals), "%v", d.Waits)
	require.Equal(t, 3, w.sets[0].Replicas)
	require.Empty(t, w.record.Suspended)
	w.commands.Abort = ""
	w.run(60)
	checkSuspended(t, w)
}

func TestANewClusterCannotBeginSuspended(t *testing.T) {
	w := newWorld(t, at0(wantedCluster(3)))
	d, err := w.pass()
	require.NoError(t, err)
	require.Equal(t, []string{"suspend-before-bootstrap"}, reasons(d.Refusals))
	require.Empty(t, w.sets)
}

// The password of `system` waits for the resume too, and a volume of another cluster for a person.
func TestWhatASuspendedClusterWaitsForIsSaid(t *testing.T) {
	w := suspendedWorld(t, wantedCluster(3))
	s := &situation{d: w.desired, o: w.observe(), r: w.record}
	i := slices.IndexFunc(s.o.Secrets, func(o model.Secret) bool { return strings.Contains(o.Name, "system") })
	require.GreaterOrEqual(t, i, 0)
	s.o.Secrets[i].Version.UID = "another"
	assert.Contains(t, messages(s.decide().Waits), "user system")

	s = &situation{d: wantedCluster(3), o: w.observe(), r: w.record}
	s.o.Applied.Revision = s.d.Revision
	require.NotNil(t, s.decide().Record.Operation, "it is resumed")
	s.o.Claims[0].ClusterID = "another"
	d := s.decide()
	assert.Nil(t, d.Record.Operation)
	assert.Contains(t, reasons(d.Refusals), "claim-of-another-cluster")
}

// The last answer of a cluster that is being stopped says that its tables are red.
func TestASuspensionThatWasAskedForReportsNoHealth(t *testing.T) {
	for name, suspended := range map[string]bool{"it runs": false, "it is suspended": true} {
		t.Run(name, func(t *testing.T) {
			s := made(t)
			s.o.Database.Health = model.Health{Colour: model.Red, Missing: 4}
			if suspended {
				s.r.Suspended, s.d.Sets[0].Replicas = []model.RecordedSet{s.r.Sets[0]}, 0
			}
			assert.Equal(t, !suspended, slices.Contains(reasons(s.decide().Waits), "tables-red"))
		})
	}
}

// Whether a suspension has to wait first must not decide whether a setting of the same push is set: a plan of a
// cluster whose shards move for a moment named what was not done.
func TestASuspensionBeginsOnceTheLiveSettingsOfItsPushAreSet(t *testing.T) {
	own := []model.Setting{{Name: jobsLog, Value: "20000"}}
	for name, c := range map[string]struct {
		before, after []model.Setting
		statement     string
	}{
		"a new one":        {nil, own, `SET GLOBAL PERSISTENT "stats.jobs_log_size" = '20000'`},
		"one that is gone": {own, nil, `RESET GLOBAL "stats.jobs_log_size"`},
	} {
		t.Run(name, func(t *testing.T) {
			w := settledWorld(t)
			w.push("rev-2", c.before...)
			w.run(20)
			w.statements = nil
			w.push("rev-3", c.after...)
			w.desired = at0(w.desired)
			w.until(func() bool { return aSetStopped(w) })
			assert.Equal(t, []string{c.statement}, w.statements)
			w.rest(60)
			checkSuspended(t, w)
		})
	}
}
