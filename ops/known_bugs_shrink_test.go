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
)

// idsOn are the nodes of a set on the exclude list.
func (w *world) idsOn(set string) []string {
	return slices.DeleteFunc(w.excluded(), func(id string) bool { return !strings.HasPrefix(id, set+"/") })
}

// draining is a world in which the nodes cold/1 and cold/2 are being drained.
func draining(t *testing.T) *world {
	w := filled(t, tiers(3, 3))
	w.desired = tiers(3, 1)
	w.until(func() bool { return w.record.Operation != nil && w.record.Operation.Step == model.StepDrain })
	return w
}

// With crate-operator, the exclusions of the groups that had shrunk first were
// left behind, and their next nodes stayed empty.
func TestExclusionsOfEarlierGroupsAreNotLeftBehind(t *testing.T) {
	w := filled(t, tiers(4, 2))
	w.desired = tiers(3, 1)
	both := false
	for range 150 {
		_, err := w.pass()
		require.NoError(t, err)
		if len(w.idsOn(cold)) > 0 {
			require.Empty(t, w.idsOn(hot), "what the first group excluded is given back before the second one's turn")
			both = true
		}
	}
	require.True(t, both)
	checkShrunk(t, w, 4)
}

// With crate-operator, a scale-down set the whole list and cleared it afterwards:
// people's own exclusions were gone.
func TestExclusionsOfOthersAreNotWiped(t *testing.T) {
	w := draining(t)
	require.Contains(t, w.excluded(), "somebody")
	w.others = append(w.others, "somebody-else")
	w.exclude += ",somebody-else"
	for range 100 {
		_, err := w.pass()
		require.NoError(t, err)
		require.Subset(t, w.excluded(), w.others)
	}
	assert.Len(t, w.nodeNames(), 4)
	assert.ElementsMatch(t, w.others, w.excluded(), "and ours are off")
}

// With crate-operator, one table that wants a copy on every node blocked each
// scale-down: its upper bound was compared with the nodes that remain.
func TestATableWithACopyOnEachNodeBlocksNoShrink(t *testing.T) {
	for _, replicas := range []string{"1-all", "0-all", "0-5"} {
		t.Run(replicas, func(t *testing.T) {
			w := filled(t, tiers(3, 3))
			w.fill(model.Table{Name: "doc.every", Replicas: replicas, TotalShardsPerNode: -1}, 1, 6)
			w.desired = tiers(3, 1)
			w.until(func() bool { return w.record.Operation != nil && w.record.Operation.Step == model.StepDrain })
			// CrateDB counts excluded nodes no more and gives their copies up.
			w.shards = slices.DeleteFunc(w.shards, func(s model.Shard) bool {
				return s.Table == "doc.every" && slices.Contains(w.excluded(), s.Node)
			})
			for i := range w.tables {
				w.tables[i].Started = min(w.tables[i].Started, 4)
			}
			w.runQuiet(150)
			assert.Equal(t, []string{cold + " 3 to 1"}, w.lowered)
		})
	}
	t.Run("a lower bound that does not fit is refused", func(t *testing.T) {
		w := filled(t, tiers(3, 3))
		w.fill(model.Table{Name: "doc.many", Replicas: "4-all", TotalShardsPerNode: -1}, 1, 6)
		w.desired = tiers(3, 1)
		d, err := w.pass()
		require.NoError(t, err)
		assert.Contains(t, reasons(d.Refusals), "replicas-do-not-fit")
		assert.Nil(t, w.record.Operation)
	})
}

// With crate-operator, a node was stopped when its drain had taken too long,
// shards or not.
func TestANodeThatIsNotEmptyIsNeverStoppedHoweverLongItTakes(t *testing.T) {
	w := draining(t)
	w.snapshot = 1 << 30 // nothing moves
	for range 50 {
		w.now = w.now.Add(time.Hour)
		d, err := w.pass()
		require.NoError(t, err)
		require.Nil(t, d.Disruptive)
	}
	assert.Empty(t, w.lowered)
	assert.Len(t, w.nodeNames(), 6)
	assert.Equal(t, 1, reported(w, "ShrinkTimedOut"), "that it takes long is told, once")
	w.snapshot = 0
	w.runQuiet(150)
	checkShrunk(t, w, 4)
}

