package ops_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/render/definition"
)

// tiers is a master-eligible group and a cold one.
func tiers(hotNodes, coldNodes int) model.Desired {
	d := restartable(wantedCluster(hotNodes))
	d.Revision = fmt.Sprintf("rev-%d-%d", hotNodes, coldNodes)
	if coldNodes >= 0 {
		d.Sets = append(d.Sets, model.Set{Name: cold, Group: "cold", Data: true, Replicas: coldNodes})
	} else {
		d.Operations.Consent = append(d.Operations.Consent, definition.ConsentRemoveGroup)
	}
	return d
}

const cold = "crate-data-cold-c"

func filled(t *testing.T, d model.Desired) *world {
	w := newWorld(t, d)
	w.run(60)
	w.now = w.now.Add(time.Minute)
	w.others, w.exclude = []string{"somebody"}, "somebody"
	w.fill(model.Table{Name: "doc.one", Replicas: "1", TotalShardsPerNode: -1}, 6, 2)
	w.fill(model.Table{Name: "doc.range", Replicas: "0-1", TotalShardsPerNode: -1}, 3, 1)
	return w
}

// runQuiet runs passes until nothing is left to do; the exclusion of somebody else, which nothing explains, is
// said all the time.
func (w *world) runQuiet(turns int) model.Decision {
	w.t.Helper()
	var d model.Decision
	for range turns {
		var err error
		d, err = w.pass()
		if err == nil && d.Verdict != model.Act && len(d.Actions()) == 0 && !d.Save && len(d.Refusals) == 0 && d.Record.Operation == nil &&
			!slices.ContainsFunc(d.Waits, func(r model.Reason) bool { return r.Name != "unexplained-exclusion" }) {
			return d
		}
	}
	require.Failf(w.t, "not done", "after %d turns: %v, waits %v, refusals %v, actions %v, operation %+v", turns, d.Verdict, d.Waits, d.Refusals, d.Actions(), d.Record.Operation)
	return d
}

func checkShrunk(t *testing.T, w *world, nodes int) {
	t.Helper()
	require.Nil(t, w.record.Operation)
	require.Nil(t, w.record.Exclusions)
	require.Equal(t, "somebody", w.exclude, "C: our exclusions are given back, others' stay")
	require.Len(t, w.nodeNames(), nodes)
	require.Equal(t, nodes, w.counts, "the gateway counts follow")
	for _, s := range w.sets {
		require.Empty(t, s.Hold, "%s says that nothing is held", s.Name)
	}
	for _, n := range w.nodeNames() {
		require.True(t, w.expects[n] == nodes || w.acknowledged[n], "node check 1 is acknowledged on %s", n)
	}
	require.Len(t, w.shards, 15)
	for _, s := range w.shards {
		require.Contains(t, w.nodeNames(), s.Node)
	}
	require.Equal(t, model.StageVerified, w.record.Stage)
}

func TestNodesLeaveEmptyAndOneVoterAtATime(t *testing.T) {
	for _, c := range []struct {
		name     string
		from, to model.Desired
		nodes    int
		lowered  []string
		deleted  []string
	}{
		{"a master-eligible group, one after the other", tiers(5, 1), tiers(3, 1), 4, []string{hot + " 5 to 4", hot + " 4 to 3"}, nil},
		{"another group, all at once", tiers(3, 3), tiers(3, 1), 4, []string{cold + " 3 to 1"}, nil},
		{"both", tiers(4, 2), tiers(3, 1), 4, []string{hot + " 4 to 3", cold + " 2 to 1"}, nil},
		{"a group to nothing: its StatefulSet stays", tiers(3, 2), tiers(3, 0), 3, []string{cold + " 2 to 0"}, nil},
		{"a group that is gone", tiers(3, 2), tiers(3, -1), 3, []string{cold + " 2 to 0"}, []string{cold}},
		{"an empty group that is gone", tiers(3, 0), tiers(3, -1), 3, nil, []string{cold}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := filled(t, c.from)
			w.desired = c.to
			w.runQuiet(150)
			checkShrunk(t, w, c.nodes)
			assert.Equal(t, c.lowered, w.lowered)
			assert.Equal(t, c.deleted, w.deleted)
			assert.Equal(t, 1, reported(w, "ShrinkSucceeded"))
			assert.Equal(t, 1, reported(w, "ShrinkStarted"))
			i := slices.IndexFunc(w.reports, func(r model.Report) bool { return r.Reason == "ShrinkSucceeded" })
			assert.Equal(t, model.EventScale, w.reports[i].Event)
			assert.Equal(t, model.StatusSuccess, w.reports[i].Status)
		})
	}
}

