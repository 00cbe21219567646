package ops_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops"
	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
)

func TestAnAllocationLockThatATransientValueHidesIsTakenBackAndSaid(t *testing.T) {
	w := newWorld(t, restartable(wantedCluster(3)))
	w.run(60)
	w.transient = "all"
	byTemplate(w)
	for range 30 {
		_, err := w.pass()
		require.NoError(t, err)
		require.True(t, w.persistent == "all" || w.record.Lock != nil)
	}
	d := ops.Decide(w.desired, w.observe(), w.record, model.Policy{}, w.now)
	assert.Contains(t, reasons(d.Refusals), "hold-hidden")
	assert.Equal(t, "all", w.persistent)
	for _, p := range w.pods {
		assert.Zero(t, p.restarts)
	}
	w.transient = ""
	w.now = w.now.Add(time.Minute)
	w.run(100)
	checkRestarted(t, w, true)
}

func TestAnAllocationLockThatNothingExplainsBlocksAndOnlyAReleaseRemovesIt(t *testing.T) {
	w := newWorld(t, restartable(wantedCluster(3)))
	w.run(60)
	w.persistent = "primaries"
	byTemplate(w)
	w.passes(20)
	d := ops.Decide(w.desired, w.observe(), w.record, model.Policy{}, w.now)
	require.Contains(t, reasons(d.Waits), "unexplained-hold")
	assert.Equal(t, 1, reported(w, "UnexplainedHold"))
	assert.Equal(t, "primaries", w.persistent)
	w.commands.Released = "true"
	w.until(func() bool { return w.persistent == "all" })
	w.commands = model.Commands{}
	w.run(100)
	checkRestarted(t, w, true)
}

// With the record lost and the annotation there, the allocation lock is ours and goes back.
func TestAnAllocationLockIsKnownByItsAnnotation(t *testing.T) {
	for _, step := range []string{model.StepLock, model.StepDown} {
		t.Run(step, func(t *testing.T) {
			w := newWorld(t, restartable(wantedCluster(3)))
			w.run(60)
			byTemplate(w)
			w.until(func() bool { return w.persistent == "primaries" && w.record.Operation.Step == step })
			w.record = model.Record{}
			w.run(200)
			checkRestarted(t, w, true)
			assert.Zero(t, reported(w, "UnexplainedHold"))
		})
	}
}

func TestASomebodysValueIsNotOverwritten(t *testing.T) {
	w := newWorld(t, restartable(wantedCluster(3)))
	w.run(60)
	byTemplate(w)
	w.until(func() bool { return w.record.Operation != nil && w.record.Operation.Step == model.StepDown })
	w.persistent = "none"
	for range 10 {
		_, err := w.pass()
		require.NoError(t, err)
		require.Equal(t, "none", w.persistent)
	}
	d := ops.Decide(w.desired, w.observe(), w.record, model.Policy{}, w.now)
	assert.Contains(t, reasons(d.Waits), "hold-changed")
	w.persistent = "all"
	w.run(100)
	checkRestarted(t, w, true)
}

// Seed 6310112679: two of three voters were lost while the allocation lock was set. The status had CrateDB's words of the
// statement that failed, and did not say that there is no master.
func TestAnAllocationLockThatNoMasterGivesBackIsNamed(t *testing.T) {
	for _, c := range []struct {
		name   string
		so     func(*situation)
		said   string
		answer bool // the lock is given back all the same: an election may have ended by then
	}{
		{"there is a master", func(*situation) {}, "", true},
		{"there is none", func(s *situation) { s.o.Database.MasterNode = "" }, "of 3 master-eligible nodes 3 answer", true},
		{"two voters are away", func(s *situation) {
			s.o.Database.MasterNode = ""
			s.away(hot + "-0")
			s.away(hot + "-2")
		}, "of 3 master-eligible nodes 1 answer, and not those in " + hot + "-0, " + hot + "-2", true},
		{"nobody answers", func(s *situation) { s.o.Database.MasterNode, s.o.Database.Contact = "", model.No }, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := made(t)
			s.r.Lock = &model.AllocationLock{Set: hot, Value: "primaries", Before: "all"}
			s.o.Database.Allocation = "primaries"
			c.so(s)
			d := s.decide()
			checkNoMaster(t, &d, c.said)
			assert.Equal(t, c.answer, action(&d, model.ActionUnlockAllocation) != nil)

			// The same with the exclusion of a node that has left (6430039628).
			s.r.Lock, s.r.Exclusions = nil, &model.Exclusions{Set: hot, IDs: "gone"}
			s.r.Operation = &model.Operation{Kind: model.OperationShrink, Step: model.StepInclude, Shrink: &model.Shrink{Set: hot, Before: 4, From: 4, To: 3}}
			d = s.decide()
			checkNoMaster(t, &d, c.said)
		})
	}
}

