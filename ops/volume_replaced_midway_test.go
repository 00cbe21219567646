package ops_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/view"
	"stevedore.dev/stevedore/render/definition"
)

// What is asked for midway: what is decided by then holds.
func TestAReplacementFollowsWhatIsDesiredByThen(t *testing.T) {
	midway := func(t *testing.T) *world {
		w := consentingWorld(t)
		w.desired = classed(w.desired, "slow", sizeBefore)
		for i := 0; i < 400 && w.renamed[hot+"/0"] == ""; i++ {
			_, err := w.pass()
			require.NoError(t, err)
		}
		return w
	}
	t.Run("the old class: the nodes go back", func(t *testing.T) {
		w := midway(t)
		w.desired, w.backAgain = classed(w.desired, "fast", sizeBefore), 1
		w.run(900)
		for _, c := range w.Claims {
			assert.Equal(t, "fast", c.Class, c.Name)
		}
		assert.Empty(t, w.excluded())
		assert.Len(t, w.shards, 12)
	})
	t.Run("the consent is taken back: no further volume goes, and it is said", func(t *testing.T) {
		w := midway(t)
		w.desired.Operations.Consent = nil
		w.desired.Revision = "rev-none"
		var d model.Decision
		for range 300 {
			d, _ = w.pass()
		}
		old := 0
		for _, c := range w.Claims {
			if c.Class == "fast" {
				old++
			}
			assert.False(t, c.Terminating)
		}
		assert.Equal(t, 2, old)
		assert.Contains(t, reasons(d.Waits), "volumes-replaced")
		assert.Empty(t, w.excluded())
		w.desired.Operations.Consent = []definition.Consent{definition.ConsentDeleteVolumes}
		w.desired.Revision = "rev-again"
		w.run(900)
		checkReplaced(t, w, "slow", 100*gib)
	})
	t.Run("the consent is taken back while a node is drained: it keeps its volume", func(t *testing.T) {
		w := consentingWorld(t)
		w.desired, w.stuck = classed(w.desired, "slow", sizeBefore), true
		for i := 0; i < 400 && len(w.excluded()) == 0; i++ {
			_, err := w.pass()
			require.NoError(t, err)
		}
		require.NotEmpty(t, w.excluded())
		w.desired.Operations.Consent, w.desired.Revision, w.stuck = nil, "rev-none", false
		for range 100 {
			_, _ = w.pass()
		}
		assert.Empty(t, w.excluded(), "the exclusion is given back")
		assert.Nil(t, w.record.Operation)
		for _, c := range w.Claims {
			assert.Equal(t, "fast", c.Class, c.Name)
			assert.False(t, c.Terminating, c.Name)
		}
	})
	t.Run("more nodes, and the drain is blocked: they come first", func(t *testing.T) {
		w := consentingWorld(t)
		w.desired = classed(w.desired, "slow", sizeBefore)
		for i := 0; i < 400 && len(w.excluded()) == 0; i++ {
			_, _ = w.pass()
		}
		w.fill(model.Table{Name: "doc.wide", Replicas: "2"}, 1, 3) // a copy on each node: one has nowhere to go
		isBlocked := false
		for i := 0; i < 400 && !isBlocked; i++ {
			d, _ := w.pass()
			isBlocked = slices.Contains(reasons(d.Refusals), "drain-blocked")
		}
		require.True(t, isBlocked)
		w.desired.Sets = append(slices.Clone(w.desired.Sets), model.Set{Name: warm, Group: "warm", Data: true, Replicas: 1})
		w.desired = classed(w.desired, "slow", sizeBefore)
		w.desired.Revision = "rev-warm"
		for range 60 {
			_, _ = w.pass()
		}
		require.NotNil(t, view.Recorded(w.record.Sets, warm))
		w.run(900)
		for _, c := range w.Claims {
			assert.Equal(t, "slow", c.Class, c.Name)
		}
		assert.Len(t, w.Claims, 4)
		assert.Len(t, w.shards, 15)
		assert.Empty(t, w.excluded())
	})
	t.Run("a restart", func(t *testing.T) {
		w := midway(t)
		w.template = "t2"
		w.desired.Revision = "rev-t2"
		w.run(1200)
		for _, c := range w.Claims {
			assert.Equal(t, "slow", c.Class, c.Name)
		}
		for name, p := range w.pods {
			assert.Equal(t, "t2", p.template, name)
		}
	})
	t.Run("another version", func(t *testing.T) {
		w := midway(t)
		w.desired.Version, w.desired.Revision = "5.10.2", "rev-version"
		w.run(1200)
		for _, c := range w.Claims {
			assert.Equal(t, "slow", c.Class, c.Name)
		}
	})
	t.Run("another version, and more nodes for a table without room: the drained node comes onto its volume first", func(t *testing.T) {
		w := drainedForSlow(t)
		require.NotEmpty(t, w.excluded())
		w.record.Operation = nil
		w.fill(model.Table{Name: "doc.wide", Replicas: "3"}, 1, 3)
		w.desired.Sets = slices.Clone(w.desired.Sets)
		w.desired.Sets[0].Replicas, w.desired.Version, w.desired.Revision = 4, "5.10.2", "rev-4"
		var began []string
		for range 12 {
			d, err := w.pass()
			require.NoError(t, err)
			for i := range d.Reports {
				if d.Reports[i].Reason == "UpgradeStarted" {
					began = append(began, d.Reports[i].ID)
				}
			}
			require.NotNil(t, w.record.Operation, "the upgrade that has begun goes on")
		}
		assert.Len(t, began, 1)
	})
	t.Run("a fourth node", func(t *testing.T) {
		w := midway(t)
		w.desired.Sets = slices.Clone(w.desired.Sets)
		w.desired.Sets[0].Replicas, w.desired.Revision = 4, "rev-4"
		w.run(1200)
		for _, c := range w.Claims {
			assert.Equal(t, "slow", c.Class, c.Name)
		}
	})
}

