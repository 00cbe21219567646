package ops_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"stevedore.dev/stevedore/ops/model"
)

// A table wants more copies than there are nodes, and a new group gives it room: so the group comes before an upgrade. It is not
// made while a set is on trial. Where a pod of that is stuck and only the upgrade corrects it, the upgrade goes first.
func TestANewGroupComesAfterAnUpgradeThatEndsATrial(t *testing.T) {
	upgraded := func(s *situation) {
		s.r.Operation = &model.Operation{Kind: model.OperationUpgrade, Step: model.StepNext, Started: s.o.At, Revision: s.d.Revision,
			Upgrade: &model.Upgrade{OldVersion: "5.9.1", NewVersion: "5.10.1"}, Restart: &model.Restart{Set: warm, Remembered: "t2", Since: s.o.At}}
		s.d.Changes = []model.Change{{Class: model.ChangeImage, Set: hot}}
		s.o.Sets[1].Template, s.o.Sets[1].Version = "t3", "5.10.1"
	}
	for _, c := range []struct {
		name string
		so   func(*situation)
		next model.OperationKind
	}{
		{"a pod is stuck on the template of its set", func(*situation) {}, model.OperationUpgrade},
		{"the set has got its next template, and the pod is not on it yet", upgraded, model.OperationUpgrade},
		{"the pod has still time", func(s *situation) {
			p := s.podOf(warm + "-0")
			p.Waiting, p.Created = "", s.o.At
		}, ""},
		{"its node has joined", func(s *situation) { s.joins(warm + "-0") }, model.OperationGrow},
		{"no upgrade is due", func(s *situation) {
			s.d.Changes, s.r.Version = []model.Change{{Class: model.ChangeRestart, Set: warm}}, s.d.Version
		}, ""},
		{"no group is new", func(s *situation) {
			s.d.Sets = s.d.Sets[:2]
			s.d.Sets[0].Replicas = 5
		}, model.OperationGrow},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := twoGroups(t)
			s.onTemplate(map[string]string{hot: "t1", warm: "t2"})
			s.d.Revision, s.d.Changes = "rev-next", []model.Change{{Class: model.ChangeImage, Set: hot}, {Class: model.ChangeImage, Set: warm}}
			s.d.Sets = append([]model.Set(nil), s.d.Sets...)
			s.d.Sets = append(s.d.Sets, model.Set{Name: cold, Group: "cold", Data: true, Replicas: 2})
			s.r.Version, s.r.Verified = "5.9.1", []model.VerifiedTemplate{{Set: hot, Template: "t1"}, {Set: warm, Template: "t1"}}
			for i := range s.o.Sets {
				s.o.Sets[i].Version = s.r.Version
			}
			db := &s.o.Database
			db.Tables, db.TablesKnown = []model.Table{{Name: "doc.t", Replicas: "4", Started: 4}}, true
			s.away(warm + "-0")
			p := s.podOf(warm + "-0")
			p.Template, p.Started, p.Waiting = "t2", time.Time{}, "ImagePullBackOff"
			c.so(s)
			d := s.decide()
			kind := model.OperationKind("")
			if d.Record.Operation != nil {
				kind = d.Record.Operation.Kind
			}
			assert.Equal(t, c.next, kind, "%v, %v", d.Waits, d.Refusals)
		})
	}
}

// Seed 6386034898: an upgrade makes room for nodes that a table waits for, and its set has the new template on no pod yet. The
// template before is on a pod that is stuck on it: rolled back to that, the set got the new one again, pass by pass.
func TestAnUpgradeThatMakesRoomDoesNotRollBackToATemplateOnWhichAPodIsStuck(t *testing.T) {
	for _, c := range []struct {
		name     string
		so       func(*situation)
		template model.TemplateChoice
	}{
		{"its pod is stuck on the template before", func(*situation) {}, model.TemplateKept},
		{"its pod has joined on the template before", func(s *situation) {
			s.podOf(warm + "-0").Waiting = ""
			s.joins(warm + "-0")
		}, model.TemplateBefore},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := twoGroups(t)
			s.onTemplate(map[string]string{hot: "t1", warm: "t3"})
			s.d.Revision, s.d.Changes = "rev-next", []model.Change{{Class: model.ChangeImage, Set: hot}}
			s.d.Sets = append([]model.Set(nil), s.d.Sets...)
			s.d.Sets[0].Replicas = 5
			s.r.Version, s.r.Verified = "5.9.1", []model.VerifiedTemplate{{Set: hot, Template: "t1"}, {Set: warm, Template: "t1"}}
			s.r.Operation = &model.Operation{Kind: model.OperationUpgrade, Step: model.StepNext, Started: s.o.At, Revision: s.d.Revision,
				Upgrade: &model.Upgrade{OldVersion: "5.9.1", NewVersion: "5.10.1"}, Restart: &model.Restart{Set: warm, Remembered: "t2", Since: s.o.At}}
			db := &s.o.Database
			db.Tables, db.TablesKnown = []model.Table{{Name: "doc.t", Replicas: "4", Started: 4}}, true
			s.away(warm + "-0")
			p := s.podOf(warm + "-0")
			p.Template, p.Started, p.Waiting = "t2", time.Time{}, "ImagePullBackOff"
			for i := range s.o.Claims {
				s.o.Claims[i].Version = "5.9.1"
			}
			c.so(s)
			d := s.decide()
			assert.Equal(t, c.template, effective(t, d, warm).Template, "%v, %v, %+v", d.Waits, d.Refusals, d.Record.Operation)
		})
	}
}