// checkNoMaster looks for what no-master says; "" where it says nothing.
func checkNoMaster(t *testing.T, d *model.Decision, words string) {
	t.Helper()
	said := ""
	for _, w := range d.Waits {
		if w.Name == "no-master" {
			said = w.Message
		}
	}
	assert.Equal(t, words != "", said != "")
	assert.Contains(t, said, words)
}

func TestARestartWaitsForAnotherClustersAndOneThatHasBegunGoesOn(t *testing.T) {
	s := made(t)
	s.d.RestartedAt, s.d.Revision = s.o.At.Format(time.RFC3339), "rev-restart"
	s.o.Disrupted = []string{"prod/other"}
	decide := func(r model.Record, most int) model.Decision {
		return ops.Decide(s.d, s.o, r, model.Policy{MaxDisruptedClusters: most}, s.o.At.Add(time.Second))
	}
	d := decide(s.r, 0)
	assert.Nil(t, d.Record.Operation)
	require.NotEmpty(t, d.Waits)
	assert.Contains(t, d.Waits[0].Message, "prod/other")
	assert.Positive(t, d.LookAgain)

	d = decide(s.r, 2)
	require.NotNil(t, d.Record.Operation, "two may be")
	require.NotNil(t, decide(d.Record, 1).Record.Operation, "what has begun is not given up")
}

// underLock is the situation in which the allocation lock is set, and the first pod of a restart goes next.
func underLock(t *testing.T) *situation {
	t.Helper()
	w := newWorld(t, restartable(wantedCluster(3)))
	w.run(60)
	byTemplate(w)
	w.until(func() bool { return w.record.Lock != nil && w.persistent == "primaries" })
	s := &situation{d: w.desired, o: w.observe(), r: w.record}
	s.d.Changes = nil
	return s
}

// nextPod is a restart whose next pod goes down if nothing holds it back.
func nextPod(t *testing.T) *situation {
	t.Helper()
	w := newWorld(t, restartable(wantedCluster(3)))
	w.run(60)
	byTemplate(w)
	w.until(func() bool {
		return w.record.Operation != nil && w.record.Operation.Step == model.StepNext && w.applied.Revision == "rev-t2" && w.live[hot] == "t2"
	})
	w.record.Operation.Restart.MasterStable = false
	s := &situation{d: w.desired, o: w.observe(), r: w.record}
	s.d.Changes = nil
	s.o.Stable.Master = s.o.At.Add(-time.Hour)
	return s
}

