package ops_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops"
	"stevedore.dev/stevedore/ops/model"
)

// passes has the daemon look so often; the world asserts at each deletion that nobody's volume goes
// with a pod.
func (w *world) passes(n int) {
	w.t.Helper()
	for range n {
		_, err := w.pass()
		require.NoError(w.t, err)
	}
}

func (w *world) restarts() []int {
	var out []int
	for _, name := range []string{hot + "-0", hot + "-1", hot + "-2"} {
		out = append(out, w.pods[name].restarts)
	}
	return out
}

// Somebody deletes the claim of a running pod: a restart takes those before it, and stops there. The
// remedy that the gate names lets it go on.
func TestARestartStopsAtAPodWhoseClaimIsBeingDeletedAndGoesOnByAgreement(t *testing.T) {
	for name, ask := range map[string]func(*world){"a template": byTemplate, "a time": byAnnotation} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, restartable(wantedCluster(3)))
			w.run(60)
			w.deletesClaim(hot + "-1")
			ask(w)
			w.passes(80)
			assert.Equal(t, []int{1, 0, 0}, w.restarts())
			assert.Equal(t, "all", w.persistent, "no lock is held while it waits")
			d := ops.Decide(w.desired, w.observe(), w.record, model.Policy{}, w.now)
			assert.Subset(t, reasons(d.Waits), []string{"claim-being-deleted", "volume-goes-with-pod"})
			assert.Zero(t, w.budgets["crate-data-c"], "an eviction would end the volume")
			assert.Equal(t, 1, reported(w, "ClaimBeingDeleted"))

			w.agrees(hot + "-1")
			w.run(150)
			checkRestarted(t, w, true)
			assert.False(t, w.Claims[1].Terminating)
			assert.Equal(t, 1, w.budgets["crate-data-c"])
			assert.Equal(t, 1, reported(w, "ClaimBeingDeleted"))
			assert.Empty(t, w.record.DeletedClaims)
		})
	}
}

// A pod whose volume may go is restarted for that alone, and a claim that is deleted is told at
// once, though nothing is under way and all is verified.
func TestAVolumeThatMayGoIsReplacedByOneRestart(t *testing.T) {
	w := newWorld(t, restartable(wantedCluster(3)))
	w.run(60)
	w.deletesClaim(hot + "-2")
	w.passes(20)
	assert.Equal(t, 1, reported(w, "ClaimBeingDeleted"))
	assert.Equal(t, model.StageVerified, w.record.Stage, "the revision is as it was")
	assert.Equal(t, []int{0, 0, 0}, w.restarts())
	w.agrees(hot + "-2")
	w.run(100)
	assert.Equal(t, []int{0, 0, 1}, w.restarts())
	assert.False(t, w.Claims[2].Terminating)
	w.deletesClaim(hot + "-2")
	w.passes(5)
	assert.Equal(t, 2, reported(w, "ClaimBeingDeleted"), "another claim of the same name is told again")
}

// The watch still shows the claim that went with the pod before: the new pod is on another one.
func TestAPodThatWasMadeSinceItsClaimWasDeletedIsNotRestartedForIt(t *testing.T) {
	w := newWorld(t, restartable(wantedCluster(3)))
	w.run(60)
	w.deletesClaim(hot + "-2")
	w.agrees(hot + "-2")
	late := w.Claims[2]
	w.run(100)
	w.Claims[2] = late
	w.passes(60)
	assert.Equal(t, []int{0, 0, 1}, w.restarts())
}

// One or two master-eligible nodes do not vote without each other.
func TestTheVolumeOfOneOfTwoVotersStaysUntilThereAreMore(t *testing.T) {
	w := newWorld(t, restartable(wantedCluster(2)))
	w.run(60)
	w.deletesClaim(hot + "-0")
	w.agrees(hot + "-0")
	w.passes(60)
	assert.Zero(t, w.pods[hot+"-0"].restarts)
	d := ops.Decide(w.desired, w.observe(), w.record, model.Policy{}, w.now)
	require.Contains(t, reasons(d.Waits), "claim-being-deleted")
	w.desired = restartable(wantedCluster(3))
	w.run(150)
	assert.Equal(t, []int{1, 0, 0}, w.restarts(), "with a third node it is replaced")
	assert.Nil(t, w.record.Operation)
}

// By zone: a pod whose volume goes goes alone, for the copies of the others count for it.
func TestAPodWhoseVolumeGoesGoesAlone(t *testing.T) {
	w := zoned(t, 6)
	w.deletesClaim(hot + "-3")
	byAnnotation(w)
	assert.NotContains(t, w.rounds(120), "0+3")
	assert.Zero(t, w.pods[hot+"-3"].restarts)
	w.agrees(hot + "-3")
	w.run(200)
	checkRestarted(t, w, true)
}

// A claim is deleted while its pod waits under the allocation lock, or between the decision and
// the deletion: it stays, and the lock is given back.
func TestAClaimThatIsDeletedInTheLastMomentKeepsItsPod(t *testing.T) {
	for _, c := range []struct {
		name  string
		until func(*world) bool
	}{
		{"under the lock", func(w *world) bool { return w.persistent == "primaries" && w.record.Operation.Step == model.StepLock }},
		{"before the lock", func(w *world) bool { return w.record.Lock != nil }},
	} {
		for _, zones := range []bool{false, true} {
			t.Run(c.name, func(t *testing.T) {
				w, pod := newWorld(t, restartable(wantedCluster(3))), hot+"-0"
				if zones {
					w, pod = zoned(t, 6), hot+"-3" // it would go with 0
				}
				w.run(60)
				byAnnotation(w)
				w.until(func() bool { return c.until(w) })
				w.deletesClaim(pod)
				w.passes(40)
				assert.Zero(t, w.pods[pod].restarts)
				assert.Equal(t, "all", w.persistent)
				w.agrees(pod)
				w.run(200)
				checkRestarted(t, w, true)
			})
		}
	}
}

