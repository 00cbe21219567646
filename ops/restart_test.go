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
	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
)

func restartable(d model.Desired) model.Desired {
	d.Operations.StableFor, d.Operations.MasterStableFor = 2*time.Second, 3*time.Second
	return d
}

// restartedWorld is a cluster that was made, and then asked for a restart.
func restartedWorld(t *testing.T, d model.Desired, ask func(*world), killAt int, after, lose bool) *world {
	w := newWorld(t, restartable(d))
	for _, u := range d.Users {
		w.secrets[u.Secret.Name].data[u.Secret.Key] = []byte("pw-ada")
	}
	w.run(60)
	w.now = w.now.Add(time.Minute)
	ask(w)
	if killAt > 0 {
		w.killAt, w.after, w.lose = w.writes+killAt, after, lose
	}
	w.run(200)
	return w
}

func byTemplate(w *world) {
	w.template, w.desired.Revision, w.desired.Commit = "t2", "rev-t2", "commit-t2"
}

func byAnnotation(w *world) {
	w.desired.RestartedAt, w.desired.Revision = w.now.Format(time.RFC3339), "rev-restart"
}

// byFuture is a clock that is an hour ahead.
func byFuture(w *world) {
	w.desired.RestartedAt, w.desired.Revision = w.now.Add(time.Hour).Format(time.RFC3339), "rev-restart"
}

func checkRestarted(t *testing.T, w *world, once bool) {
	t.Helper()
	require.Nil(t, w.record.Operation)
	require.Nil(t, w.record.Hold)
	require.Equal(t, "all", w.persistent, "C: the hold is given back")
	for set, hold := range w.hold {
		require.Empty(t, hold, "%s says that nothing is held", set)
	}
	for name, p := range w.pods {
		require.Equal(t, w.template, p.template, name)
		require.GreaterOrEqual(t, p.restarts, 1, name)
		if once {
			require.Equal(t, 1, p.restarts, "%s is restarted once", name)
		}
	}
}

func TestARestartTakesEachPodOnceAndGivesBackTheHold(t *testing.T) {
	for name, ask := range map[string]func(*world){
		"a template": byTemplate, "a time": byAnnotation, "a time in the future": byFuture,
		"any text": func(w *world) { w.desired.RestartedAt, w.desired.Revision = "please", "rev-restart" },
		"a command": func(w *world) {
			w.record.Command = model.SeenCommand{}
			w.commands.RestartedAt = w.now.Format(time.RFC3339)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := restartedWorld(t, wantedCluster(3), ask, 0, false, false)
			checkRestarted(t, w, true)
			assert.Equal(t, 1, reported(w, "RestartStarted"))
			assert.Equal(t, 1, reported(w, "RestartSucceeded"))
			writes := w.writes
			w.run(3)
			assert.Equal(t, writes, w.writes, "and then nothing is written")
		})
	}
}

func TestMastersGoFirstThenTheGroupsInOrder(t *testing.T) {
	w := newWorld(t, restartable(tiered(3, 2)))
	for _, u := range w.desired.Users {
		w.secrets[u.Secret.Name].data[u.Secret.Key] = []byte("pw-ada")
	}
	w.run(60)
	byTemplate(w)
	var order []string
	seen := map[string]bool{}
	for range 200 {
		_, err := w.turn()
		require.NoError(t, err)
		for name, p := range w.pods {
			if p.restarts > 0 && !seen[name] {
				seen[name] = true
				order = append(order, name)
			}
		}
		for set, live := range w.live {
			if live == "t2" && set != "crate-master-c" {
				require.True(t, seen["crate-master-c-2"], "a template comes when its set's turn has come")
			}
		}
	}
	require.Equal(t, []string{
		"crate-master-c-0", "crate-master-c-1", "crate-master-c-2",
		"crate-data-hot-c-0", "crate-data-hot-c-1", "crate-data-cold-c-0",
	}, order)
	checkRestarted(t, w, true)
}

func TestARestartKilledAtAnyWriteEndsTheSame(t *testing.T) {
	for name, c := range map[string]struct {
		desired model.Desired
		ask     func(*world)
	}{
		"a template":    {wantedCluster(3), byTemplate},
		"a time":        {wantedCluster(3), byAnnotation},
		"with tiers":    {tiered(3, 2), byTemplate},
		"a wrong clock": {wantedCluster(2), byFuture},
	} {
		t.Run(name, func(t *testing.T) {
			before := restartedWorld(t, c.desired, func(*world) {}, 0, false, false).writes
			total := restartedWorld(t, c.desired, c.ask, 0, false, false).writes - before
			require.Greater(t, total, 10)
			each := 1
			if name == "with tiers" {
				each = 4 // six pods go through the same steps
			}
			for n := 1; n <= total; n += each {
				for _, after := range []bool{false, true} {
					for _, lose := range []bool{false, true} {
						t.Run(fmt.Sprintf("write %d after=%v lost=%v", n, after, lose), func(t *testing.T) {
							w := restartedWorld(t, c.desired, c.ask, n, after, lose)
							w.t = t
							checkRestarted(t, w, name != "a wrong clock" || !lose)
							if !lose {
								require.Equal(t, 1, reported(w, "RestartSucceeded"))
							}
						})
					}
				}
			}
		})
	}
}