func TestDedicatedMastersLeaveOneAtATime(t *testing.T) {
	w := newWorld(t, restartable(tiered(5, 3)))
	w.run(60)
	w.fill(model.Table{Name: "doc.one", Replicas: "1", TotalShardsPerNode: -1}, 4, 2)
	w.desired = restartable(tiered(3, 3))
	w.desired.Revision = "rev-masters"
	w.run(150)
	assert.Equal(t, []string{"crate-master-c 5 to 4", "crate-master-c 4 to 3"}, w.lowered)
}

func TestANewGroupJoinsARunningCluster(t *testing.T) {
	w := newWorld(t, tiers(3, -1))
	w.run(60)
	w.desired = tiers(3, 2)
	w.run(60)
	checkMade(t, w, 5)
	assert.Equal(t, 1, reported(w, "GrowSucceeded"))
	i := slices.IndexFunc(w.reports, func(r model.Report) bool { return r.Reason == "GrowSucceeded" })
	assert.Equal(t, []model.GroupReplicas{{Name: "hot", Replicas: 3}, {Name: "cold", Replicas: 0}}, w.reports[i].OldData)
	assert.Equal(t, []model.GroupReplicas{{Name: "hot", Replicas: 3}, {Name: "cold", Replicas: 2}}, w.reports[i].NewData)
}

// Git says otherwise, a person aborts, pauses or releases: at each pass of a shrink the end is the same as without
// it, and no pod is lost that had not left.
func TestAShrinkThatIsNoLongerDesiredGivesBackWhatItHolds(t *testing.T) {
	for _, c := range []struct {
		name string
		stop func(*world)
		ends func(*testing.T, *world, int)
	}{
		{"Git raises the replicas again", func(w *world) { w.desired = tiers(3, 3); w.desired.Revision = "rev-back" }, func(t *testing.T, w *world, _ int) {
			w.runQuiet(150)
			checkShrunk(t, w, 6)
		}},
		{"Git wants fewer still", func(w *world) { w.desired = tiers(3, 0); w.desired.Revision = "rev-less" }, func(t *testing.T, w *world, _ int) {
			w.runQuiet(150)
			checkShrunk(t, w, 3)
		}},
		{"abort", func(w *world) { w.desired.Abort = true; w.desired.Revision = "rev-abort" }, func(t *testing.T, w *world, at int) {
			w.passes(60)
			require.Equal(t, "somebody", w.exclude)
			require.Nil(t, w.record.Exclusions)
			require.Nil(t, w.record.Operation)
			require.Equal(t, len(w.nodeNames()) == 6, slices.Contains(reasons(ops.Decide(w.desired, w.observe(), w.record, model.Policy{}, w.now).Refusals), "shrink-aborted"))
		}},
		{"pause", func(w *world) { w.commands.Paused = "true" }, func(t *testing.T, w *world, _ int) {
			w.passes(20)
			require.Equal(t, "somebody", w.exclude)
			require.Nil(t, w.record.Exclusions)
			w.commands.Paused = ""
			w.runQuiet(150)
			checkShrunk(t, w, 4)
		}},
		{"release", func(w *world) { w.commands.Released = "true" }, func(t *testing.T, w *world, _ int) {
			w.passes(20)
			require.Equal(t, "somebody", w.exclude)
			require.Nil(t, w.record.Exclusions)
			require.Nil(t, w.record.Operation)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for at := 1; ; at++ {
				w := filled(t, tiers(3, 3))
				w.desired = tiers(3, 1)
				w.passes(at)
				ended := w.record.Stage == model.StageVerified && w.record.Revision == "rev-3-1"
				if ended {
					require.Greater(t, at, 8)
					return
				}
				c.stop(w)
				c.ends(t, w, at)
			}
		})
	}
}

func TestAShrinkKilledAtAnyWriteEndsTheSame(t *testing.T) {
	for _, c := range []struct {
		name     string
		from, to model.Desired
		nodes    int
	}{
		{"voters", tiers(5, 1), tiers(3, 1), 4},
		{"a group that is gone", tiers(3, 2), tiers(3, -1), 3},
		{"a group comes, nodes go", tiers(5, -1), tiers(3, 1), 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			atEachWrite(t, 12, 1, func(t *testing.T, dies cut) *world {
				w := filled(t, c.from)
				w.desired = c.to
				w.dies(dies)
				w.runQuiet(300)
				checkShrunk(t, w, c.nodes)
				if !dies.lose {
					assert.Equal(t, 1, reported(w, "ShrinkSucceeded"), "a replay has the same id")
				}
				return w
			})
		})
	}
}