func TestEachGateHoldsAPodBack(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*situation)
		reason string
	}{
		{"no contact", func(s *situation) { s.o.Database = model.Database{At: s.o.At, Contact: model.No, Error: "refused"} }, "no-contact"},
		{"an old reading", func(s *situation) { s.o.Database.At = s.o.At.Add(-time.Hour) }, "fresh-reading"},
		{"no recovery", func(s *situation) { s.o.Database.Recovered = model.No }, "gateway-recovered"},
		{"no master", func(s *situation) { s.o.Database.MasterNode = "" }, "gateway-recovered"},
		{"tables unknown", func(s *situation) { s.o.Database.TablesKnown = false }, "tables-known"},
		{"snapshots unknown", func(s *situation) { s.o.Database.SnapshotsKnown = false }, "snapshot-running"},
		{"nodes unknown", func(s *situation) { s.o.Database.NodesKnown, s.o.Database.Nodes = false, nil }, "nodes-known"},
		{"a node is missing", func(s *situation) { s.o.Database.Nodes = s.o.Database.Nodes[:2] }, "nodes-joined"},
		{"a pod is not ready", func(s *situation) { s.o.Pods[1].Ready, s.o.Pods[1].Waiting = false, "ContainerCreating" }, "nodes-joined"},
		{"a pod that is too many is not ready", func(s *situation) {
			s.o.Pods = append(s.o.Pods, model.Pod{Name: hot + "-7", Set: hot, Ordinal: 7, Template: "t2"})
		}, "other-pod-down"},
		{"yellow", func(s *situation) { s.o.Database.Health.Colour = model.Yellow }, "health-green"},
		{"a hidden table that lacks a copy", whole(model.Yellow, 0, 1), "cluster-health"},
		{"unknown health", func(s *situation) { s.o.Database.Health = model.Health{} }, "health-green"},
		{"red by policy", func(s *situation) {
			s.o.Database.Health.Colour, s.d.Operations.SettledYellow = model.Red, "proceed"
		}, "health-green"},
		{"a range that lacks a copy and is green", func(s *situation) {
			s.o.Database.Tables = []model.Table{{Name: "doc.t", Replicas: "0-1", Started: 1}}
		}, "replicas-complete"},
		{"all replicas", func(s *situation) {
			s.o.Database.Tables = []model.Table{{Name: "doc.t", Replicas: "0-all", Started: 2}}
		}, "replicas-complete"},
		{"a shard moves", func(s *situation) { s.o.Database.Relocating = 1 }, "shards-moving"},
		{"a shard is being made", func(s *situation) { s.o.Database.Initializing = 1 }, "shards-moving"},
		{"a snapshot", func(s *situation) { s.o.Database.Snapshots = 1 }, "snapshot-running"},
		{"no allocation", func(s *situation) { s.o.Database.Allocation = "none" }, "allocation-enabled"},
		{"allocation unknown", func(s *situation) { s.o.Database.Allocation = "" }, "allocation-enabled"},
		{"an allocation lock of nobody", func(s *situation) { s.o.Database.Allocation = "primaries" }, "unexplained-hold"},
		{"a new master", func(s *situation) { s.o.Stable.Master = s.o.At }, "master-stable"},
		{"a daemon that has just begun", func(s *situation) { s.o.Stable = model.Stability{} }, "master-stable"},
		{"no second copy, refused", func(s *situation) {
			s.o.Database.Nodes[0].Sole, s.d.Operations.Unreplicated = []string{"doc.t"}, "refuse"
		}, "unreplicated-tables"},
		{"no Kubernetes node takes a later pod", func(s *situation) {
			s.o.Placement = model.Placement{Pod: hot + "-1", Why: "of 2 Nodes: 2 × cordoned"}
		}, "no-node-fits"},
		{"no Kubernetes node takes it while the others stand as they do", func(s *situation) {
			s.o.Placement = model.Placement{Now: map[string]string{hot + "-0": "of 2 Nodes: 2 × another pod of the cluster is there"}}
		}, "no-node-fits"},
		{"none takes a later one while the others stand as they do", func(s *situation) {
			s.o.Placement = model.Placement{Now: map[string]string{hot + "-2": "of 2 Nodes: 2 × another pod of the cluster is there"}}
		}, ""},
		{"no Kubernetes node takes it, by policy: an autoscaler adds one for a pod that is pending", func(s *situation) {
			s.o.Placement, s.d.Operations.NoNodeFits = model.Placement{Pod: hot + "-1", Why: "cordoned"}, "proceed"
		}, ""},
		{"a later pod mounts a claim that does not exist", func(s *situation) {
			s.o.Placement = model.Placement{Pod: hot + "-1", Claim: "backups"}
		}, "no-node-fits"},
		{"it does not exist, by policy: a Node that is added does not take it", func(s *situation) {
			s.o.Placement, s.d.Operations.NoNodeFits = model.Placement{Pod: hot + "-1", Claim: "backups"}, "proceed"
		}, "no-node-fits"},
		{"a Node was added", func(s *situation) { s.o.Placement = model.Placement{} }, ""},
		{"nobody knows whether a Node takes it", func(s *situation) { s.o.Placement = model.Placement{Unread: "Nodes may not be read"} }, ""},
		{"the allocation unknown", func(s *situation) { s.o.Database.AllocationKnown = false }, "allocation-known"},
		{"a range that would come to too few copies for CrateDB to take the node off", ranged("3"), "node-cannot-leave"},
		{"one by policy: the node would never come back", func(s *situation) {
			ranged("3")(s)
			s.d.Operations.Unhealable = "proceed"
		}, "node-cannot-leave"},
		{"a range that waits for as many copies as are left", ranged("2"), ""},
		{"a copy that does not come back", func(s *situation) { s.holds("doc.t", 0, 1) }, "copies-do-not-return"},
		{"one of a later pod, before the first goes", func(s *situation) { s.holds("doc.t", 1, 2) }, "copies-do-not-return"},
		{"one that does not come back, by policy", func(s *situation) {
			s.holds("doc.t", 0, 1)
			s.d.Operations.Unhealable = "proceed"
		}, ""},
		{"one of a later pod, when the first has gone", func(s *situation) {
			s.holds("doc.t", 1, 2)
			s.r.Operation.Restart.Done = []string{"uid"}
		}, ""},
		{"one that does not come back, and other settings of the allocation in the template", func(s *situation) {
			s.holds("doc.t", 0, 1)
			for i := range s.o.Sets {
				s.o.Sets[i].Settings = manifest.NewSettingList([]model.Setting{{Name: "cluster.routing.allocation.disk.watermark.low", Value: "95%"}})
			}
		}, ""},
		{"other settings in the template, which change nothing of it", func(s *situation) {
			s.holds("doc.t", 0, 1)
			for i := range s.o.Sets {
				s.o.Sets[i].Settings = manifest.NewSettingList([]model.Setting{{Name: "stats.enabled", Value: "false"}})
			}
		}, "copies-do-not-return"},
		{"a filter that the node fits with the attributes of the template", func(s *situation) {
			s.holds("doc.t", 0, 1)
			s.o.Database.Tables[len(s.o.Database.Tables)-1].Enable = ""
			s.o.Database.Tables[len(s.o.Database.Tables)-1].Require = map[string]string{"tier": "new"}
			for i := range s.o.Database.Nodes {
				s.o.Database.Nodes[i].Attributes = map[string]string{"tier": "old"}
			}
			for i := range s.o.Sets {
				s.o.Sets[i].Attributes = manifest.NewSettingList([]model.Setting{{Name: "tier", Value: "new"}})
			}
		}, ""},
		{"a filter that it fits no more with them", func(s *situation) {
			s.holds("doc.t", 0, 1)
			s.o.Database.Tables[len(s.o.Database.Tables)-1].Enable = ""
			s.o.Database.Tables[len(s.o.Database.Tables)-1].Require = map[string]string{"tier": "old"}
			for i := range s.o.Database.Nodes {
				s.o.Database.Nodes[i].Attributes = map[string]string{"tier": "old"}
			}
			s.o.Database.Nodes[2].Attributes = map[string]string{"tier": "other"}
			for i := range s.o.Sets {
				s.o.Sets[i].Attributes = manifest.NewSettingList([]model.Setting{{Name: "tier", Value: "new"}})
			}
		}, "copies-do-not-return"},
		{"its claim is being deleted", claimDeleted(0, false), "claim-being-deleted"},
		{"its claim, and nobody knows of which template", func(s *situation) {
			claimDeleted(0, false)(s)
			s.o.Claims[len(s.o.Claims)-1].Template = ""
		}, "claim-being-deleted"},
		{"its claim, agreed, with the only copies", func(s *situation) {
			claimDeleted(0, true)(s)
			s.o.Database.Nodes[0].Sole = []string{"doc.t"}
		}, "claim-being-deleted"},
		{"its claim, agreed, and a table may be hidden", func(s *situation) {
			claimDeleted(0, true)(s)
			s.o.Database.DeniedKnown = false
		}, "claim-being-deleted"},
		{"one of its two claims is agreed", func(s *situation) {
			claimDeleted(0, true)(s)
			claimDeleted(0, false)(s)
		}, "claim-being-deleted"},
		{"its claim, agreed", claimDeleted(0, true), ""},
		{"an excluded node, to which its copy does not come back", func(s *situation) { s.excludes(0) }, "copies-do-not-return"},
		{"an excluded node whose volume goes: it comes back with another id", func(s *situation) {
			s.excludes(0)
			claimDeleted(0, true)(s)
		}, ""},
		{"an excluded node whose volume stays, while the one of a later pod goes", func(s *situation) {
			s.excludes(0)
			claimDeleted(1, true)(s)
		}, "copies-do-not-return"},
		{"yellow, and it is the drained node whose volume goes: before it is back it takes no copy", func(s *situation) { s.drained(model.Yellow) }, ""},
		{"the same, and no shard is known", func(s *situation) {
			s.drained(model.Yellow)
			s.o.Database.ShardsKnown = false
		}, "health-green"},
		{"the same, and a copy is on it again", func(s *situation) {
			s.drained(model.Yellow)
			s.o.Database.Shards = append(s.o.Database.Shards, model.Shard{Table: "doc.t", Node: s.o.Database.Nodes[0].ID, State: "INITIALIZING"})
		}, "health-green"},
		{"the same, and red", func(s *situation) { s.drained(model.Red) }, "health-green"},
		{"the claim of a later pod", claimDeleted(1, false), ""},
		{"the claim of heap dumps", func(s *situation) {
			claimDeleted(0, false)(s)
			s.o.Claims[len(s.o.Claims)-1].Template = "debug"
		}, ""},
		{"nothing", func(*situation) {}, ""},
		{"no second copy, allowed", func(s *situation) { s.o.Database.Nodes[0].Sole = []string{"doc.t"} }, ""},
		{"yellow by policy", func(s *situation) {
			s.o.Database.Health.Colour, s.d.Operations.SettledYellow = model.Yellow, "proceed"
		}, ""},
		{"a range on nodes of its own", func(s *situation) {
			s.o.Database.Tables = []model.Table{{Name: "doc.t", Replicas: "0-all", Started: 1, Filtered: true}}
		}, ""},
		{"all copies", func(s *situation) {
			s.o.Database.Tables = []model.Table{{Name: "a", Replicas: "0-1", Started: 2}, {Name: "b", Replicas: "0-all", Started: 3}, {Name: "c", Replicas: "2", Started: 1}}
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := nextPod(t)
			c.change(s)
			d := s.decide()
			assert.Nil(t, d.Disruptive)
			if c.reason == "" {
				require.NotNil(t, d.Record.Lock, "%v %v", d.Waits, d.Refusals)
				assert.Equal(t, model.StepLock, d.Record.Operation.Step)
				return
			}
			assert.Nil(t, d.Record.Lock)
			assert.Contains(t, append(reasons(d.Waits), reasons(d.Refusals)...), c.reason)
		})
	}
}