func TestATemplateThatDoesNotComeUpStopsAtItsFirstPod(t *testing.T) {
	w := newWorld(t, restartable(wantedCluster(3)))
	w.desired.Operations.RestartTimeout = 20 * time.Second
	w.run(60)
	w.bad["t2"] = true
	byTemplate(w)
	for range 60 {
		_, err := w.turn()
		require.NoError(t, err)
	}
	d := ops.Decide(w.desired, w.observe(), w.record, model.Policy{}, w.now)
	require.Contains(t, reasons(d.Refusals), "restart-stopped")
	assert.Equal(t, "t1", w.live[hot], "the template protects the others again")
	assert.Equal(t, "all", w.persistent, "the hold is given back")
	assert.Equal(t, "t2", w.pods[hot+"-0"].template, "the pod is left as it is")
	assert.Equal(t, 1, w.pods[hot+"-0"].restarts)
	assert.Zero(t, w.pods[hot+"-1"].restarts)
	assert.GreaterOrEqual(t, reported(w, "Refused"), 1)

	for name, template := range map[string]string{"corrected": "t3", "taken back": "t1"} {
		t.Run(name, func(t *testing.T) {
			again := *w
			again.t = t
			again.pods = map[string]*toyPod{}
			for name, p := range w.pods {
				copied := *p
				again.pods[name] = &copied
			}
			again.live, again.hold = map[string]string{hot: w.live[hot]}, map[string]string{hot: w.hold[hot]}
			again.template, again.desired.Revision = template, "rev-"+template
			again.run(100)
			for name, p := range again.pods {
				assert.Equal(t, template, p.template, name)
			}
			assert.Equal(t, "all", again.persistent)
			assert.Nil(t, again.record.Operation)
		})
	}
}

// until takes turns until a condition holds.
func (w *world) until(so func() bool) {
	w.t.Helper()
	for range 100 {
		if so() {
			return
		}
		_, err := w.turn()
		require.NoError(w.t, err)
	}
	require.Fail(w.t, "it did not come to that")
}

func TestWhatEndsARestartMidwayGivesBackTheHold(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(*world)
		ends bool // the restart is over, though pods are left
	}{
		{"a pause", func(w *world) { w.desired.Paused = true }, false},
		{"an abort", func(w *world) { w.commands.Abort = "true" }, true},
		{"a release", func(w *world) { w.commands.Released = "true" }, true},
		{"the definition is gone", func(w *world) { w.desired.Removed = true }, true},
		{"another push that is refused", func(w *world) {
			w.desired.Sets, w.desired.Revision = []model.Set{w.desired.Sets[0]}, "rev-shrink"
			w.desired.Sets[0].Replicas = 2
		}, false},
	} {
		for _, held := range []string{model.StepHold, model.StepDown} {
			t.Run(c.name+" at "+held, func(t *testing.T) {
				w := newWorld(t, restartable(wantedCluster(3)))
				w.run(60)
				byTemplate(w)
				w.until(func() bool {
					return w.record.Operation != nil && w.record.Operation.Step == held && w.record.Hold != nil
				})
				c.end(w)
				w.until(func() bool { return w.persistent == "all" && w.record.Hold == nil })
				restarts := 0
				for range 20 {
					_, err := w.turn()
					require.NoError(t, err)
				}
				for _, p := range w.pods {
					restarts += p.restarts
				}
				assert.LessOrEqual(t, restarts, 1, "no further pod goes")
				assert.Equal(t, c.ends, w.record.Operation == nil)
				if w.commands.Abort != "" && restarts == 0 {
					assert.Equal(t, "t1", w.live[hot], "no pod runs it, and others' hands put none on it")
				}
			})
		}
	}
}

func TestAPausedRestartGoesOnAfterwards(t *testing.T) {
	w := newWorld(t, restartable(wantedCluster(3)))
	w.run(60)
	byTemplate(w)
	w.until(func() bool { return w.record.Operation != nil && w.record.Operation.Step == model.StepDown })
	w.desired.Paused = true
	for range 10 {
		_, err := w.turn()
		require.NoError(t, err)
	}
	w.desired.Paused = false
	w.run(100)
	checkRestarted(t, w, true)
}