// situated is a cluster in which nodes are to come onto volumes of another class that its StatefulSet
// makes already, right before the first of them is drained.
func situated(t *testing.T) *situation {
	w := consentingWorld(t)
	w.desired = classed(w.desired, "slow", sizeBefore)
	replaces := func() bool { return w.record.Operation != nil && w.record.Operation.Kind == model.OperationReplace }
	for i := 0; i < 400 && !replaces(); i++ {
		_, _ = w.pass()
	}
	require.True(t, replaces())
	s := &situation{d: w.desired, o: w.observe(), r: w.record}
	s.r.Operation, s.r.Exclusions = nil, nil
	s.o.DeletesClaims = model.Yes
	return s
}

// deletes has the claim of a pod deleted; agreed: its volume may go.
func (s *situation) deletes(ordinal int, agreed bool) {
	s.o.Claims = slices.Clone(s.o.Claims)
	for i := range s.o.Claims {
		if c := &s.o.Claims[i]; c.Set == hot && c.Ordinal == ordinal {
			c.Terminating, c.Replace, c.Deleted = true, agreed, s.o.At
		}
	}
}

func TestWhichNodeIsDrainedNextForAnotherVolume(t *testing.T) {
	for _, c := range []struct {
		name string
		so   func(s *situation)
		next string
	}{
		{"the lowest ordinal", func(*situation) {}, hot + "-0"},
		{"before it one whose claim is being deleted", func(s *situation) { s.deletes(2, false) }, hot + "-2"},
		{"of two of these the one that may go", func(s *situation) {
			s.deletes(0, false)
			s.deletes(1, true)
		}, hot + "-1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := situated(t)
			c.so(s)
			d := s.decide()
			require.NotNil(t, d.Record.Operation, "%v %v", d.Waits, d.Refusals)
			require.NotNil(t, d.Record.Operation.Shrink)
			assert.Equal(t, c.next, d.Record.Operation.Shrink.Replaces)
		})
	}
}

// A node whose claims are being deleted by agreement is drained whatever size is desired: where pods lack a disk, their
// restarts come before nodes leave, and that of its pod waits for its only copies.
func TestANodeThatLosesItsVolumeIsDrainedThoughNodesAreToLeave(t *testing.T) {
	for _, c := range []struct {
		name string
		so   func(s *situation)
		next string
	}{
		{"none is being deleted", func(*situation) {}, ""},
		{"one of a node that stays", func(s *situation) { s.deletes(1, true) }, hot + "-1"},
		{"one of the node that leaves: it is drained for that", func(s *situation) { s.deletes(2, true) }, ""},
		{"one of a node that stays, by somebody, while those of the node that leaves are", func(s *situation) {
			s.deletes(1, false)
			s.deletes(2, true)
		}, ""},
		{"the same, which lacks a disk and restarts before", func(s *situation) {
			s.deletes(2, true)
			s.podOf(hot + "-2").Volumes = "debug"
		}, hot + "-2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := situated(t)
			s.d.Sets = slices.Clone(s.d.Sets)
			s.d.Sets[0].Replicas = 2
			s.d.Operations.Consent = append(slices.Clone(s.d.Operations.Consent), definition.ConsentTwoMasters)
			c.so(s)
			d := s.decide()
			for range 2 { // and it goes on
				next := ""
				if op := d.Record.Operation; op != nil && op.Kind == model.OperationReplace {
					next = op.Shrink.Replaces
					assert.NotEqual(t, model.StepInclude, op.Step)
				}
				assert.Equal(t, c.next, next, "%v %v", d.Waits, d.Refusals)
				s.r = d.Record
				d = s.decide()
			}
		})
	}
}