// ranged is a table on all nodes whose writes wait for so many copies.
func ranged(wait string) func(*situation) {
	return func(s *situation) {
		db := &s.o.Database
		db.Tables = append(db.Tables, model.Table{Name: "doc.r", Replicas: "0-all", Started: 3, WaitForActiveShards: wait})
	}
}

// holds adds a table that keeps its copies from coming back, with one shard on two nodes.
func (s *situation) holds(table string, nodes ...int) {
	db := &s.o.Database
	db.Tables = append(db.Tables, model.Table{Name: table, Replicas: "1", Started: 2, Enable: "none", Filtered: true})
	for i, n := range nodes {
		db.Shards = append(db.Shards, model.Shard{Table: table, Node: db.Nodes[n].ID, State: "STARTED", Primary: i == 0})
	}
}

// drained has the first pod's node drained and excluded, and its claim deleted, with tables of that colour.
func (s *situation) drained(colour model.Colour) {
	claimDeleted(0, true)(s)
	db := &s.o.Database
	db.ShardsKnown = true
	db.Shards = slices.DeleteFunc(slices.Clone(db.Shards), func(sh model.Shard) bool { return sh.Node == db.Nodes[0].ID })
	s.r.Exclusions = &model.Exclusions{Set: hot, IDs: db.Nodes[0].ID}
	db.Settings.Exclude = map[string]string{"_id": db.Nodes[0].ID}
	db.Health.Colour = colour
}