// With crate-operator, an allocation lock that an earlier operation had left behind kept the replicas of leaving
// nodes where they were.
func TestAnAllocationLockThatWasLeftBehindStallsNoLaterShrink(t *testing.T) {
	w := filled(t, tiers(3, 3))
	w.persistent = "primaries"
	w.record.Lock = &model.AllocationLock{Set: cold, Value: "primaries", Before: "all"}
	w.desired = tiers(3, 1)
	w.runQuiet(150)
	checkShrunk(t, w, 4)
	assert.Equal(t, "all", w.persistent)
}

// In crate-operator, a scale under somebody's allocation.enable can never move a
// replica, and waits for it.
func TestAShrinkDoesNotBeginWhereReplicasCannotMove(t *testing.T) {
	for _, value := range []string{"primaries", "new_primaries", "none"} {
		t.Run(value, func(t *testing.T) {
			w := filled(t, tiers(3, 3))
			w.persistent, w.desired = value, tiers(3, 1)
			for range 10 {
				d, err := w.pass()
				require.NoError(t, err)
				require.Nil(t, w.record.Operation)
				require.Contains(t, reasons(d.Waits), "allocation-enabled")
			}
			assert.Equal(t, "somebody", w.exclude)
		})
		t.Run(value+", midway", func(t *testing.T) {
			w := draining(t)
			w.persistent = value
			for range 20 {
				d, err := w.pass()
				require.NoError(t, err)
				require.Nil(t, d.Disruptive)
				require.Contains(t, reasons(d.Waits), "allocation-enabled")
			}
			assert.Empty(t, w.lowered)
			w.persistent = "all"
			w.runQuiet(150)
			checkShrunk(t, w, 4)
		})
	}
}

// In crate-operator, the nodes that leave are waited for only while all of them
// are there, and are allowed shards again while one still runs.
func TestWhatLeavesStaysExcludedUntilTheLastOfItIsGone(t *testing.T) {
	w := draining(t)
	w.until(func() bool { return len(w.leaving()) > 0 })
	for len(w.leaving()) > 0 {
		require.Len(t, w.idsOn(cold), 2)
		o := w.observe()
		// One has gone, the other is stuck.
		o.Pods = slices.DeleteFunc(o.Pods, func(p model.Pod) bool { return p.Name == cold+"-1" })
		o.Database.Nodes = slices.DeleteFunc(o.Database.Nodes, func(n model.Node) bool { return n.Name == cold+"/1" })
		if len(w.leaving()) > 0 {
			d := ops.Decide(w.desired, o, w.record, model.Policy{}, w.now)
			require.NotContains(t, kinds(d), model.ActionIncludeNodes)
			require.Contains(t, reasons(d.Waits), "nodes-gone")
		}
		_, err := w.pass()
		require.NoError(t, err)
	}
	w.runQuiet(150)
	checkShrunk(t, w, 4)
}

// In crate-operator, a drain counts the shards on the leaving nodes only: a copy
// that is on no node, and whose last data is on one of them, is overlooked.
func TestAShardThatIsNowhereKeepsTheNodesThatLeave(t *testing.T) {
	w := draining(t)
	w.until(func() bool { return w.record.Operation.Shrink != nil && !w.record.Operation.Shrink.Drained.IsZero() })
	w.now = w.now.Add(time.Second)
	for _, c := range []struct {
		name  string
		there func(*model.Database)
		goes  bool
	}{
		{"nothing is left", func(*model.Database) {}, true},
		{"a copy is on no node", func(db *model.Database) { db.Unassigned = 1 }, false},
		{"a copy is in the making", func(db *model.Database) { db.Initializing = 1 }, false},
		{"a copy moves", func(db *model.Database) { db.Relocating = 1 }, false},
		{"a copy has come back", func(db *model.Database) { db.Shards[0].Node = cold + "/1" }, false},
		{"a copy is on its way there", func(db *model.Database) {
			db.Shards[0].State, db.Shards[0].To = "RELOCATING", cold+"/1"
		}, false},
		{"the shards are not known", func(db *model.Database) { db.ShardsKnown = false }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := w.observe()
			c.there(&o.Database)
			d := ops.Decide(w.desired, o, w.record, model.Policy{}, w.now)
			if c.goes {
				require.NotNil(t, d.Disruptive, "%v", d.Waits)
				assert.Equal(t, model.ActionShrinkSet, d.Disruptive.Kind)
				return
			}
			assert.Nil(t, d.Disruptive)
			assert.Equal(t, 3, d.Record.Sets[1].Replicas)
		})
	}
}