// drainable is a made cluster of a master-eligible group of 3 and 3 cold nodes, of
// which Git wants 1.
func drainable(t *testing.T) *situation {
	w := filled(t, tiers(3, 3))
	w.others, w.exclude = nil, ""
	w.passes(5)
	s := &situation{d: tiers(3, 1), o: w.observe(), r: w.record}
	s.o.Stable.Master = s.o.At.Add(-time.Hour)
	s.o.Database.Settings.Exclude = map[string]string{}
	return s
}

func TestEachGateHoldsAShrinkBack(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*situation)
		wait   string
		refuse string
	}{
		{"nothing", func(*situation) {}, "", ""},
		{"no contact", func(s *situation) { s.o.Database.Contact = model.No }, "no-contact", ""},
		{"an old reading", func(s *situation) { s.o.Database.At = s.o.At.Add(-time.Hour) }, "fresh-reading", ""},
		{"a gateway that has not recovered", func(s *situation) { s.o.Database.Recovered = model.No }, "gateway-recovered", ""},
		{"no master", func(s *situation) { s.o.Database.MasterNode = "" }, "gateway-recovered", ""},
		{"tables that were not read", func(s *situation) { s.o.Database.TablesKnown = false }, "tables-known", ""},
		{"shards that were not read", func(s *situation) { s.o.Database.ShardsKnown = false }, "tables-known", ""},
		{"nodes that were not read", func(s *situation) {
			s.o.Database.NodesKnown, s.o.Database.Nodes = false, nil
			s.o.Database.Unread = []model.UnreadPart{{Part: model.PartNodes, Why: "timeout", Slow: true}}
		}, "nodes-known", ""},
		{"snapshots that were not read", func(s *situation) { s.o.Database.SnapshotsKnown = false }, "snapshot-running", ""},
		{"privileges that were not read", func(s *situation) { s.o.Database.DeniedKnown = false }, "privileges-known", ""},
		{"a schema that system may not see", func(s *situation) { s.o.Database.Denied = hiddenSchema }, "", "system-denied"},
		{"settings that were not read", func(s *situation) { s.o.Database.AllocationKnown = false }, "allocation-known", ""},
		{"a node that is away", func(s *situation) { s.o.Database.Nodes = s.o.Database.Nodes[:5] }, "nodes-joined", ""},
		{"an allocation that is held", func(s *situation) { s.o.Database.Allocation = "none" }, "allocation-enabled", ""},
		{"a yellow table", func(s *situation) { s.o.Database.Health.Colour = model.Yellow }, "health-green", ""},
		{"a red table", func(s *situation) { s.o.Database.Health.Colour = model.Red }, "health-green", ""},
		{"a snapshot", func(s *situation) { s.o.Database.Snapshots = 1 }, "snapshot-running", ""},
		{"a new master", func(s *situation) { s.o.Stable.Master = s.o.At }, "master-stable", ""},
		{"another cluster's restart", func(s *situation) { s.o.Disrupted = []string{"prod/a"} }, "disrupted-clusters", ""},
		{"a set that was scaled by hand", func(s *situation) { s.o.Sets[1].Replicas = 5 }, "replicas-live", "replicas-raised-by-others"},
		{"an abort", func(s *situation) { s.d.Abort = true }, "", "shrink-aborted"},
		{"a table that does not fit", func(s *situation) { s.o.Database.Tables[0].Replicas = "4" }, "", "replicas-do-not-fit"},
		{"a group that is gone without consent", func(s *situation) { s.d.Sets = s.d.Sets[:1] }, "", "group-removal-consent"},
		{"a group of voters below two", func(s *situation) {
			s.d.Sets[0].Replicas = 1
			s.d.Operations.Consent = append(s.d.Operations.Consent, definition.ConsentTwoMasters)
		}, "", "master-quorum"},
		{"the voters' group is gone", func(s *situation) {
			s.d.Sets = s.d.Sets[1:]
			s.d.Operations.Consent = append(s.d.Operations.Consent, definition.ConsentRemoveGroup)
		}, "", "master-group-stays"},
		{"the group that is gone votes by its live template", func(s *situation) {
			s.o.Sets[1].MasterEligible, s.d.Sets = true, s.d.Sets[:1]
			s.d.Operations.Consent = append(s.d.Operations.Consent, definition.ConsentRemoveGroup)
		}, "", "master-group-stays"},
		{"new masters", func(s *situation) {
			s.d.Sets = append([]model.Set{{Name: "crate-master-c", Group: "master", Dedicated: true, MasterEligible: true, Replicas: 3}}, s.d.Sets...)
		}, "", "new-group-not-supported"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := drainable(t)
			c.change(s)
			d := s.decide()
			if c.wait == "" && c.refuse == "" {
				require.NotNil(t, d.Record.Operation, "waits %v, refusals %v", d.Waits, d.Refusals)
				require.NotNil(t, d.Record.Exclusions, "the intent is recorded first")
				assert.Equal(t, model.StepExclude, d.Record.Operation.Step)
				assert.Empty(t, d.Actions(), "nothing is written before it is said on the StatefulSet")
				return
			}
			assert.Nil(t, d.Record.Operation)
			assert.Nil(t, d.Record.Exclusions)
			assert.Nil(t, d.Disruptive)
			if c.wait != "" {
				assert.Contains(t, reasons(d.Waits), c.wait)
			}
			if c.refuse != "" {
				assert.Contains(t, reasons(d.Refusals), c.refuse)
			}
			for _, e := range d.Effective.Sets {
				if !e.Absent {
					assert.GreaterOrEqual(t, e.Replicas, 3)
				}
			}
		})
	}
}

