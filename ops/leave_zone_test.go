package ops_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/render/definition"
)

// threeZones is a cluster with the awareness of zones: those of the nodes of the groups hot and cold. Each shard of doc.three has a copy in each zone; doc.two has copies in a and b.
func threeZones(t *testing.T, hotZones, coldZones string) *world {
	t.Helper()
	w := newWorld(t, tiers(len(hotZones), len(coldZones)))
	w.run(60)
	w.now = w.now.Add(time.Minute)
	w.aware, w.zones = true, map[string]string{}
	of := map[string][]string{}
	for i, n := range w.nodeNames() {
		zone := (hotZones + coldZones)[i : i+1]
		w.zones[n] = zone
		of[zone] = append(of[zone], n)
	}
	for _, c := range []struct {
		table    model.Table
		shards   int
		zonesFor string
	}{{model.Table{Name: "doc.three", Replicas: "2"}, 2, "cab"}, {model.Table{Name: "doc.two", Replicas: "1"}, 2, "ab"}} {
		c.table.TotalShardsPerNode, c.table.Started = -1, len(c.zonesFor)
		w.tables = append(w.tables, c.table)
		for id := range c.shards {
			for i := range c.zonesFor {
				nodes := of[c.zonesFor[i:i+1]]
				w.shards = append(w.shards, model.Shard{Table: c.table.Name, ID: id, Node: nodes[id%len(nodes)], Primary: i == 0, State: "STARTED", Bytes: 100})
			}
		}
	}
	return w
}

// leaves asks for fewer nodes, with the consent or without it.
func (w *world) leaves(hotNodes, coldNodes int, consents ...definition.Consent) {
	w.desired = tiers(hotNodes, coldNodes)
	w.desired.Operations.Consent = append(w.desired.Operations.Consent, consents...)
}

func TestTheNodesOfAZoneLeaveByConsentAndTheirCopiesComeBackInTheOtherZones(t *testing.T) {
	for _, c := range []struct {
		name      string
		hot, cold string
		to        [2]int
		lowered   []string
	}{
		{"the only node of the zone", "abab", "c", [2]int{4, 0}, []string{cold + " 1 to 0"}},
		{"two nodes at once", "abab", "cc", [2]int{4, 0}, []string{cold + " 2 to 0"}},
		{"two that vote, one after the other", "aabcc", "b", [2]int{3, 1}, []string{hot + " 5 to 4", hot + " 4 to 3"}},
		{"nodes of both groups", "aabbc", "c", [2]int{4, 0}, []string{hot + " 5 to 4", cold + " 1 to 0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := threeZones(t, c.hot, c.cold)
			w.leaves(c.to[0], c.to[1], definition.ConsentLeaveZone)
			w.runQuiet(400)
			assert.Equal(t, c.lowered, w.lowered)
			assert.Len(t, w.nodeNames(), c.to[0]+c.to[1])
			require.Len(t, w.shards, 10)
			for range 20 {
				w.observe()
			}
			for _, s := range w.shards {
				assert.Contains(t, w.nodeNames(), s.Node, "shard %d of %s is on a node that stays", s.ID, s.Table)
			}
			assert.Equal(t, 1, reported(w, "ShrinkSucceeded"))
			i := slices.IndexFunc(w.reports, func(r model.Report) bool { return r.Reason == "ShrinkSucceeded" })
			assert.Contains(t, w.reports[i].Message, "the nodes left with copies of doc.three, each of which is started on a node that stays too: ")
			assert.NotContains(t, w.reports[i].Message, "empty")
			assert.True(t, slices.ContainsFunc(w.said, func(s string) bool { return strings.Contains(s, "node(s) leave with copies of doc.three, each") }), "%v", w.said)
			assert.Nil(t, w.record.Exclusions)
			assert.Empty(t, w.exclude)
		})
	}
}