// Two versions are for minutes: an upgrade does not begin before it can end.
func TestAnUpgradeDoesNotBeginWhereItWouldStopAtADeletedClaim(t *testing.T) {
	w := upgradable(t, wantedCluster(3))
	w.deletesClaim(hot + "-2")
	to(w, "6.4.3")
	w.passes(40)
	assert.Nil(t, w.record.Operation)
	assert.Equal(t, []int{0, 0, 0}, w.restarts())
	d := ops.Decide(w.desired, w.observe(), w.record, model.Policy{}, w.now)
	assert.Contains(t, reasons(d.Waits), "claim-being-deleted")
	w.agrees(hot + "-2")
	w.run(200)
	checkUpgraded(t, w, "6.4.3")
}

// Nor where its volume may go by agreement, and must not: the upgrade would stop at that pod.
func TestAnUpgradeDoesNotBeginWhereAVolumeThatMayGoHasToStay(t *testing.T) {
	for _, c := range []struct {
		name   string
		nodes  int
		sole   []string
		waits  string
		begins bool
	}{
		{"all of it is elsewhere", 3, nil, "", true},
		{"it is one of two voters", 2, nil, "with less than 3 master-eligible nodes", false},
		{"it has the only copy of a shard", 3, []string{"doc.t"}, "the only started copy of shards of doc.t", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := upgradable(t, wantedCluster(c.nodes))
			w.deletesClaim(hot + "-0")
			w.agrees(hot + "-0")
			to(w, "6.4.3")
			s := &situation{d: w.desired, o: w.observe(), r: w.record}
			for i := range s.o.Database.Nodes {
				if n := &s.o.Database.Nodes[i]; n.Name == s.podOf(hot+"-0").NodeName {
					n.Sole = c.sole
				}
			}
			d := s.decide()
			assert.Equal(t, c.begins, d.Record.Operation != nil, "%v %v", d.Waits, d.Refusals)
			assert.Equal(t, !c.begins, slices.Contains(reasons(d.Waits), "claim-being-deleted"))
			assert.Contains(t, messages(d.Waits), c.waits)
		})
	}
}

// An empty node leaves, whatever happens to its claim: that is the other remedy.
func TestADrainedNodeLeavesThoughItsClaimIsBeingDeleted(t *testing.T) {
	w := filled(t, tiers(3, 2))
	w.deletesClaim(cold + "-1")
	w.desired = tiers(3, 1)
	w.runQuiet(150)
	checkShrunk(t, w, 3+1)
}

// Midway through a suspension a claim is deleted: that group stays up, and the person who takes the
// suspension back has it.
func TestASuspensionStopsAtAGroupWithADeletedClaim(t *testing.T) {
	s := made(t)
	s.d = at0(s.d)
	s.o.Applied.Revision = s.d.Revision
	d := s.decide()
	require.Equal(t, model.OperationSuspend, d.Record.Operation.Kind)
	s.r = d.Record
	for i := range s.o.Sets {
		for _, e := range d.Effective.Sets {
			if e.Name == s.o.Sets[i].Name {
				s.o.Sets[i].Suspended = e.Suspended
			}
		}
	}
	require.Equal(t, model.ActionSuspendSet, s.decide().Disruptive.Kind)
	claimDeleted(0, true)(s)
	d = s.decide()
	assert.Nil(t, d.Disruptive)
	assert.Contains(t, reasons(d.Waits), "claim-being-deleted")
}

// A stuck pod would be recreated but for its volume: who looks is to know what it waits for.
func TestAStuckPodThatStaysWithItsVolumeIsNamed(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*situation)
		says   string
	}{
		{"nobody has agreed", claimDeleted(0, false), "annotate the claim"},
		{"agreed, and nobody sees all tables", func(s *situation) {
			claimDeleted(0, true)(s)
			s.o.Database.DeniedKnown = false
		}, "not all tables are visible"},
		{"agreed, and nobody says what only its volume has", func(s *situation) {
			claimDeleted(0, true)(s)
			s.o.Database.MasterNode = ""
		}, "its node is no member"},
		{"the pod is on its way out", func(s *situation) {
			claimDeleted(0, false)(s)
			s.podOf(hot + "-0").Terminating = true
		}, ""},
		{"the pod is ready", func(s *situation) {
			claimDeleted(0, false)(s)
			s.podOf(hot + "-0").Ready = true
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := twoGroups(t)
			s.onTemplate(map[string]string{hot: "t2", warm: "t1"})
			s.away(hot + "-0")
			c.change(s)
			d := s.inSync()
			assert.Nil(t, d.Disruptive)
			i := slices.IndexFunc(d.Waits, func(r model.Reason) bool { return r.Name == "claim-being-deleted" })
			if require.Equal(t, c.says != "", i >= 0, "%v", reasons(d.Waits)); i >= 0 {
				assert.Contains(t, d.Waits[i].Message, c.says)
			}
		})
	}
}
