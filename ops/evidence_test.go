package ops_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/scale"
)

// leavingOne is a cluster of which one node is to leave.
func leavingOne(t *testing.T) *world {
	w := filled(t, tiers(3, 2))
	w.desired = tiers(3, 1)
	return w
}

// waitsBy runs passes until a wait of this name is there.
func (w *world) waitsBy(name string, turns int) model.Reason {
	w.t.Helper()
	var d model.Decision
	for range turns {
		d, _ = w.pass()
		if i := slices.IndexFunc(d.Waits, func(r model.Reason) bool { return r.Name == name }); i >= 0 {
			return d.Waits[i]
		}
	}
	require.Failf(w.t, "never waited", "for %s: waits %v, refusals %v", name, d.Waits, d.Refusals)
	return model.Reason{}
}

// secret puts a table without replicas on the node that leaves; `system` is not shown it.
func (w *world) secret(node string) {
	w.denied = map[string]bool{"secret.t": true}
	w.shards = append(w.shards, model.Shard{Table: "secret.t", Node: node, Primary: true, State: "STARTED", Bytes: 100})
	w.stuck = true
}

func TestANodeWithShardsThatSystemMayNotSeeStays(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*world)
		gate   string
		words  []string
	}{
		{"the superuser and the volume can be asked", func(*world) {}, "superuser-sees-shards", []string{"secret.t", "started on", cold}},
		{"only the superuser", func(w *world) { w.noVolume = true }, "superuser-sees-shards", []string{"secret.t"}},
		{"only the volume", func(w *world) { w.noCrash = true }, "volume-has-shards", []string{"1 shard folder", cold}},
		{"neither", func(w *world) { w.noCrash, w.noVolume = true, true }, "evidence-missing", []string{"forbidden", "no ls"}},
		{"the user crate is no superuser", func(w *world) { w.noSuperuser, w.noVolume = true, true }, "evidence-missing", []string{"no superuser", "no ls"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := leavingOne(t)
			w.shards = nil // what system sees is elsewhere at once
			w.secret(cold + "/1")
			c.change(w)
			r := w.waitsBy(c.gate, 60)
			for _, words := range c.words {
				assert.Contains(t, r.Message, words)
			}
			for range 30 {
				w.stuck = true // the table's own filter, say, keeps it there
				_, err := w.pass()
				require.NoError(t, err)
			}
			assert.Empty(t, w.lowered)
			// What heals it passes: the shard moves, or somebody may be asked again.
			w.shards, w.noCrash, w.noVolume, w.noSuperuser, w.stuck = nil, false, false, false, false
			w.passes(60)
			assert.Equal(t, []string{cold + " 2 to 1"}, w.lowered)
		})
	}
}

func TestAFolderThatIsDeletedLateIsWaitedForByEvidence(t *testing.T) {
	node := cold + "/1"
	for _, c := range []struct {
		name    string
		change  func(*world)
		retries bool
	}{
		{"CrateDB deletes it a few looks later", func(w *world) { w.lateFolders = map[string]int{node: 3} }, false},
		{"CrateDB has missed it: the allocation is retried", func(w *world) { w.missed = map[string]bool{node: true} }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := leavingOne(t)
			c.change(w)
			r := w.waitsBy("volume-has-shards", 100)
			assert.Contains(t, r.Message, cold+"-1")
			assert.Empty(t, w.lowered)
			w.runQuiet(100)
			checkShrunk(t, w, 4)
			assert.Zero(t, w.lateFolders[node])
			assert.Empty(t, w.missed)
		})
	}
}

func TestWhoFoundANodeEmptyIsInTheRecordAndInTheReport(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*world)
		words  string
	}{
		{"all three", func(*world) {}, ": " + cold + "/1 (asked: user system, superuser, volume)"},
		{"no crash in the container", func(w *world) { w.noCrash = true }, ": " + cold + "/1 (asked: user system, volume; could not be asked: superuser: "},
		{"no ls in the container", func(w *world) { w.noVolume = true }, ": " + cold + "/1 (asked: user system, superuser; could not be asked: volume: there is no ls in the container)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := leavingOne(t)
			c.change(w)
			for range 100 {
				_, err := w.pass()
				require.NoError(t, err)
				if op := w.record.Operation; op != nil && op.Shrink != nil && op.Step == model.StepGone {
					require.Len(t, op.Shrink.Evidence, 1, "the record says it before the node is gone")
				}
			}
			i := slices.IndexFunc(w.reports, func(r model.Report) bool { return r.Reason == "ShrinkSucceeded" })
			require.GreaterOrEqual(t, i, 0)
			assert.Contains(t, w.reports[i].Message, c.words)
		})
	}
}