// stuckDrain is a world in the middle of a drain, its shards held in place.
func stuckDrain(t *testing.T) *world {
	w := filled(t, tiers(3, 3))
	w.desired = tiers(3, 1)
	w.stuck = true
	for range 60 {
		if _, err := w.pass(); err == nil && w.record.Operation != nil && w.record.Operation.Step == model.StepDrain {
			return w
		}
	}
	require.Fail(t, "no drain began")
	return nil
}

func TestADrainThatDoesNotMoveIsTriedAgain(t *testing.T) {
	w := stuckDrain(t)
	require.True(t, w.stuck)
	w.runQuiet(100)
	assert.False(t, w.stuck)
	checkShrunk(t, w, 4)
}

func TestASnapshotHoldsADrainAndItGoesOnAfterwards(t *testing.T) {
	w := stuckDrain(t)
	w.stuck, w.snapshot = false, 20
	d, err := w.pass()
	require.NoError(t, err)
	assert.Contains(t, reasons(d.Waits), "snapshot-running")
	w.runQuiet(100)
	checkShrunk(t, w, 4)
}

func TestADrainThatCannotGoOnNamesItsTables(t *testing.T) {
	w := stuckDrain(t)
	for range 60 {
		d, err := w.pass()
		require.NoError(t, err)
		w.stuck = true
		require.Empty(t, w.lowered)
		if i := slices.Index(reasons(d.Refusals), "drain-blocked"); i >= 0 {
			assert.Contains(t, d.Refusals[i].Message, "doc.one: cannot move shard to another node (data-hot-0: a copy of this shard is already allocated to this node)")
			assert.Regexp(t, `nothing has moved since \d\d:\d\d:\d\d UTC: `, d.Refusals[i].Message)
			assert.Equal(t, 1, strings.Count(d.Refusals[i].Message, "stevedore abort"))
			assert.NotContains(t, reasons(d.Waits), "draining", "what is left is said once")
			require.NotNil(t, d.Progress)
			assert.Positive(t, d.Progress.ShardsLeft)
			w.stuck = false
			w.runQuiet(100)
			checkShrunk(t, w, 4)
			return
		}
	}
	require.Fail(t, "it was never said")
}

func TestALeavingNodeThatComesBackAnewIsAnotherOne(t *testing.T) {
	w := stuckDrain(t)
	node := cold + "/2"
	w.renamed = map[string]string{node: "another-id"}
	w.shards = slices.DeleteFunc(w.shards, func(s model.Shard) bool { return s.Node == node })
	lost := 15 - len(w.shards)
	seen := false
	for range 60 {
		_, err := w.pass()
		require.NoError(t, err)
		seen = seen || strings.Contains(w.exclude, "another-id")
	}
	assert.True(t, seen, "the other node is excluded too")
	assert.Equal(t, "somebody", w.exclude)
	assert.Equal(t, []string{cold + " 3 to 1"}, w.lowered)
	assert.Len(t, w.shards, 15-lost)
}

