package ops_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
)

// crate-operator drains by name and may leave the name behind: whatever comes up under it
// stays empty.
func TestFiltersOfOthersAreNamedAndLeft(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(s *model.AllocationSettings, nodes []model.Node)
		says   []string // nil: nothing is said
	}{
		{"none", func(*model.AllocationSettings, []model.Node) {}, nil},
		{"a name of one of our nodes", func(s *model.AllocationSettings, n []model.Node) {
			s.Exclude = map[string]string{"_name": n[1].Name}
		}, []string{"exclude._name = 'crate-data-hot-c/1' keeps shards off crate-data-hot-c/1", `RESET GLOBAL "cluster.routing.allocation.exclude._name"`}},
		{"the name beside others that stay", func(s *model.AllocationSettings, n []model.Node) {
			s.Exclude = map[string]string{"_name": "elsewhere," + n[1].Name}
		}, []string{`SET GLOBAL PERSISTENT "cluster.routing.allocation.exclude._name" = 'elsewhere'`}},
		{"a name that nobody has", func(s *model.AllocationSettings, _ []model.Node) {
			s.Exclude = map[string]string{"_name": "crate-data-hot-c/7"}
		}, nil},
		{"an address", func(s *model.AllocationSettings, n []model.Node) {
			n[2].Address = "10.0.0.7"
			s.Exclude = map[string]string{"_ip": "10.0.*"}
		}, []string{"exclude._ip = '10.0.*' keeps shards off crate-data-hot-c/2"}},
		{"an attribute that is required", func(s *model.AllocationSettings, n []model.Node) {
			for i := range n {
				n[i].Attributes = map[string]string{"tier": []string{"hot", "hot", "cold"}[i]}
			}
			s.Require = map[string]string{"tier": "hot"}
		}, []string{"require.tier = 'hot' keeps shards off crate-data-hot-c/2", `RESET GLOBAL "cluster.routing.allocation.require.tier"`}},
		{"names that are included", func(s *model.AllocationSettings, n []model.Node) {
			s.Include = map[string]string{"_name": "crate-data-hot-c/0"}
		}, []string{"include._name = 'crate-data-hot-c/0' keeps shards off crate-data-hot-c/1, crate-data-hot-c/2"}},
		{"a host's name, of which nobody knows whose it is", func(s *model.AllocationSettings, n []model.Node) {
			s.Exclude = map[string]string{"_host": "h"}
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := made(t)
			c.change(&s.o.Database.Settings, s.o.Database.Nodes)
			d := s.decide()
			assert.Equal(t, model.Done, d.Verdict, "it holds nothing up: %v", d.Waits)
			assert.Empty(t, kinds(d), "and is not ours to change")
			if c.says == nil {
				assert.NotContains(t, reasons(d.Waits), "excluded-by-others")
				assert.Empty(t, d.Reports)
				return
			}
			require.Contains(t, reasons(d.Waits), "excluded-by-others")
			for _, words := range c.says {
				assert.Contains(t, said(d.Waits), words)
			}
			require.Len(t, d.Reports, 1)
			assert.True(t, d.Reports[0].Warning)
			s.r = d.Record
			assert.Empty(t, s.decide().Reports, "it is reported once")
			s.o.Database.Settings.Exclude, s.o.Database.Settings.Include, s.o.Database.Settings.Require = nil, nil, nil
			d = s.decide()
			assert.NotContains(t, reasons(d.Waits), "excluded-by-others")
			assert.Empty(t, d.Record.OthersFilters)
		})
	}
}

// grownWith is a grow from 3 to 4 nodes under a filter of others, as far as it comes.
func grownWith(t *testing.T, key, value string) *world {
	w := newWorld(t, wantedCluster(3))
	w.run(60)
	w.besideOurs(key, value)
	w.desired = wantedCluster(4)
	w.desired.Revision = "four"
	w.passes(60)
	return w
}