// In crate-operator, the check before a shrink compares each table's replicas
// with all nodes that remain, and looks at nothing else.
func TestTheForecastSeesPartitionsFiltersZonesShardsAndDisks(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*model.Observed)
		refuse string
	}{
		{"all is well", func(*model.Observed) {}, ""},
		{"a partition that wants more copies than its table", func(o *model.Observed) {
			o.Database.Tables = append(o.Database.Tables, model.Table{Name: "doc.p partition a", Of: "doc.p", Partition: "a", Replicas: "4", Started: 5, TotalShardsPerNode: -1})
		}, "replicas-do-not-fit"},
		{"a table of one tier", func(o *model.Observed) {
			for i := range o.Database.Nodes {
				if strings.HasPrefix(o.Database.Nodes[i].Name, cold) {
					o.Database.Nodes[i].Attributes = map[string]string{"tier": "cold"}
				}
			}
			o.Database.Settings.Require = map[string]string{"tier": "cold"}
		}, "replicas-do-not-fit"},
		{"a table with filters of its own", func(o *model.Observed) {
			o.Database.Tables[0].Filtered, o.Database.Tables[0].Exclude = true, map[string]string{"_name": "somebody"}
		}, "table-filter-overrides-drain"},
		{"the last node of a zone", func(o *model.Observed) {
			for i := range o.Database.Nodes {
				zone := "a"
				if n := o.Database.Nodes[i].Name; n == cold+"/1" || n == cold+"/2" {
					zone = "b"
				}
				o.Database.Nodes[i].Attributes = map[string]string{"zone": zone}
			}
			o.Database.Settings.Awareness = []string{"zone"}
		}, "last-node-of-zone"},
		{"disks that are nearly full", func(o *model.Observed) {
			for i := range o.Database.Nodes {
				o.Database.Nodes[i].DiskSize, o.Database.Nodes[i].DiskUsed = 1000, 845
			}
			o.Database.Settings.DiskThreshold, o.Database.Settings.LowWatermark = true, "85%"
		}, "disk-does-not-fit"},
		{"as many shards as nodes may have", func(o *model.Observed) { o.Database.Settings.ShardsPerNode = 3 }, "shards-do-not-fit"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := filled(t, tiers(3, 3))
			w.desired = tiers(3, 1)
			w.desired.Version, w.record.Version = "5.10.1", "5.10.1"
			o := w.observe()
			o.Stable.Master = w.now.Add(-time.Hour)
			c.change(&o)
			d := ops.Decide(w.desired, o, w.record, model.Policy{}, w.now)
			if c.refuse == "" {
				require.NotNil(t, d.Record.Operation, "%v %v", d.Waits, d.Refusals)
				return
			}
			assert.Nil(t, d.Record.Operation)
			assert.Contains(t, reasons(d.Refusals), c.refuse)
			assert.Empty(t, d.Record.Exclusions)
		})
	}
}

// In crate-operator, a scale that has taken too long leaves its exclusions.
func TestAShrinkThatTookTooLongLeavesNoExclusionBehind(t *testing.T) {
	for name, end := range map[string]func(*world){
		"aborted":                func(w *world) { w.commands.Abort = "true" },
		"taken back by Git":      func(w *world) { w.desired = tiers(3, 3); w.desired.Revision = "rev-back" },
		"the definition is gone": func(w *world) { w.desired.Removed = true },
	} {
		t.Run(name, func(t *testing.T) {
			w := draining(t)
			w.snapshot = 1 << 30
			w.until(func() bool { w.now = w.now.Add(time.Minute); return reported(w, "ShrinkTimedOut") == 1 })
			require.NotEmpty(t, w.idsOn(cold), "it is still tried")
			end(w)
			w.until(func() bool { return w.exclude == "somebody" && w.record.Exclusions == nil })
			w.passes(10)
			assert.Equal(t, "somebody", w.exclude)
			assert.Empty(t, w.lowered)
			assert.Len(t, w.nodeNames(), 6)
		})
	}
}

