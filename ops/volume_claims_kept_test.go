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
	"stevedore.dev/stevedore/render/definition"
)

// deletesClaims drains a node for another storage class, until the next pass deletes its claims, and has the decision of that one.
func deletesClaims(t *testing.T, w *world) model.Decision {
	t.Helper()
	w.desired = classed(w.desired, "slow", sizeBefore)
	found := func() bool {
		op := w.record.Operation
		return op != nil && op.Shrink != nil && !op.Shrink.Drained.IsZero()
	}
	for i := 0; i < 400 && !found(); i++ {
		_, _ = w.pass()
	}
	require.True(t, found())
	w.now = w.now.Add(time.Second)
	d := ops.Decide(w.desired, w.observe(), w.record, model.Policy{}, w.now)
	require.Equal(t, model.StepClaims, d.Record.Operation.Step)
	return d
}

// The claims of a node are deleted only while it is empty: their deletion is never taken back.
func TestAShardThatComesBackBeforeItsClaimsGoKeepsThem(t *testing.T) {
	w := consentingWorld(t)
	d := deletesClaims(t, w)
	leaves := d.Record.Operation.Shrink.Leaving[0]
	for name, there := range map[string]func(*model.Database){
		"a shard":           func(db *model.Database) { db.Shards[0].Node = leaves.ID },
		"one on its way":    func(db *model.Database) { db.Relocating = 1 },
		"one in the making": func(db *model.Database) { db.Initializing = 1 },
		"one on no node":    func(db *model.Database) { db.Unassigned = 1 },
		"another volume": func(db *model.Database) {
			for i := range db.Nodes {
				if db.Nodes[i].Name == leaves.Name {
					db.Nodes[i].ID = "another"
				}
			}
		},
		"a shard that only the superuser sees": func(db *model.Database) {
			db.Evidence = slices.Clone(db.Evidence)
			for i := range db.Evidence {
				db.Evidence[i].Shards = []model.SeenShard{{Table: "doc.hidden", State: "STARTED"}}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := w.observe()
			there(&o.Database)
			again := ops.Decide(w.desired, o, d.Record, model.Policy{}, w.now)
			assert.Nil(t, again.Disruptive)
			assert.Equal(t, model.StepDrain, again.Record.Operation.Step, "it is drained again")
		})
	}
	o := w.observe()
	o.Database.ShardsKnown = false
	again := ops.Decide(w.desired, o, d.Record, model.Policy{}, w.now)
	assert.Nil(t, again.Disruptive)
	assert.Contains(t, reasons(again.Waits), "tables-known", "nobody knows whether one has come back")
	again = ops.Decide(w.desired, w.observe(), d.Record, model.Policy{}, w.now)
	require.NotNil(t, again.Disruptive)
	assert.Equal(t, model.ActionDeleteClaims, again.Disruptive.Kind)
}

// withDisk adds the claim template of a further disk.
func withDisk(of []model.VolumeTemplate) []model.VolumeTemplate {
	for _, v := range slices.Clone(of) {
		v.Name = "data1"
		of = append(slices.Clone(of), v)
	}
	return of
}

// A node that leaves comes back before where it lacks a disk, as all pods get that first. Of its claims only those that somebody
// has deleted go.
func TestOfANodeThatLeavesOnlyClaimsThatSomebodyHasDeletedGo(t *testing.T) {
	w := consentingWorld(t)
	w.desired = classed(w.desired, "slow", sizeBefore)
	drained := func() bool {
		op := w.record.Operation
		return op != nil && op.Shrink != nil && op.Shrink.Replaces == hot+"-2" && !op.Shrink.Drained.IsZero()
	}
	for i := 0; i < 4000 && !drained(); i++ {
		_, _ = w.pass()
	}
	require.True(t, drained())
	sh := w.record.Operation.Shrink
	w.now = w.now.Add(time.Second)
	for _, c := range []struct {
		name            string
		leaves, deleted bool
		claims          string
	}{
		{"it stays", false, false, "data0 data1"},
		{"it stays, and somebody has deleted a claim of it", false, true, "data0 data1"},
		{"it leaves", true, false, ""},
		{"it leaves, and somebody has deleted a claim of it", true, true, "data0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			desired, o := w.desired, w.observe()
			desired.Sets, o.Claims, o.Pods = slices.Clone(desired.Sets), slices.Clone(o.Claims), slices.Clone(o.Pods)
			desired.Volumes, o.Volumes = withDisk(desired.Volumes), withDisk(o.Volumes)
			for i := range o.Claims {
				k := o.Claims[i]
				k.Name, k.Template, k.UID = "data1"+strings.TrimPrefix(k.Name, k.Template), "data1", k.UID+"-1"
				o.Claims = append(o.Claims, k)
			}
			desired.Operations.Consent = append(slices.Clone(desired.Operations.Consent), definition.ConsentTwoMasters)
			for i := range o.Pods {
				if p := &o.Pods[i]; c.leaves && p.Name == sh.Replaces {
					desired.Sets[0].Replicas, p.Volumes = 2, "debug" // it lacks a disk
				}
			}
			for i := range o.Claims {
				k := &o.Claims[i]
				k.Terminating = k.Terminating || c.deleted && k.Set == sh.Set && k.Of(sh.Replaces) && k.Template == "data0"
			}
			d := ops.Decide(desired, o, w.record, model.Policy{}, w.now)
			var deletes []string
			if a := d.Disruptive; a != nil && a.Kind == model.ActionDeleteClaims {
				for claim := range strings.SplitSeq(a.Claims, ",") {
					deletes = append(deletes, claim[:strings.Index(claim, "-")])
				}
			}
			assert.Equal(t, c.claims, strings.Join(deletes, " "), "%v %v", d.Waits, d.Refusals)
		})
	}
}