func TestATransientExclusionThatHidesOursIsSaid(t *testing.T) {
	w := filled(t, tiers(3, 3))
	w.others, w.exclude = nil, ""
	w.hidden = "n-of-somebody"
	w.desired = tiers(3, 1)
	for range 30 {
		d, err := w.pass()
		require.NoError(t, err)
		if slices.Contains(reasons(d.Refusals), "exclusion-hidden") {
			assert.Nil(t, d.Record.Exclusions)
			assert.Empty(t, w.lowered)
			w.hidden = ""
			w.now = w.now.Add(2 * time.Minute)
			w.exclude = ""
			w.runQuiet(100)
			assert.Equal(t, []string{cold + " 3 to 1"}, w.lowered)
			return
		}
	}
	require.Fail(t, "it was never said")
}

func TestALeavingNodeThatDiesIsWaitedFor(t *testing.T) {
	w := stuckDrain(t)
	w.observe()
	w.pods[cold+"-2"].away = 5
	waited := false
	for range 4 {
		d, err := w.pass()
		require.NoError(t, err)
		waited = waited || slices.Contains(reasons(d.Waits), "leaving-node-away")
		assert.Empty(t, w.lowered)
	}
	assert.True(t, waited)
	w.runQuiet(100)
	checkShrunk(t, w, 4)
}

func TestNothingBeginsBeforeExclusionsThatAreOverAreGivenBack(t *testing.T) {
	s := drainable(t)
	s.r.Exclusions = &model.Exclusions{Set: cold, IDs: cold + "/2"}
	d := s.decide()
	assert.Nil(t, d.Record.Operation)
	assert.Contains(t, reasons(d.Waits), "exclusions-return")
	assert.Contains(t, kinds(d), model.ActionIncludeNodes)
}

func TestExclusionsThatAreGivenBackAreNamedWhileNothingCanBeAsked(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*situation)
	}{
		{"the settings were not read", func(s *situation) { s.o.Database.AllocationKnown = false }},
		{"no contact", func(s *situation) { s.o.Database.Contact = model.No }},
		{"it is not known which nodes are there", func(s *situation) { s.o.Database.NodesKnown = false }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := drainable(t)
			s.d.Version = "6.2.0" // refused: no operation names what it would wait for
			s.r.Exclusions = &model.Exclusions{Set: cold, IDs: cold + "/2"}
			c.change(s)
			d := s.decide()
			require.NotEmpty(t, d.Refusals)
			assert.Contains(t, reasons(d.Waits), "exclusions-return")
			assert.NotContains(t, kinds(d), model.ActionIncludeNodes)
		})
	}
}

func TestAnExclusionThatNothingExplainsIsSaidOnceAndOnlyAReleaseTakesItOff(t *testing.T) {
	s := made(t)
	s.o.Database.AllocationKnown = true
	s.o.Database.Settings.Exclude = map[string]string{"_id": "x,y"}
	d := s.decide()
	assert.Contains(t, reasons(d.Waits), "unexplained-exclusion")
	require.Len(t, d.Reports, 1)
	assert.Empty(t, d.Actions())
	s.r = d.Record
	assert.Empty(t, s.decide().Reports, "it is said once")
	s.o.Commands.Released = "true"
	d = s.decide()
	i := slices.Index(kinds(d), model.ActionIncludeNodes)
	require.GreaterOrEqual(t, i, 0)
	assert.Equal(t, "x,y", d.Actions()[i].NodeIDs)
}

// Between two of its steps there is nothing to do and nothing to say.
func TestAnOperationUnderWayIsNeverDone(t *testing.T) {
	s := made(t)
	s.d.Sets[0].Replicas = 2
	s.d.Operations.Consent = append(s.d.Operations.Consent, definition.ConsentTwoMasters)
	from := []model.RecordedSet{{Name: hot, Group: "hot", Replicas: 4}}
	s.r.Exclusions = &model.Exclusions{Set: hot, IDs: hot + "/2,gone"}
	s.r.Operation = &model.Operation{
		Kind: model.OperationShrink, Step: model.StepGone, Started: s.o.At, Revision: s.d.Revision, From: from, To: from,
		Shrink: &model.Shrink{Set: hot, From: 4, To: 2, Before: 4, Since: s.o.At, Leaving: []model.LeavingNode{{Name: hot + "/2", ID: hot + "/2", Pod: hot + "-2", Ordinal: 2}, {Name: hot + "/3", ID: "gone", Pod: hot + "-3", Ordinal: 3}}},
	}
	var d model.Decision
	for range 3 { // until what is effective is what was applied
		d = s.decide()
		s.o.Applied = model.Applied{Revision: s.d.Revision, Effective: d.Effective}
	}
	require.Equal(t, model.StepDrain, d.Record.Operation.Step)
	assert.Empty(t, d.Waits)
	assert.Equal(t, model.Act, d.Verdict, "the next node has not left yet")
}