// Seed 6155: they are given back with contact only, and that comes with the resume.
func TestAResumeDoesNotWaitForExclusions(t *testing.T) {
	s := drainable(t)
	s.d = tiers(3, 3)
	s.r.Suspended = s.r.Sets
	s.r.Sets = slices.Clone(s.r.Sets)
	for i := range s.r.Sets {
		s.r.Sets[i].Replicas, s.o.Sets[i].Replicas = 0, 0
	}
	s.r.Exclusions, s.o.Pods, s.o.Database = &model.Exclusions{IDs: "somebodys"}, nil, model.Database{}
	d := s.decide()
	require.NotNil(t, d.Record.Operation)
	assert.Equal(t, model.OperationResume, d.Record.Operation.Kind)
	assert.NotNil(t, d.Record.Exclusions)
}

// Seeds 79957 and 531083: a group went out of the definition with an upgrade and was left
// on the version before; a range of replicas counts its nodes, which take no copy.
func TestAShrinkDoesNotWaitForCopiesThatOnlyTheLeavingNodesCouldHave(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*situation)
		begins bool
	}{
		{"only they could take them", func(*situation) {}, true},
		{"a fixed number of replicas stays too high without them", func(s *situation) { s.o.Database.Tables[0].Replicas = "5" }, false},
		{"a node that stays is as old, and has its copy", func(s *situation) { s.version(hot+"-2", "6.3.7") }, true},
		{"one that stays is as old, and has none", func(s *situation) {
			s.version(hot+"-2", "6.3.7")
			db := &s.o.Database
			i := slices.IndexFunc(db.Shards, func(c model.Shard) bool { return c.Node == s.nodeID(hot+"-2") })
			db.Shards[i].Node, db.Shards[i].State, db.Health.Underreplicated = "", "UNASSIGNED", 3
		}, false},
		{"one of them could take them", func(s *situation) { s.version(cold+"-1", "6.4.3") }, false},
		{"a primary is missing", func(s *situation) { s.o.Database.Health.Missing = 1 }, false},
		{"red", func(s *situation) { s.o.Database.Health.Colour = model.Red }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := drainable(t)
			s.r.Version, s.d.Version = "6.4.3", "6.4.3"
			for i := range s.o.Pods {
				version := "6.4.3"
				if p := &s.o.Pods[i]; p.Set == cold && p.Ordinal > 0 {
					version = "6.3.7"
				}
				s.version(s.o.Pods[i].Name, version)
			}
			db := &s.o.Database
			db.Health = model.Health{Colour: model.Yellow, Underreplicated: 2, Tables: []string{"doc.t"}}
			db.Tables = []model.Table{{Name: "doc.t", Replicas: "0-all", Started: 4, TotalShardsPerNode: -1}}
			db.Shards = nil
			for i := range db.Nodes {
				if n := &db.Nodes[i]; n.Version == "6.4.3" {
					db.Shards = append(db.Shards, model.Shard{Table: "doc.t", Node: n.ID, State: "STARTED", Primary: len(db.Shards) == 0})
				}
			}
			require.Len(t, db.Shards, 4)
			missing := model.Shard{Table: "doc.t", State: "UNASSIGNED"}
			db.Shards = append(db.Shards, missing, missing)
			c.change(s)
			d := s.decide()
			assert.Equal(t, c.begins, d.Record.Operation != nil, "waits %v, refusals %v", d.Waits, d.Refusals)
		})
	}
}

func (s *situation) nodeID(pod string) string {
	i := slices.IndexFunc(s.o.Database.Nodes, func(n model.Node) bool { return n.Name == s.podOf(pod).NodeName })
	return s.o.Database.Nodes[i].ID
}