// Filters of somebody else can end the effect of an exclusion.
func TestADrainedNodeToWhichOnlyCopiesComeBackIsDrainedOnceMore(t *testing.T) {
	for _, c := range []struct {
		name  string
		so    func(w *world)
		check func(t *testing.T, w *world)
	}{
		{"as many are desired as before", func(*world) {}, func(t *testing.T, w *world) { checkReplaced(t, w, "slow", 100*gib) }},
		{"somebody has raised the replicas, and the definition has as many (6410768514)", func(w *world) {
			w.set(hot).Replicas++
			w.desired.Sets, w.desired.Revision = slices.Clone(w.desired.Sets), "rev-raised"
			w.desired.Sets[0].Replicas++
		}, func(t *testing.T, w *world) {
			assert.Len(t, w.pods, 4)
			assert.Equal(t, model.StageVerified, w.record.Stage)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := drainedForSlow(t)
			gone := w.excluded()[0]
			w.see = func(db *model.Database) {
				for i := range db.Nodes {
					if n := &db.Nodes[i]; n.ID == gone && slices.ContainsFunc(w.shards, func(s model.Shard) bool { return s.Node == gone }) {
						n.Sole = []string{"doc.one"}
					}
				}
			}
			w.besideOurs("_name", "nobody")
			w.refill()
			c.so(w)
			for i := 0; i < 200 && w.renamed[hot+"/0"] == ""; i++ {
				_, err := w.pass()
				require.NoError(t, err)
				lost := w.renamed[hot+"/0"] != "" && slices.ContainsFunc(w.shards, func(s model.Shard) bool { return s.Node == gone })
				require.False(t, lost, "the only copy has gone with its volume")
			}
			w.run(900)
			c.check(t, w)
		})
	}
}

// Seed 6420311020: the daemon ended after it had deleted a claim, and before it said on it that the volume may go. Meanwhile the
// former storage class was desired again. Nothing takes the deletion back, so the second write comes all the same.
func TestADeletionThatWasCutOffIsEndedWhateverIsDesiredByThen(t *testing.T) {
	w := consentingWorld(t)
	before := w.desired
	deletes := deletesClaims(t, w)
	former := classed(before, w.Claims[1].Class, sizeBefore)
	former.Operations.Consent = before.Operations.Consent
	noConsent := w.desired
	noConsent.Operations.Consent = nil
	for _, c := range []struct {
		name            string
		desired         model.Desired
		deleted, agreed bool
		action          model.ActionKind
		step            string
		claims          string
		before          bool // it was deleted before the node was empty
	}{
		{"another class is desired still", w.desired, true, false, model.ActionDeleteClaims, model.StepClaims, "data0 data1", false},
		{"the former class is desired again", former, true, false, model.ActionDeleteClaims, model.StepClaims, "data0", false},
		{"nobody consents to it any more", noConsent, true, false, model.ActionDeleteClaims, model.StepClaims, "data0", false},
		{"both writes were done", former, true, true, "", model.StepNext, "", false},
		{"nothing was deleted", former, false, false, "", model.StepInclude, "", false},
		{"somebody had deleted it before, and nobody consents to it any more", noConsent, true, false, "", model.StepInclude, "", true},
		{"somebody had deleted it before, and the definition consents", w.desired, true, false, model.ActionDeleteClaims, model.StepClaims, "data0 data1", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := w.observe()
			o.Claims, o.Pods = slices.Clone(o.Claims), slices.Clone(o.Pods)
			c.desired.Volumes, o.Volumes = withDisk(c.desired.Volumes), withDisk(o.Volumes)
			for i := range slices.Clone(o.Claims) {
				k := &o.Claims[i]
				further := *k
				further.Name, further.Template, further.UID = "data1"+strings.TrimPrefix(k.Name, k.Template), "data1", k.UID+"-1"
				if c.deleted && k.Ordinal == deletes.Record.Operation.Shrink.Leaving[0].Ordinal {
					k.Terminating, k.Deleted, k.Replace = true, w.now, c.agreed
					if c.before {
						k.Deleted = w.now.Add(-time.Minute)
					}
				}
				o.Claims = append(o.Claims, further)
			}
			d := ops.Decide(c.desired, o, deletes.Record, model.Policy{}, w.now)
			assert.Equal(t, c.step, d.Record.Operation.Step, "%v", d.Waits)
			var action model.ActionKind
			var claims []string
			if d.Disruptive != nil {
				action = d.Disruptive.Kind
				for _, claim := range model.Listed(d.Disruptive.Claims) {
					claims = append(claims, claim[:len("data0")])
				}
			}
			assert.Equal(t, c.claims, strings.Join(claims, " "))
			assert.Equal(t, c.action, action, "%v", d.Waits)
		})
	}
}