func TestAnotherPushMidwayIsFollowed(t *testing.T) {
	for _, step := range []string{model.StepNext, model.StepHold, model.StepDown, model.StepStable} {
		for name, template := range map[string]string{"a third template": "t3", "the first one": "t1"} {
			t.Run(name+" at "+step, func(t *testing.T) {
				w := newWorld(t, restartable(wantedCluster(3)))
				w.run(60)
				byTemplate(w)
				w.until(func() bool { return w.record.Operation != nil && w.record.Operation.Step == step })
				w.template, w.desired.Revision = template, "rev-next"
				w.run(200)
				assert.Equal(t, "all", w.persistent)
				for name, p := range w.pods {
					assert.Equal(t, template, p.template, name)
				}
			})
		}
	}
}

func TestAGrowthInTheSamePushComesAndTheRestartFollows(t *testing.T) {
	w := newWorld(t, restartable(wantedCluster(3)))
	w.run(60)
	d := restartable(wantedCluster(5))
	d.Revision = "rev-both"
	w.desired, w.template = d, "t2"
	w.run(300)
	assert.Len(t, w.nodeNames(), 5)
	for name, p := range w.pods {
		assert.Equal(t, "t2", p.template, name)
	}
	assert.Equal(t, "all", w.persistent)
}

func TestAGrowthMidwayIsLetIn(t *testing.T) {
	w := newWorld(t, restartable(wantedCluster(3)))
	w.run(60)
	byTemplate(w)
	w.until(func() bool { return w.record.Operation != nil && w.record.Operation.Step == model.StepDown })
	d := restartable(wantedCluster(4))
	d.Revision = "rev-more"
	w.desired = d
	w.run(300)
	assert.Len(t, w.nodeNames(), 4)
	for name, p := range w.pods {
		assert.Equal(t, "t2", p.template, name)
	}
}