func TestAGrowIsNotDoneWhileOthersExcludeItsNodes(t *testing.T) {
	w := grownWith(t, "_name", "crate-data-hot-c/3")
	require.Len(t, w.pods, 4, "nodes are added all the same")
	require.NotNil(t, w.record.Operation)
	d := w.at().decide()
	assert.NotEqual(t, model.Done, d.Verdict)
	assert.Contains(t, said(d.Waits), "grown-nodes-excluded")
	assert.Contains(t, said(d.Waits), `RESET GLOBAL "cluster.routing.allocation.exclude._name"`)
	assert.Zero(t, reported(w, "GrowSucceeded"))
	assert.Zero(t, reported(w, "RevisionVerified"))

	w.besideOurs("_name", "")
	w.run(60)
	assert.Equal(t, 1, reported(w, "GrowSucceeded"), "what the statement heals passes")

	w = grownWith(t, "_name", "crate-data-hot-c/1")
	assert.Equal(t, 1, reported(w, "GrowSucceeded"), "a node that was there before is no matter of a grow")

	w = grownWith(t, "_id", "another")
	assert.Equal(t, 1, reported(w, "GrowSucceeded"), "an id is of another volume")
}

func TestAGrowSaysNothingOfWhatCouldNotBeRead(t *testing.T) {
	w := newWorld(t, wantedCluster(3))
	w.run(60)
	w.see = func(db *model.Database) { db.AllocationKnown = false }
	w.desired = wantedCluster(4)
	w.desired.Revision = "four"
	w.passes(60)
	assert.Zero(t, reported(w, "GrowSucceeded"))
	assert.Contains(t, said(w.at().decide().Waits), "allocation-known")
}

// Somebody's filter holds up no upgrade and no other size; that the grow brought nothing is
// told as a failure.
func TestAGrowWhoseNodesAreExcludedGivesWayToWhatElseIsDesired(t *testing.T) {
	w := grownWith(t, "_name", "crate-data-hot-c/3")
	require.NotNil(t, w.record.Operation)
	w.desired = wantedCluster(5)
	w.desired.Revision = "five"
	w.passes(60)
	assert.Len(t, w.pods, 5)
	assert.Equal(t, 1, reported(w, "GrowIncomplete"))

	w = grownWith(t, "_name", "crate-data-hot-c/3")
	w.desired = wantedCluster(3)
	w.desired.Revision = "three"
	w.run(200)
	assert.Len(t, w.pods, 3, "the number of nodes may be taken back")
}

// CrateDB puts only the key in force that was changed last (run on 6.4.3): a node that somebody
// keeps empty by its name would fill again as soon as a drain excludes another one by its id.
// And what somebody changes in the middle of a drain takes the effect from ours: copies come
// back to the nodes that are to leave, while sys.cluster shows both.
func TestADrainEndsNobodysExclusionAndGoesOnWhenOthersEndTheEffectOfOurs(t *testing.T) {
	begun := func(w *world) bool { return w.record.Operation != nil && w.record.Operation.Step == model.StepDrain }
	for _, c := range []struct {
		name       string
		key, value string
		meanwhile  bool // the drain has begun
		refused    bool
	}{
		{"a node that stays, by its name", "_name", hot + "/0", false, true},
		{"a node that leaves, by its name", "_name", cold + "/2", false, false},
		{"a name that nobody has", "_name", "gone", false, false},
		{"a node that stays, in the middle of a drain", "_name", hot + "/0", true, true},
		{"a node that leaves, in the middle of a drain", "_name", cold + "/2", true, false},
		{"a name that nobody has, in the middle of a drain", "_name", "gone", true, false},
		{"a name that is taken off, and leaves no trace", "_name", "", true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := filled(t, tiers(3, 3))
			w.desired = tiers(3, 1)
			if c.meanwhile {
				w.until(func() bool { return begun(w) })
			}
			w.besideOurs(c.key, c.value)
			var refused bool
			for range 150 {
				d, _ := w.pass()
				refused = refused || slices.Contains(reasons(d.Refusals), "exclusion-voids-others")
			}
			assert.Equal(t, c.refused, refused)
			if c.refused {
				assert.Empty(t, w.lowered)
				assert.True(t, w.void, "what they exclude is in force as long as they want it")
				assert.Equal(t, c.meanwhile, begun(w))
				w.besideOurs(c.key, "")
			}
			w.runQuiet(150)
			assert.Equal(t, []string{cold + " 3 to 1"}, w.lowered, "it goes on once nothing is in its way")
		})
	}
}

