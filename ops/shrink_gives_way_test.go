package ops_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/render/definition"
)

// A shrink waits until each node has joined, and until CrateDB is green. Where only an upgrade brings that, the upgrade goes first.
func TestAShrinkGivesWayToAnUpgradeForWhichItWouldWaitForEver(t *testing.T) {
	const leaves = hot + "-2"
	stuck := func(pod string, so func(*model.Pod)) func(*situation) {
		return func(s *situation) {
			s.away(pod)
			p := s.podOf(pod)
			p.Template, p.Started, p.Waiting = "t2", s.o.At.Add(-time.Hour), "CrashLoopBackOff"
			for i := range s.o.Sets {
				if s.o.Sets[i].Name == hot {
					s.o.Sets[i].Template = "t2"
				}
			}
			if so != nil {
				so(p)
			}
		}
	}
	yellow := func(newer string) func(*situation) {
		return func(s *situation) {
			db := &s.o.Database
			db.Health = model.Health{Colour: model.Yellow, Underreplicated: 1, Tables: []string{"doc.t"}}
			db.Shards = []model.Shard{{Table: "doc.t", Node: db.Nodes[0].ID, State: "STARTED", Primary: true}, {Table: "doc.t", State: "UNASSIGNED"}}
			db.Tables, db.Unassigned = []model.Table{{Name: "doc.t", Replicas: "1", Started: 1}}, 1
			for i := range db.Nodes {
				db.Nodes[i].Version = "5.9.1"
			}
			db.Nodes[0].Version = newer
		}
	}
	both := func(fs ...func(*situation)) func(*situation) {
		return func(s *situation) {
			for _, f := range fs {
				f(s)
			}
		}
	}
	noUpgrade := func(s *situation) {
		s.d.Changes, s.r.Version = []model.Change{{Class: model.ChangeRestart, Set: hot}}, s.d.Version
	}
	for _, c := range []struct {
		name string
		so   func(*situation)
		ends bool
	}{
		{"nothing is in its way", func(*situation) {}, false},
		{"a node that stays is stuck, and the correction is of another version", stuck(hot+"-0", nil), true},
		{"a node that leaves is stuck, on which CrateDB has written", stuck(leaves, nil), true},
		{"CrateDB has never started in the pod that leaves", stuck(leaves, func(p *model.Pod) { p.Started = time.Time{} }), false},
		{"the pod has still time", stuck(hot+"-0", func(p *model.Pod) { p.Waiting, p.Created, p.Started = "", p.Created.Add(time.Hour), time.Time{} }), false},
		{"a restart brings the correction", both(stuck(hot+"-0", nil), noUpgrade), false},
		{"no older node may take a copy from a newer one", yellow("5.10.1"), true},
		{"the nodes run one version", yellow("5.9.1"), false},
		{"no upgrade is due that ends it", both(yellow("5.10.1"), noUpgrade), false},
		{"only nodes that leave may take the copies", both(yellow("5.10.1"), func(s *situation) {
			for i := range s.o.Database.Nodes {
				if n := &s.o.Database.Nodes[i]; n.Name != s.podOf(leaves).NodeName {
					n.Version = "5.10.1"
				}
			}
			s.o.Database.Tables[0].Replicas = "0-all"
			s.o.Database.Shards = append(s.o.Database.Shards, model.Shard{Table: "doc.t", Node: s.o.Database.Nodes[1].ID, State: "STARTED"}, model.Shard{Table: "doc.t", Node: s.o.Database.Nodes[3].ID, State: "STARTED"})
		}), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := twoGroups(t)
			s.onTemplate(map[string]string{hot: "t1", warm: "t1"})
			s.d.Revision, s.d.Changes = "rev-next", []model.Change{{Class: model.ChangeImage, Set: hot}, {Class: model.ChangeImage, Set: warm}}
			s.d.Sets = append([]model.Set(nil), s.d.Sets...)
			s.d.Sets[0].Replicas, s.d.Operations.Consent = 2, []definition.Consent{definition.ConsentTwoMasters}
			s.r.Version, s.r.Verified = "5.9.1", []model.VerifiedTemplate{{Set: hot, Template: "t1"}, {Set: warm, Template: "t1"}}
			for i := range s.o.Claims {
				s.o.Claims[i].Version = "5.9.1"
			}
			s.r.Operation = &model.Operation{Kind: model.OperationShrink, Step: model.StepNext, Started: s.o.At, Revision: s.d.Revision,
				From: s.r.Sets, To: s.r.Sets, Shrink: &model.Shrink{Since: s.o.At}}
			c.so(s)
			require.Equal(t, hot, s.d.Sets[0].Name)
			d := s.decide()
			assert.Equal(t, c.ends, d.Record.Operation == nil, "%v, %v", d.Waits, d.Refusals)
		})
	}
}