// Seed 6410111024: the daemon had deleted the claims of a drained node, and the exclusion was given back, so that shards came to that
// node again. Then the former storage class was desired. The claims are as desired, and go all the same: their node is drained before.
func TestAClaimWhoseVolumeMayGoIsReplacedThoughItIsAsDesired(t *testing.T) {
	for name, c := range map[string]struct {
		so   func(s *situation)
		next string
	}{
		"none is being deleted":         {func(*situation) {}, ""},
		"one is, and nobody has agreed": {func(s *situation) { s.deletes(1, false) }, ""},
		"one is, and its volume may go": {func(s *situation) { s.deletes(1, true) }, hot + "-1"},
		"the right to delete claims is not known, and not needed": {func(s *situation) {
			s.deletes(1, true)
			s.o.DeletesClaims = model.Unknown
		}, hot + "-1"},
		"the consent is not there any more": {func(s *situation) { s.deletes(1, true); s.d.Operations.Consent = nil }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := situated(t)
			s.o.Claims = slices.Clone(s.o.Claims)
			for i := range s.o.Claims {
				s.o.Claims[i].Class = "slow"
			}
			c.so(s)
			for range 2 { // and it goes on
				d, next := s.decide(), ""
				if op := d.Record.Operation; op != nil && op.Shrink != nil {
					next = op.Shrink.Replaces
					assert.Equal(t, model.StepExclude, op.Step)
				}
				assert.Equal(t, c.next, next, "%v %v", d.Waits, d.Refusals)
				s.r = d.Record
			}
		})
	}
}

// Seed 6386029948: a node was drained, and its volume was to go with its pod. The StatefulSet was without a disk that another pod
// has, which was stuck and is not recreated without it; the upgrade that was to bring the drained node onto its volume waited
// for that pod. The disk comes back first, as where nothing is excluded.
func TestADiskComesBackBeforeADrainedNodeRestarts(t *testing.T) {
	for _, c := range []struct {
		name  string
		extra bool
		kind  model.OperationKind
	}{
		{"a pod has a disk in addition", true, model.OperationExpand},
		{"all pods have the disks of their StatefulSet", false, model.OperationRestart},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := situated(t)
			s.deletes(2, true)
			p := s.podOf(hot + "-2")
			id := s.o.Database.Nodes[slices.IndexFunc(s.o.Database.Nodes, func(n model.Node) bool { return n.Name == p.NodeName })].ID
			s.r.Exclusions = &model.Exclusions{Set: hot, IDs: id}
			s.o.Database.Settings.Exclude = map[string]string{"_id": id}
			if c.extra {
				s.d.Volumes = withDisk(s.d.Volumes)
				s.o.Pods = slices.Clone(s.o.Pods)
				s.podOf(hot + "-0").Volumes = "data0,data1"
			}
			for i := range s.o.Claims {
				s.o.Claims[i].Class = "slow"
			}
			d := s.decide()
			require.NotNil(t, d.Record.Operation, "%v, %v", d.Waits, d.Refusals)
			assert.Equal(t, c.kind, d.Record.Operation.Kind, "%v, %v", d.Waits, d.Refusals)
		})
	}
}