func TestTheVerdictOfTheWitnesses(t *testing.T) {
	had, none := model.Witness{Had: true}, model.Witness{Why: "forbidden"}
	seen := func(state, node string) model.SeenShard {
		return model.SeenShard{Schema: "doc", Table: "t", ID: 3, State: state, Node: node, NodeName: node, UUID: "u"}
	}
	folder := model.ShardFolder{UUID: "u", ID: 3, Path: "/data/data0/nodes/0/indices/u/3"}
	for _, c := range []struct {
		name      string
		evidence  model.Evidence
		elsewhere bool
		gate      string
	}{
		{"both say that it is empty", model.Evidence{Superuser: had, Volume: had}, false, ""},
		{"the superuser only", model.Evidence{Superuser: had, Volume: none}, false, ""},
		{"the volume only", model.Evidence{Superuser: none, Volume: had}, false, ""},
		{"nobody", model.Evidence{Superuser: none, Volume: none}, false, "evidence-missing"},
		{"the superuser sees a shard, the volume none", model.Evidence{Superuser: had, Volume: had, Shards: []model.SeenShard{seen("STARTED", "n3")}}, false, "superuser-sees-shards"},
		{"the volume has a folder, the superuser sees none", model.Evidence{Superuser: had, Volume: had, Folders: []model.ShardFolder{folder}}, false, "volume-has-shards"},
		{"a copy that is on no node", model.Evidence{Superuser: had, Volume: had, Shards: []model.SeenShard{seen("UNASSIGNED", "")}}, false, "superuser-sees-shards"},
		{"started elsewhere too, without consent", model.Evidence{Superuser: had, Volume: had, Shards: []model.SeenShard{seen("STARTED", "n3")}, Folders: []model.ShardFolder{folder}, Elsewhere: []model.SeenShard{seen("STARTED", "n1")}}, false, "superuser-sees-shards"},
		{"started elsewhere too, by leave-zone", model.Evidence{Superuser: had, Volume: had, Shards: []model.SeenShard{seen("STARTED", "n3")}, Folders: []model.ShardFolder{folder}, Elsewhere: []model.SeenShard{seen("STARTED", "n1")}}, true, ""},
		{"a folder of a copy that is started elsewhere too, without consent", model.Evidence{Superuser: had, Volume: had, Folders: []model.ShardFolder{folder}, Elsewhere: []model.SeenShard{seen("STARTED", "n1")}}, false, "volume-has-shards"},
		{"moving, by leave-zone", model.Evidence{Superuser: had, Volume: had, Shards: []model.SeenShard{seen("RELOCATING", "n3")}, Elsewhere: []model.SeenShard{seen("STARTED", "n1")}}, true, "superuser-sees-shards"},
		{"nowhere else, by leave-zone", model.Evidence{Superuser: had, Volume: had, Shards: []model.SeenShard{seen("STARTED", "n3")}}, true, "superuser-sees-shards"},
		{"a folder that no started copy elsewhere is known of, by leave-zone", model.Evidence{Superuser: none, Volume: had, Folders: []model.ShardFolder{folder}}, true, "volume-has-shards"},
		{"a folder of another index, by leave-zone", model.Evidence{Superuser: had, Volume: had, Folders: []model.ShardFolder{{UUID: "dangling", ID: 3, Path: "p"}}, Elsewhere: []model.SeenShard{seen("STARTED", "n1")}}, true, "volume-has-shards"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.evidence.Pod = "p-3"
			x := model.Examination{IDs: []string{"n3"}, Names: []string{"n3"}, Pods: []string{"p-3"}, Elsewhere: c.elsewhere}
			r, holds := x.Verdict([]model.Evidence{c.evidence})
			assert.Equal(t, c.gate != "", holds)
			assert.Equal(t, c.gate, r.Name)
			_, holds = x.Verdict(nil)
			assert.True(t, holds, "without an answer nobody leaves")
		})
	}
}

func TestANodeThatIsAwayIsVouchedForByTheSuperuserElsewhere(t *testing.T) {
	pod := model.Pod{Name: cold + "-1", Set: cold, Ordinal: 1, NodeName: cold + "/1", Phase: "Pending"}
	stays := model.Pod{Name: cold + "-0", Set: cold, NodeName: cold + "/0", Ready: true, Phase: "Running"}
	for _, c := range []struct {
		name   string
		claims []model.Claim
		want   []string
	}{
		{"CrateDB never started on its volume: there is nothing to see", []model.Claim{{Set: cold, Ordinal: 1, ClusterID: "id-1"}}, nil},
		{"it has no volume yet", nil, nil},
		{"a node has written to its volume before", []model.Claim{{Set: cold, Ordinal: 1, ClusterID: "id-1", Version: "6.4.3"}}, []string{cold + "-1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			db := model.Database{Contact: model.Yes, ClusterID: "id-1", TablesKnown: true, ShardsKnown: true, Nodes: []model.Node{{ID: "a", Name: cold + "/0"}}, Pods: []model.PodAnswer{{Pod: cold + "-0", ClusterID: "id-1"}}}
			o := model.Observed{Pods: []model.Pod{stays, pod}, Claims: c.claims, Database: db, Sets: []model.ObservedSet{{Name: cold, Replicas: 2}}}
			sh := &model.Shrink{Set: cold, From: 2, To: 1, Before: 2, Drained: db.At.Add(1), Leaving: []model.LeavingNode{{Name: cold + "/1", Pod: cold + "-1", Ordinal: 1}}}
			r := model.Record{ClusterID: "id-1", Sets: []model.RecordedSet{{Name: cold, Group: "cold", Replicas: 2}}, Operation: &model.Operation{Kind: model.OperationShrink, Step: model.StepDrain, Shrink: sh}}
			d := tiers(3, 1)
			x := scale.NeedsEvidence(&d, &o, &r)
			assert.Equal(t, c.want, x.Absent)
			assert.Empty(t, x.Pods)
			if len(c.want) > 0 {
				assert.Equal(t, cold+"-0", x.Ask)
				_, holds := x.Verdict([]model.Evidence{{Pod: cold + "-1", Superuser: model.Witness{Had: true}}})
				assert.False(t, holds, "the superuser sees no shard that lacks a copy")
				r, holds := x.Verdict([]model.Evidence{{Pod: cold + "-1", Superuser: model.Witness{Had: true}, Shards: []model.SeenShard{{Schema: "secret", Table: "t", State: "UNASSIGNED"}}}})
				assert.True(t, holds)
				assert.Equal(t, "superuser-sees-shards", r.Name)
			}
		})
	}
}
