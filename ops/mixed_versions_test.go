package ops_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops"
	"stevedore.dev/stevedore/ops/model"
)

// Which yellow is the doing of two versions, and which is another.
func TestOnlyAYellowOfTheVersionsLetsAnUpgradeGoOn(t *testing.T) {
	const n0, n1, n2 = hot + "/0", hot + "/1", hot + "/2"
	shard := func(id int, node, state string, primary bool) model.Shard {
		return model.Shard{Table: "doc.t", ID: id, Node: node, State: state, Primary: primary}
	}
	missing := func(id int) model.Shard { return shard(id, "", "UNASSIGNED", false) }
	yellow := func(db *model.Database, under int64, shards ...model.Shard) {
		db.Health = model.Health{Colour: model.Yellow, Underreplicated: under, Tables: []string{"doc.t"}}
		db.Shards = shards
		db.Tables = []model.Table{{Name: "doc.t", Replicas: "0-1", Started: 1}}
	}
	for _, c := range []struct {
		name   string
		change func(*model.Database)
		goesOn bool
	}{
		{"the primary on the only new node", func(db *model.Database) {
			yellow(db, 1, shard(0, n0, "STARTED", true), missing(0))
		}, true},
		{"two replicas missing", func(db *model.Database) {
			yellow(db, 2, shard(0, n0, "STARTED", true), missing(0), missing(0))
		}, true},
		{"beside shards that are whole", func(db *model.Database) {
			yellow(db, 1, shard(0, n0, "STARTED", true), missing(0), shard(1, n1, "STARTED", true), shard(1, n2, "STARTED", false))
		}, true},
		{"two new nodes have the copies", func(db *model.Database) {
			db.Nodes[1].Version = "6.4.3"
			yellow(db, 1, shard(0, n0, "STARTED", true), shard(0, n1, "STARTED", false), missing(0))
		}, true},
		{"another new node may take it", func(db *model.Database) {
			db.Nodes[1].Version = "6.4.3"
			yellow(db, 1, shard(0, n0, "STARTED", true), missing(0))
		}, false},
		{"another new node may take it, and its zone is full", func(db *model.Database) {
			db.Nodes[1].Version, db.Settings.Awareness = "6.4.3", []string{"zone"}
			for i, zone := range []string{"a", "a", "b"} {
				db.Nodes[i].Attributes = map[string]string{"zone": zone}
			}
			yellow(db, 1, shard(0, n0, "STARTED", true), missing(0))
		}, true},
		{"another new node may take it, and is in another zone", func(db *model.Database) {
			db.Nodes[1].Version, db.Settings.Awareness = "6.4.3", []string{"zone"}
			for i, zone := range []string{"a", "b", "b"} {
				db.Nodes[i].Attributes = map[string]string{"zone": zone}
			}
			yellow(db, 1, shard(0, n0, "STARTED", true), missing(0))
		}, false},
		{"the primary on an old node", func(db *model.Database) {
			yellow(db, 1, shard(0, n1, "STARTED", true), missing(0))
		}, false},
		{"one of two for another reason", func(db *model.Database) {
			yellow(db, 2, shard(0, n0, "STARTED", true), missing(0), shard(1, n1, "STARTED", true), missing(1))
		}, false},
		{"a primary is missing", func(db *model.Database) {
			yellow(db, 1, missing(0), missing(0))
			db.Health.Missing = 1
		}, false},
		{"a primary that is not started", func(db *model.Database) {
			yellow(db, 1, shard(0, n0, "INITIALIZING", true), missing(0))
		}, false},
		{"no node is without a copy", func(db *model.Database) {
			yellow(db, 1, shard(0, n0, "STARTED", true), shard(0, n1, "STARTED", false), shard(0, n2, "STARTED", false), missing(0))
		}, false},
		{"a node's version is unknown", func(db *model.Database) {
			db.Nodes[2].Version = ""
			yellow(db, 1, shard(0, n0, "STARTED", true), missing(0))
		}, false},
		{"shards that were not read", func(db *model.Database) { yellow(db, 1) }, false},
		{"fewer shards than health counts", func(db *model.Database) {
			yellow(db, 2, shard(0, n0, "STARTED", true), missing(0))
		}, false},
		{"another table lacks a copy of its range", func(db *model.Database) {
			yellow(db, 1, shard(0, n0, "STARTED", true), missing(0))
			db.Tables = append(db.Tables, model.Table{Name: "doc.other", Replicas: "0-1", Started: 1})
		}, false},
		{"a shard moves", func(db *model.Database) {
			yellow(db, 1, shard(0, n0, "STARTED", true), missing(0))
			db.Relocating = 1
		}, false},
		{"red", func(db *model.Database) {
			yellow(db, 1, shard(0, n0, "STARTED", true), missing(0))
			db.Health.Colour = model.Red
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := upgradable(t, wantedCluster(3))
			to(w, "6.4.3")
			w.until(func() bool {
				return w.record.Operation != nil && len(w.record.Operation.Restart.Done) == 1 && w.record.Operation.Step == model.StepNext
			})
			o := w.observe()
			require.Equal(t, "6.4.3", o.Database.Nodes[0].Version)
			require.Equal(t, "6.3.7", o.Database.Nodes[1].Version)
			c.change(&o.Database)
			w.desired.Changes = nil
			decide := func(kind model.OperationKind) model.Decision {
				r := w.record
				op := *r.Operation
				op.Kind, r.Operation = kind, &op
				if kind == model.OperationRestart {
					r.Version = "6.4.3" // its upgrade has ended
				}
				return ops.Decide(w.desired, o, r, model.Policy{}, w.now)
			}
			d := decide(model.OperationUpgrade)
			assert.Equal(t, c.goesOn, d.Record.Lock != nil, "waits %v", d.Waits)
			assert.Nil(t, decide(model.OperationRestart).Record.Lock, "a restart has no such yellow")
		})
	}
}