// Seed 5000349823: the record was lost after stevedore had deleted a claim for a smaller one, and shards came back to its node.
// A larger claim may be somebody's, and stays; this one goes in any case, and its node is drained before.
func TestALargerClaimWhoseVolumeMayGoIsReplacedWithoutTheRecord(t *testing.T) {
	for name, c := range map[string]struct {
		so   func(s *situation)
		next string
	}{
		"none is being deleted":             {func(*situation) {}, ""},
		"one is, and nobody has agreed":     {func(s *situation) { s.deletes(1, false) }, ""},
		"one is, and its volume may go":     {func(s *situation) { s.deletes(1, true) }, hot + "-1"},
		"the consent is not there any more": {func(s *situation) { s.deletes(1, true); s.d.Operations.Consent = nil }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := situated(t)
			s.o.Claims, s.r.Replacing = slices.Clone(s.o.Claims), nil
			for i := range s.o.Claims {
				s.o.Claims[i].Class, s.o.Claims[i].Requested, s.o.Claims[i].Capacity = "slow", 200*gib, 200*gib
			}
			c.so(s)
			next := ""
			if op := s.decide().Record.Operation; op != nil && op.Shrink != nil {
				next = op.Shrink.Replaces
			}
			assert.Equal(t, c.next, next)
		})
	}
}

// Seed 2400031989: the record was lost when a StatefulSet had the desired storage class already. That the definition consents
// counts once it is applied, and until then no word said that the nodes are on volumes of the former one.
func TestNodesOnOtherVolumesAreNamedAlsoBeforeTheConsentIsRecorded(t *testing.T) {
	for name, c := range map[string]struct {
		recorded, consents, says bool
	}{
		"it is recorded":                         {true, true, true},
		"it is not, and the definition consents": {false, true, true},
		"nobody consents":                        {false, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := situated(t)
			s.r.Replacing, s.r.VolumesConsent = nil, c.recorded
			s.o.Applied = model.Applied{}
			if !c.consents {
				s.d.Operations.Consent = nil
			}
			d := s.decide()
			assert.Equal(t, c.says, strings.Contains(waitsWith(d, "volumes-replaced"), "0 of 3 nodes are on volumes as desired"), "%v", d.Waits)
		})
	}
}

// No second node is drained while the volume of the first may still go with its pod, whatever that
// one waits for.
func TestASecondNodeWaitsForTheVolumeOfTheFirst(t *testing.T) {
	s := situated(t)
	s.deletes(2, true)
	for i := range s.o.Pods {
		if s.o.Pods[i].Name == hot+"-2" {
			s.o.Pods[i].Ready = false
		}
	}
	d := s.decide()
	assert.Nil(t, d.Record.Operation)
	assert.Contains(t, reasons(d.Waits), "volumes-replaced")
}

func TestAnExclusionIsKeptUntilTheVolumeHasGone(t *testing.T) {
	for _, c := range []struct {
		name string
		so   func(s *situation, p *model.Pod)
		kept bool
	}{
		{"its pod is there", func(*situation, *model.Pod) {}, true},
		{"its pod is not ready", func(_ *situation, p *model.Pod) { p.Ready = false }, true},
		{"a person releases the cluster", func(s *situation, _ *model.Pod) { s.d.Released = true }, false},
		{"its group has left the definition", func(s *situation, p *model.Pod) { s.d.Sets, p.Volumes = nil, "debug" }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := situated(t)
			s.deletes(0, true)
			p := s.podOf(hot + "-0")
			i := slices.IndexFunc(s.o.Database.Nodes, func(n model.Node) bool { return n.Name == p.NodeName })
			id := s.o.Database.Nodes[i].ID
			s.r.Exclusions = &model.Exclusions{Set: hot, IDs: id}
			s.o.Database.Settings.Exclude = map[string]string{"_id": id}
			s.d.Paused = true
			c.so(s, p)
			d := s.decide()
			assert.Equal(t, c.kept, action(&d, model.ActionIncludeNodes) == nil)
		})
	}
}

// A transient value hides our exclusion, which was taken back: it is said, and tried again once a minute. A drain that
// begins anew in the next pass would write to the cluster in each.
func TestADrainForAnotherVolumeThatIsHiddenIsTriedOnceAMinute(t *testing.T) {
	for _, c := range []struct {
		name  string
		since time.Duration
		said  bool
	}{
		{"in the next pass", time.Second, true},
		{"before a minute is over", 59 * time.Second, true},
		{"after a minute", time.Minute, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := situated(t)
			s.r = s.decide().Record
			d := s.decide()
			a := action(&d, model.ActionExcludeNodes)
			require.NotNil(t, a, "%v %v", d.Waits, d.Refusals)
			s.r = ops.RecordResult(d.Record, *a, model.Result{Code: model.ResultHidden}, s.o.At.Add(-c.since))
			for range 3 {
				d = s.decide()
				s.r = d.Record
				assert.Equal(t, c.said, slices.Contains(reasons(d.Refusals), "exclusion-hidden"), "%v", d.Refusals)
				if action(&d, model.ActionExcludeNodes) != nil {
					break
				}
			}
			assert.Equal(t, !c.said, action(&d, model.ActionExcludeNodes) != nil, "%v %v", d.Waits, d.Refusals)
		})
	}
}