func TestWhatLetsTheLastNodeOfAZoneBeginToLeave(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*situation)
		held   string
	}{
		{"the consent", func(*situation) {}, ""},
		{"no consent", func(s *situation) { s.d.Operations.Consent = nil }, "last-node-of-zone"},
		{"no consent, and no table that needs the zone", func(s *situation) {
			s.d.Operations.Consent = nil
			s.o.Database.Tables[0].Replicas = "1"
		}, ""},
		{"a yellow table", func(s *situation) { s.o.Database.Health.Colour = model.Yellow }, "health-green"},
		{"shards that were not read", func(s *situation) { s.o.Database.ShardsKnown = false }, "tables-known"},
		{"settings that were not read", func(s *situation) { s.o.Database.AllocationKnown = false }, "allocation-known"},
		{"a zone that is forced", func(s *situation) {
			s.o.Database.Settings.Forced = map[string][]string{"zone": {"a", "b", "c"}}
		}, "last-node-of-zone"},
		{"other zones are forced", func(s *situation) {
			s.o.Database.Settings.Forced = map[string][]string{"zone": {"a", "b"}}
		}, ""},
		{"filters of a table that let it use the nodes that leave", func(s *situation) {
			s.o.Database.Tables[0].Filtered, s.o.Database.Tables[0].Exclude = true, map[string]string{"_name": "somebody"}
		}, "table-filter-overrides-drain"},
		{"filters of a table that let it use no other", func(s *situation) {
			s.o.Database.Tables[0].Filtered, s.o.Database.Tables[0].Require = true, map[string]string{"zone": "c"}
		}, "table-filter-decides-alone"},
		{"filters of the cluster that leave too few others", func(s *situation) {
			s.o.Database.Settings.Exclude = map[string]string{"_name": hot + "/0," + hot + "/1"}
		}, "replicas-do-not-fit"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := threeZones(t, "abab", "cc")
			w.leaves(4, 0, definition.ConsentLeaveZone)
			s := &situation{d: w.desired, o: w.observe(), r: w.record}
			s.o.Stable.Master = s.o.At.Add(-time.Hour)
			c.change(s)
			d := s.decide()
			if c.held != "" {
				assert.Nil(t, d.Record.Operation)
				assert.Contains(t, append(reasons(d.Waits), reasons(d.Refusals)...), c.held)
				return
			}
			require.NotNil(t, d.Record.Operation, "waits %v, refusals %v", d.Waits, d.Refusals)
			assert.Equal(t, model.StepExclude, d.Record.Operation.Step)
		})
	}
}

// zoneLeaves is a cluster in zones a, b and c at the moment before the two nodes of zone c go by consent: they were found
// ready to go once, with copies of doc.three that are started in a and b too.
func zoneLeaves(t *testing.T) *situation {
	t.Helper()
	w := threeZones(t, "abab", "cc")
	w.leaves(4, 0, definition.ConsentLeaveZone)
	for range 100 {
		_, err := w.pass()
		require.NoError(t, err)
		if op := w.record.Operation; op != nil && op.Step == model.StepDrain && !op.Shrink.Drained.IsZero() {
			w.now = w.now.Add(time.Second)
			return &situation{d: w.desired, o: w.observe(), r: w.record}
		}
	}
	require.Fail(t, "no drain has come so far")
	return nil
}

// copy of a shard on a node, in a state.
func (s *situation) copy(table, node string) *model.Shard {
	s.o.Database.Shards = slices.Clone(s.o.Database.Shards)
	i := slices.IndexFunc(s.o.Database.Shards, func(c model.Shard) bool { return c.Table == table && c.Node == node })
	return &s.o.Database.Shards[i]
}