// Dedicated masters are new first and hold no data: they may not be taken for
// nodes that a copy could go to.
func TestMastersThatAreNewTakeNoCopies(t *testing.T) {
	w := upgradable(t, tiered(3, 3))
	to(w, "6.4.3")
	w.until(func() bool { return w.pods[hot+"-0"].template == w.wanted() && w.pods[hot+"-0"].away == 0 })
	w.middles = []*toyTable{{primary: hot + "/0"}}
	w.masters = map[string]bool{"crate-master-c/0": true, "crate-master-c/1": true, "crate-master-c/2": true}
	w.run(300)
	checkUpgraded(t, w, "6.4.3")
}

// An upgrade was taken back after a pod had come up on the newer version, and that pod is on neither template: the live one is
// older than its volume, so that it never goes back to that.
func TestAPodThatIsNewerThanItsSetGetsWhatIsDesired(t *testing.T) {
	for _, c := range []struct {
		name, started string
		want          model.TemplateChoice
	}{
		{"the newer version has started in it", "5.10.1", model.TemplateDesired},
		{"it has the version of its set, whose template brings it back", "5.9.1", model.TemplateKept},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := twoGroups(t)
			s.onTemplate(map[string]string{hot: "t1", warm: "t1"})
			s.r.Verified = []model.VerifiedTemplate{{Set: hot, Template: "t1"}, {Set: warm, Template: "t1"}}
			s.r.Operation = &model.Operation{Kind: model.OperationUpgrade, Step: model.StepStable, Started: s.o.At, Revision: s.d.Revision,
				Upgrade: &model.Upgrade{OldVersion: "5.9.1", NewVersion: "5.10.1"}, Restart: &model.Restart{Set: hot, Pod: hot + "-0", Since: s.o.At}}
			s.d.Changes = []model.Change{{Class: model.ChangeImage, Set: warm}}
			s.r.Version = "5.9.1"
			for i := range s.o.Sets {
				s.o.Sets[i].Version = s.r.Version
			}
			for i := range s.o.Claims {
				s.o.Claims[i].Version = c.started
			}
			s.away(warm + "-0")
			p := s.podOf(warm + "-0")
			p.Template, p.Version, p.Waiting, p.Started, p.Created = "t2", c.started, "CrashLoopBackOff", s.o.At.Add(-time.Minute), s.o.At.Add(-time.Hour)
			d := s.decide()
			assert.Equal(t, c.want, effective(t, d, warm).Template, "%v, %v", d.Waits, d.Refusals)
		})
	}
}