// A consent that is taken back while a StatefulSet is away counts no more, though nothing else of that
// definition is looked at.
func TestAConsentIsWithdrawnWhileAStatefulSetIsAway(t *testing.T) {
	for _, consents := range []bool{true, false} {
		s := atStep(t, model.StepRecreate)
		gone(s)
		s.r.VolumesConsent = true
		if consents {
			s.d.Operations.Consent = []definition.Consent{definition.ConsentDeleteVolumes}
		}
		d := s.decide()
		assert.Equal(t, consents, d.Record.VolumesConsent)
	}
}

// Each node has a restart of its own. A status said that two of three pods were done while the first one was away.
func TestTheProgressOfOtherVolumesAndOfFewerDisksCountsAllNodes(t *testing.T) {
	for name, change := range map[string]func(t *testing.T) *world{
		"another class": func(t *testing.T) *world {
			w := consentingWorld(t)
			w.desired = classed(w.desired, "slow", sizeBefore)
			return w
		},
		"fewer disks": func(t *testing.T) *world {
			w := twoDisksWorld(t)
			w.desired = disked(w.desired, 1, sizeBefore)
			return w
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := change(t)
			var done []int
			for range 1200 {
				d, err := w.pass()
				require.NoError(t, err)
				if p := d.Progress; p != nil && p.Subject != "" && p.Total == 3 && p.ShardsLeft == 0 && d.Record.Operation != nil && d.Record.Operation.Restart != nil && !slices.Contains(done, p.Done) {
					done = append(done, p.Done)
				}
			}
			assert.Equal(t, []int{0, 1, 2}, done[:min(len(done), 3)], "%v", done)
		})
	}
}

// drainedForSlow restarts the pod of the first node that was drained for a volume of class slow.
func drainedForSlow(t *testing.T) *world {
	w := consentingWorld(t)
	w.desired = classed(w.desired, "slow", sizeBefore)
	restarts := func() bool { return w.record.Operation != nil && w.record.Operation.Kind == model.OperationRestart }
	for i := 0; i < 400 && !restarts(); i++ {
		_, err := w.pass()
		require.NoError(t, err)
	}
	require.True(t, restarts())
	return w
}

// Seed 6370000205: somebody made a table with a copy on each node while the pod of a drained node was about to restart onto
// another volume. The restart gave the allocation lock back for what moved, and then waited for the copy that only this node takes.
func TestARestartWaitsForNoCopyThatItsDrainedNodeTakesAfterIt(t *testing.T) {
	for _, c := range []struct {
		name  string
		so    func(s *situation, node *model.Node)
		waits bool
	}{
		{"the drained node is empty", func(*situation, *model.Node) {}, false},
		{"a shard is on it", func(s *situation, node *model.Node) {
			s.o.Database.Shards = append(slices.Clone(s.o.Database.Shards), model.Shard{Table: "doc.new", Node: node.ID, State: "STARTED"})
		}, true},
		{"what is on it is not known", func(s *situation, _ *model.Node) { s.o.Database.ShardsKnown = false }, true},
		{"its volume stays", func(s *situation, _ *model.Node) {
			s.o.Claims = slices.Clone(s.o.Claims)
			for i := range s.o.Claims {
				s.o.Claims[i].Terminating = false
			}
		}, true},
		{"a table is red", func(s *situation, _ *model.Node) { s.o.Database.Health.Colour = model.Red }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := drainedForSlow(t)
			s := &situation{d: w.desired, o: w.observe(), r: w.record}
			op := model.Own(&s.r.Operation)
			op.Step, op.Restart = model.StepStable, &model.Restart{Set: hot, Replaces: true, Since: s.o.At.Add(-time.Hour)}
			s.o.Stable.Since, s.o.Stable.Same = s.o.At.Add(-time.Hour), s.o.At.Add(-time.Hour)
			s.o.Database.Health = model.Health{Colour: model.Yellow, Underreplicated: 1, Tables: []string{"doc.new"}}
			s.o.Database.ClusterHealth = s.o.Database.Health
			node := model.Find(s.o.Database.Nodes, func(n *model.Node) bool { return n.Name == s.podOf(hot+"-0").NodeName })
			c.so(s, node)
			d := s.decide()
			require.NotNil(t, d.Record.Operation)
			assert.Equal(t, c.waits, d.Record.Operation.Step == model.StepStable, "%v", d.Waits)
		})
	}
}