func TestTheLastNodeOfAZoneLeavesWithCopiesThatAreStartedElsewhere(t *testing.T) {
	leaving := cold + "/0"
	without := func(s *situation) { s.d.Operations.Consent = nil }
	// On the node hot/0, in zone a, is a copy of shard 0, and one in zone b; the third is on the node that leaves.
	elsewhere := func(s *situation, state, to string) {
		for _, node := range []string{hot + "/0", hot + "/1"} {
			c := s.copy("doc.three", node)
			c.State, c.To = state, to
		}
	}
	for _, c := range []struct {
		name   string
		change func(*situation)
		held   string
	}{
		{"each copy is started elsewhere", func(*situation) {}, ""},
		{"one other copy is started, one is initializing", func(s *situation) { s.copy("doc.three", hot+"/0").State = "INITIALIZING" }, ""},
		{"the others are only initializing", func(s *situation) { elsewhere(s, "INITIALIZING", "") }, "draining"},
		{"the others move to the node that leaves with it", func(s *situation) { elsewhere(s, "RELOCATING", cold+"/1") }, "draining"},
		{"the only copy is on the node that leaves", func(s *situation) {
			s.o.Database.Shards = slices.DeleteFunc(slices.Clone(s.o.Database.Shards), func(c model.Shard) bool { return c.Table == "doc.three" && c.ID == 0 && c.Node != leaving })
		}, "draining"},
		{"the other copy is on the other node that leaves", func(s *situation) {
			s.o.Database.Shards = slices.DeleteFunc(slices.Clone(s.o.Database.Shards), func(c model.Shard) bool { return c.Table == "doc.three" && c.ID == 0 && c.Node == hot+"/1" })
			s.copy("doc.three", hot+"/0").Node = cold + "/1"
		}, "draining"},
		{"the copy that leaves is initializing itself", func(s *situation) { s.copy("doc.three", leaving).State = "INITIALIZING" }, "draining"},
		{"the zone keeps a node, so that all copies can be drained", func(s *situation) {
			sh := *s.r.Operation.Shrink
			op := *s.r.Operation
			sh.LeaveZone, op.Shrink, s.r.Operation = false, &sh, &op
		}, "draining"},
		{"a copy is on no node", func(s *situation) { s.o.Database.Unassigned = 1 }, "draining"},
		{"a copy moves", func(s *situation) { s.o.Database.Relocating = 1 }, "draining"},
		{"a table is yellow that system may not see", func(s *situation) {
			s.o.Database.ClusterHealth = model.Health{Colour: model.Yellow, Underreplicated: 1}
		}, "cluster-health"},
		{"the shards were not read", func(s *situation) { s.o.Database.ShardsKnown = false }, "tables-known"},
		{"the tables were not read", func(s *situation) { s.o.Database.TablesKnown = false }, "tables-known"},
		{"a node that stays is away", func(s *situation) {
			s.o.Database.Nodes = slices.DeleteFunc(slices.Clone(s.o.Database.Nodes), func(n model.Node) bool { return n.Name == hot+"/0" })
		}, "nodes-joined"},
		{"the superuser sees a copy that is started nowhere else", func(s *situation) {
			e := &s.o.Database.Evidence[0]
			e.Shards = append(e.Shards, model.SeenShard{Schema: "secret", Table: "t", State: "STARTED", Node: leaving, NodeName: leaving})
		}, "superuser-sees-shards"},
		{"the superuser was not told what is elsewhere", func(s *situation) { s.o.Database.Evidence[0].Elsewhere = nil }, "superuser-sees-shards"},
		{"the volume has a shard that is started nowhere else", func(s *situation) {
			e := &s.o.Database.Evidence[1]
			e.Folders = append(e.Folders, model.ShardFolder{UUID: "of-no-table", ID: 0, Path: "of-no-table/0"})
		}, "volume-has-shards"},
		{"nobody but system could be asked", func(s *situation) { s.o.Database.Evidence = nil }, "evidence-missing"},
		{"the consent is taken back", without, "exclusions-return"},
		{"somebody has taken the exclusion off", func(s *situation) { s.o.Database.Settings.Exclude = map[string]string{} }, string(model.ActionExcludeNodes)},
		{"the allocation is held", func(s *situation) { s.o.Database.Allocation = "primaries" }, "allocation-enabled"},
		{"a table may be on the nodes that leave only, by filters that somebody has set", func(s *situation) {
			s.o.Database.Tables = slices.Clone(s.o.Database.Tables)
			s.o.Database.Tables[0].Filtered, s.o.Database.Tables[0].Require = true, map[string]string{"zone": "c"}
		}, "table-filter-decides-alone"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := zoneLeaves(t)
			require.True(t, s.r.Operation.Shrink.LeaveZone)
			c.change(s)
			d := s.decide()
			if c.held != "" {
				assert.Nil(t, d.Disruptive)
				said := append(reasons(d.Waits), reasons(d.Refusals)...)
				for _, kind := range kinds(d) {
					said = append(said, string(kind))
				}
				assert.Contains(t, said, c.held)
				return
			}
			require.NotNil(t, d.Disruptive, "waits %v, refusals %v", d.Waits, d.Refusals)
			assert.Equal(t, model.ActionShrinkSet, d.Disruptive.Kind)
			assert.Equal(t, []string{"doc.three"}, d.Record.Operation.Shrink.Behind)
			assert.True(t, d.Disruptive.Elsewhere, "the last look asks for the same")
			assert.Equal(t, cold+"/0,"+cold+"/1", d.Disruptive.NodeNames)
		})
	}
}

func TestWithoutTheConsentTheLastNodeOfAZoneIsDrainedWhereNoTableNeedsTheZone(t *testing.T) {
	w := threeZones(t, "abab", "c")
	for i := range w.tables {
		w.tables[i].Replicas = "1"
	}
	for i := len(w.shards) - 1; i >= 0; i-- {
		// Of doc.three the copies in c and in a are left.
		if s := &w.shards[i]; s.Table == "doc.three" && w.zones[s.Node] == "b" {
			w.shards = slices.Delete(w.shards, i, i+1)
		}
	}
	w.leaves(4, 0)
	w.runQuiet(200)
	assert.Equal(t, []string{cold + " 1 to 0"}, w.lowered)
	i := slices.IndexFunc(w.reports, func(r model.Report) bool { return r.Reason == "ShrinkSucceeded" })
	require.GreaterOrEqual(t, i, 0)
	assert.Contains(t, w.reports[i].Message, "the nodes left empty: ")
}

// While the node was away its copies were lost to it, and no other node may take them: it is in their zone, and excluded. So the
// exclusion is given back until it has them again.
func TestTheLastNodeOfAZoneThatWasAwayHasItsCopiesAgainBeforeItLeaves(t *testing.T) {
	w := threeZones(t, "abab", "c")
	w.leaves(4, 0, definition.ConsentLeaveZone)
	for w.record.Operation == nil || w.record.Operation.Step != model.StepDrain {
		_, err := w.pass()
		require.NoError(t, err)
	}
	w.pods[cold+"-0"].away = 2 // back before CrateDB makes its copies anew
	w.runQuiet(400)
	assert.Equal(t, []string{cold + " 1 to 0"}, w.lowered)
	assert.Nil(t, w.record.Exclusions)
}