// excludes has a node excluded by its id that has one of three copies, as every other node has.
func (s *situation) excludes(node int) {
	db := &s.o.Database
	s.holds("doc.t", 0, 1, 2)
	last := &db.Tables[len(db.Tables)-1]
	last.Enable, last.Replicas, last.Started, last.Filtered = "", "2", 3, false
	db.Settings.Exclude = map[string]string{"_id": db.Nodes[node].ID}
}

func TestAWaitForGreenGivesCrateDBsReasons(t *testing.T) {
	w := newWorld(t, restartable(wantedCluster(3)))
	w.run(60)
	byTemplate(w)
	w.until(func() bool { return w.record.Operation != nil && w.record.Operation.Step == model.StepNext })
	s := &situation{d: w.desired, o: w.observe(), r: w.record}
	s.d.Changes = nil
	s.o.Database.Health = model.Health{Colour: model.Yellow, Underreplicated: 2, Tables: []string{"doc.t"}}
	missing := model.Explanation{Table: "doc.t", Text: "cannot allocate because allocation is not permitted to any of the nodes", Reasons: []string{"data-hot-1: the node is above the low watermark"}}
	s.o.Database.Stuck = []model.Explanation{missing, missing, {Table: "doc.u", Node: "n", Text: "of a copy that is on a node"}}
	d := s.decide()
	i := slices.IndexFunc(d.Waits, func(r model.Reason) bool { return r.Name == "health-green" })
	require.GreaterOrEqual(t, i, 0)
	assert.Contains(t, d.Waits[i].Message, "CrateDB says: doc.t: cannot allocate because allocation is not permitted to any of the nodes (data-hot-1: the node is above the low watermark)")
	assert.Equal(t, 1, strings.Count(d.Waits[i].Message, "doc.t: cannot"))
	assert.NotContains(t, d.Waits[i].Message, "doc.u")
}