// version says what a pod and its node run.
func (s *situation) version(pod, version string) {
	p := s.podOf(pod)
	p.Version = version
	for i := range s.o.Database.Nodes {
		if n := &s.o.Database.Nodes[i]; n.Name == p.NodeName {
			n.Version = version
		}
	}
}

// Seed 15340502: it is stuck on a template that came out of order, the record was lost, and nothing says what it
// ran before.
func TestANodeOfAGroupThatIsGoneLeavesOnceNothingBringsItBackAndAllIsElsewhere(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*situation)
		begins bool
	}{
		{"the nodes have been the same for long", func(*situation) {}, true},
		{"for a moment only", func(s *situation) { s.o.Stable.Same = s.o.At.Add(-time.Minute) }, false},
		{"the daemon has just begun to look", func(s *situation) { s.o.Stable.Same = time.Time{} }, false},
		{"its process has just started", func(s *situation) { s.podOf(cold + "-2").Started = s.o.At.Add(-time.Minute) }, false},
		{"the group is desired: what is desired of it may bring it back", func(s *situation) { s.d = tiers(3, 1) }, false},
		{"a copy is missing", func(s *situation) {
			s.o.Database.Health = model.Health{Colour: model.Yellow, Underreplicated: 1, Tables: []string{"doc.t"}}
		}, false},
		{"its volume is another cluster's", func(s *situation) {
			s.o.Claims = slices.Clone(s.o.Claims)
			for i := range s.o.Claims {
				if c := &s.o.Claims[i]; c.Set == cold && c.Ordinal == 2 {
					c.ClusterID = "another"
				}
			}
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := drainable(t)
			s.d = tiers(3, -1)
			s.away(cold + "-2")
			p := s.podOf(cold + "-2")
			p.Started, p.Created = s.o.At.Add(-time.Hour), s.o.At.Add(-time.Hour)
			s.o.Stable.Same = s.o.At.Add(-time.Hour)
			c.change(s)
			d := s.decide()
			assert.Equal(t, c.begins, d.Record.Operation != nil, "waits %v, refusals %v", d.Waits, d.Refusals)
		})
	}
}

// Somebody raised the replicas again, right after they were lowered and to fewer than there
// were: the shrink waited for ever for a node that had left (found by the simulation).
func TestAShrinkGoesOnWhereSomebodyRaisesTheReplicasAgain(t *testing.T) {
	w := filled(t, tiers(3, 3))
	w.desired = tiers(3, 1)
	w.until(func() bool { return len(w.lowered) == 1 })
	require.Equal(t, []string{cold + " 3 to 1"}, w.lowered)
	i := slices.IndexFunc(w.sets, func(s model.ObservedSet) bool { return s.Name == cold })
	w.sets[i].Replicas = 2
	w.runQuiet(200)
	checkShrunk(t, w, 4)
	assert.Equal(t, []string{cold + " 3 to 1", cold + " 2 to 1"}, w.lowered)
}

// A shrink was taken back while the pod of a node that stays was stuck on a template that cannot run, and the correction comes
// by an upgrade. Nobody acknowledges node checks while a node is missing, and the upgrade waited for the shrink.
func TestAShrinkThatIsTakenBackWaitsForNoNodeThatIsMissing(t *testing.T) {
	for _, c := range []struct {
		name string
		from int
		ends bool
	}{
		{"no node has left", 3, true},
		{"a node has left, and node check 1 says that there are too few", 4, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := made(t)
			from := []model.RecordedSet{{Name: hot, Group: "hot", Replicas: c.from}}
			s.r.Operation = &model.Operation{Kind: model.OperationShrink, Step: model.StepAcknowledge, Started: s.o.At, Revision: s.d.Revision, From: from, To: from, Shrink: &model.Shrink{Before: c.from}}
			s.o.Database.NodeChecks = []model.NodeCheck{{NodeID: hot + "/0", ID: 1}}
			s.podOf(hot + "-1").Waiting = "ImagePullBackOff"
			s.away(hot + "-1")
			d := s.decide()
			assert.Equal(t, c.ends, kindOf(d) != model.OperationShrink, "%v", d.Waits)
			assert.Equal(t, !c.ends, slices.Contains(reasons(d.Waits), "node-checks-acknowledged"))
		})
	}
}