func TestAHoldThatATransientValueHidesIsTakenBackAndSaid(t *testing.T) {
	w := newWorld(t, restartable(wantedCluster(3)))
	w.run(60)
	w.transient = "all"
	byTemplate(w)
	for range 30 {
		_, err := w.turn()
		require.NoError(t, err)
		require.True(t, w.persistent == "all" || w.record.Hold != nil)
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

func TestAHoldThatNothingExplainsBlocksAndOnlyAReleaseRemovesIt(t *testing.T) {
	w := newWorld(t, restartable(wantedCluster(3)))
	w.run(60)
	w.persistent = "primaries"
	byTemplate(w)
	for range 20 {
		_, err := w.turn()
		require.NoError(t, err)
	}
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

// With the record lost and the annotation there, the hold is ours and goes back.
func TestAHoldIsKnownByItsAnnotation(t *testing.T) {
	for _, step := range []string{model.StepHold, model.StepDown} {
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
		_, err := w.turn()
		require.NoError(t, err)
		require.Equal(t, "none", w.persistent)
	}
	d := ops.Decide(w.desired, w.observe(), w.record, model.Policy{}, w.now)
	assert.Contains(t, reasons(d.Waits), "hold-changed")
	w.persistent = "all"
	w.run(100)
	checkRestarted(t, w, true)
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
		{"a hold of nobody", func(s *situation) { s.o.Database.Allocation = "primaries" }, "unexplained-hold"},
		{"a new master", func(s *situation) { s.o.Stable.Master = s.o.At }, "master-stable"},
		{"a daemon that has just begun", func(s *situation) { s.o.Stable = model.Stability{} }, "master-stable"},
		{"no second copy, refused", func(s *situation) {
			s.o.Database.Nodes[0].Sole, s.d.Operations.Unreplicated = []string{"doc.t"}, "refuse"
		}, "unreplicated-tables"},
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
			c.change(s)
			d := s.decide()
			assert.Nil(t, d.Disruptive)
			if c.reason == "" {
				require.NotNil(t, d.Record.Hold, "%v %v", d.Waits, d.Refusals)
				assert.Equal(t, model.StepHold, d.Record.Operation.Step)
				return
			}
			assert.Nil(t, d.Record.Hold)
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

func TestWhatARestartDoesToTablesIsSaidBeforeTheFirstPodGoes(t *testing.T) {
	w := newWorld(t, restartable(wantedCluster(3)))
	w.run(60)
	byTemplate(w)
	w.fill(model.Table{Name: "doc.waits", Replicas: "1", WaitForActiveShards: "ALL"}, 3, 2)
	w.fill(model.Table{Name: "doc.held", Replicas: "1", Enable: "none"}, 3, 2)
	refused := func() bool {
		d := ops.Decide(w.desired, w.observe(), w.record, model.Policy{}, w.now)
		return slices.Contains(reasons(d.Refusals), "copies-do-not-return")
	}
	w.until(refused)
	require.Zero(t, restarts(w))
	assert.Equal(t, 1, reported(w, "Refused"))
	assert.Zero(t, reported(w, "RestartForecast"), "nothing of it happens")

	w.desired.Operations.Unhealable = "proceed"
	w.desired.Revision = "rev-proceed"
	var said, away bool
	for range 200 {
		d, err := w.turn()
		require.NoError(t, err)
		for _, wait := range d.Waits {
			said = said || restarts(w) == 0 && wait.Name == "writes-wait" && strings.Contains(wait.Message, "doc.waits (ALL)")
		}
		away = away || restarts(w) > 0
		if away {
			break
		}
	}
	assert.True(t, said, "the status says it while all pods are there")
	i := slices.IndexFunc(w.reports, func(r model.Report) bool { return r.Reason == "RestartForecast" })
	require.GreaterOrEqual(t, i, 0)
	assert.Contains(t, w.reports[i].Message, "doc.waits (ALL)")
	assert.Contains(t, w.reports[i].Message, "doc.held (routing.allocation.enable of the table is 'none')")
	w.run(200)
	checkRestarted(t, w, false)
	assert.Equal(t, 1, reported(w, "RestartForecast"), "once an operation")
}

func restarts(w *world) int {
	n := 0
	for _, p := range w.pods {
		n += p.restarts
	}
	return n
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

func TestOnlyCopiesAreSaidInTheStatusAndHoldNothingBack(t *testing.T) {
	w := newWorld(t, restartable(wantedCluster(3)))
	w.run(60)
	byTemplate(w)
	w.until(func() bool {
		return w.record.Operation != nil && w.record.Operation.Step == model.StepNext && w.applied.Revision == "rev-t2" && w.live[hot] == "t2"
	})
	s := &situation{d: w.desired, o: w.observe(), r: w.record}
	s.d.Changes = nil
	s.o.Stable.Master = s.o.At.Add(-time.Hour)
	s.o.Database.Nodes[0].Sole = []string{"doc.one"}
	d := s.decide()
	require.NotNil(t, d.Record.Hold)
	assert.Equal(t, []string{"only-copies-away"}, reasons(d.Waits))
	assert.Contains(t, d.Waits[0].Message, "doc.one")
}

func TestTablesWithoutASecondCopyAreNamedBeforehand(t *testing.T) {
	s := made(t)
	s.d.Revision, s.d.RestartedAt = "rev-x", "now"
	s.o.Database.Nodes[0].Sole, s.o.Database.Nodes[1].Sole = []string{"doc.b", "doc.a"}, []string{"doc.a"}
	d := s.decide()
	i := slices.IndexFunc(d.Reports, func(r model.Report) bool { return r.Reason == "RestartStarted" })
	require.GreaterOrEqual(t, i, 0)
	assert.Contains(t, d.Reports[i].Message, "2 table(s)")
	assert.Contains(t, d.Reports[i].Message, "doc.a, doc.b")
}

func TestARestartThatTakesTooLongIsReportedOnceAndGoesOn(t *testing.T) {
	w := newWorld(t, restartable(wantedCluster(3)))
	w.desired.Operations.RestartTimeout = 5 * time.Second
	w.run(60)
	byAnnotation(w)
	w.run(200)
	checkRestarted(t, w, false)
	assert.Equal(t, 1, reported(w, "RestartTimedOut"))
	assert.Equal(t, 1, reported(w, "RestartSucceeded"))
}

// Another CPU or memory is told with what was there before, once each; a restart
// for another reason tells nothing of it.
func TestAComputeChangeIsToldAsCrateOperatorDoes(t *testing.T) {
	d := restartable(wantedCluster(3))
	small, large := model.Compute{CPULimit: 1, MemoryLimit: "1Gi"}, model.Compute{CPULimit: 2, MemoryLimit: "1Gi"}
	d.Compute = &small
	w := newWorld(t, d)
	w.run(60)
	byAnnotation(w)
	w.run(200)
	require.Zero(t, reported(w, "ComputeChanged"))
	w.desired.Compute = &large
	byTemplate(w)
	w.run(200)
	require.Equal(t, 1, reported(w, "ComputeChangeStarted"))
	require.Equal(t, 1, reported(w, "ComputeChanged"))
	i := slices.IndexFunc(w.reports, func(r model.Report) bool { return r.Reason == "ComputeChanged" })
	assert.Equal(t, model.EventCompute, w.reports[i].Event)
	assert.Equal(t, model.StatusSuccess, w.reports[i].Status)
	assert.Equal(t, small, w.reports[i].OldCompute)
	assert.Equal(t, large, w.reports[i].NewCompute)
	assert.Equal(t, large, *w.record.Compute)
}