// A person wants all pods restarted and pushes another version, and pods of another group cannot run. The first group got the
// new template, went back for the pods that cannot run, and got it again, pass by pass. On what it has gone back to its pods
// have joined; on the new one none has.
func TestAnUpgradeTurnsToPodsThatCannotRunBeforeItsGroupHasTheNewTemplate(t *testing.T) {
	for _, c := range []struct {
		name, live, set string
		pending         bool
	}{
		{"no pod of the group can be on the new template", "t1", warm, true},
		{"pods of the group have joined on the new template", "t3", hot, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := twoGroups(t)
			s.onTemplate(map[string]string{hot: c.live, warm: "t3"})
			s.r.Verified = []model.VerifiedTemplate{{Set: hot, Template: "t1"}, {Set: warm, Template: "t3"}}
			s.r.Operation = &model.Operation{Kind: model.OperationUpgrade, Step: model.StepNext, Started: s.o.At, Revision: s.d.Revision,
				Upgrade: &model.Upgrade{OldVersion: "5.9.1", NewVersion: "5.10.1"}, Restart: &model.Restart{Set: hot, Remembered: "t1", Since: s.o.At, Before: s.o.At}}
			s.r.Version, s.d.Version = "5.9.1", "5.10.1"
			if c.pending {
				s.d.Changes = []model.Change{{Class: model.ChangeImage, Set: hot}}
			} else {
				s.podOf(hot + "-0").Template = c.live
			}
			s.away(warm + "-0")
			p := s.podOf(warm + "-0")
			p.Template, p.Waiting, p.Started = "t2", "CrashLoopBackOff", time.Time{}
			d := s.inSync()
			require.NotNil(t, d.Record.Operation)
			assert.Equal(t, c.set, d.Record.Operation.Restart.Set, "%v", d.Waits)
		})
	}
}

// Seed 6000009289: an upgrade was aborted when its first pod had started on the newer version and did not join, and began again.
// The first StatefulSet has the new template and no pod on it, and waits for that pod, which only the new template corrects.
func TestAnUpgradeThatBeginsAgainGoesFirstWhereAPodIsNewerAndStuck(t *testing.T) {
	for _, c := range []struct{ name, started, next string }{
		{"the newer version has started in it", "5.10.1", warm},
		{"it has the version of its set, whose template brings it back", "5.9.1", hot},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := twoGroups(t)
			s.onTemplate(map[string]string{hot: "t3", warm: "t1"})
			s.r.Verified = []model.VerifiedTemplate{{Set: hot, Template: "t1"}, {Set: warm, Template: "t1"}}
			s.r.Operation = &model.Operation{Kind: model.OperationUpgrade, Step: model.StepNext, Started: s.o.At, Revision: s.d.Revision,
				Upgrade: &model.Upgrade{OldVersion: "5.9.1", NewVersion: "5.10.1"}, Restart: &model.Restart{Set: hot, Since: s.o.At}}
			s.d.Changes = []model.Change{{Class: model.ChangeImage, Set: warm}}
			s.r.Version, s.o.Sets[1].Version = "5.9.1", "5.9.1"
			for i := range s.o.Claims {
				s.o.Claims[i].Version = c.started
			}
			for i := range s.o.Pods {
				s.o.Pods[i].Template = "t1"
			}
			s.away(warm + "-0")
			p := s.podOf(warm + "-0")
			p.Template, p.Version, p.Started, p.Created = "t2", c.started, s.o.At.Add(-time.Hour), s.o.At.Add(-time.Hour)
			d := s.decide()
			assert.Equal(t, c.next, d.Record.Operation.Restart.Set, "%v, %v", d.Waits, d.Refusals)
		})
	}
}