// Seed 6100004154: somebody had raised the replicas to what is desired, and no grow had begun: a node that is to stay counted as
// none of its group, and a change of ours ended that others exclude it.
func TestTheExclusionOfANodeThatSomebodyHasAddedAndThatIsToStayIsEndedByNobody(t *testing.T) {
	for name, c := range map[string]struct {
		desired int
		ends    bool
	}{"it is desired": {4, true}, "it is one too many": {3, false}} {
		t.Run(name, func(t *testing.T) {
			s := made(t)
			s.o.Pods, s.o.Database.Nodes, s.d.Sets, s.o.Sets = slices.Clone(s.o.Pods), slices.Clone(s.o.Database.Nodes), slices.Clone(s.d.Sets), slices.Clone(s.o.Sets)
			s.o.Sets[0].Replicas = 4
			s.o.Pods = append(s.o.Pods, model.Pod{Name: hot + "-3", NodeName: "data-hot-3", Set: hot, Ordinal: 3, Ready: true})
			s.o.Database.Nodes = append(s.o.Database.Nodes, model.Node{Name: "data-hot-3", ID: "n-3"})
			s.r.Exclusions = &model.Exclusions{Set: hot, IDs: "gone"}
			s.o.Database.AllocationKnown = true
			s.o.Database.Settings.Exclude = map[string]string{"_id": "gone", "_name": "data-hot-3"}
			s.d.Sets[0].Replicas = c.desired
			d := s.decide()
			assert.Equal(t, c.ends, slices.Contains(reasons(d.Refusals), "exclusion-voids-others"), messages(d.Waits))
			assert.Equal(t, !c.ends, slices.Contains(kinds(d), model.ActionIncludeNodes), kinds(d))
		})
	}
}

// Seed 6410972983: the pod of a node that others exclude was evicted, and the node was no member when ours was to come off.
func TestTheExclusionByNameOfANodeThatIsAwayIsEndedByNobody(t *testing.T) {
	for name, c := range map[string]struct {
		excluded string
		ends     bool
	}{"it is away": {hot + "/1", true}, "there is none of that name": {hot + "/7", false}} {
		t.Run(name, func(t *testing.T) {
			s := made(t)
			s.o.Pods = slices.Clone(s.o.Pods)
			s.away(hot + "-1")
			s.r.Exclusions = &model.Exclusions{Set: hot, IDs: "gone"}
			s.o.Database.AllocationKnown = true
			s.o.Database.Settings.Exclude = map[string]string{"_id": "gone", "_name": c.excluded}
			d := s.decide()
			assert.Equal(t, c.ends, slices.Contains(reasons(d.Refusals), "exclusion-voids-others"), messages(d.Waits))
			assert.Equal(t, !c.ends, slices.Contains(kinds(d), model.ActionIncludeNodes), kinds(d))
		})
	}
}

// Ours comes off the list when the nodes are gone, and that too is a change.
func TestOurExclusionIsNotTakenOffWhileThatWouldEndTheExclusionsOfOthers(t *testing.T) {
	w := filled(t, tiers(3, 3))
	w.desired = tiers(3, 1)
	w.until(func() bool { return len(w.lowered) > 0 })
	w.besideOurs("_name", hot+"/0")
	var refused bool
	for range 60 {
		d, _ := w.pass()
		refused = refused || slices.Contains(reasons(d.Refusals), "exclusion-voids-others")
	}
	assert.True(t, refused)
	assert.True(t, w.void)
	assert.Contains(t, w.exclude, cold)
	w.besideOurs("_name", "")
	w.runQuiet(150)
	assert.Equal(t, "somebody", w.exclude)
}
