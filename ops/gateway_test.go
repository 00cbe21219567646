package ops_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/render/definition"
)

// After a shrink by more than half, a full outage before the restart that it makes due
// would last for ever: the masters wait for more data nodes than there are.
func TestAMasterThatWaitsForNodesThatHaveLeftIsRecreated(t *testing.T) {
	for _, c := range []struct {
		name      string
		change    func(*situation)
		recovered string
		told      bool // that it waits, and not that somebody has changed the password
	}{
		{"it waits", func(*situation) {}, hot + "-0", true},
		{"its probe fails, and its process has run for long", func(s *situation) {
			p := s.podOf(hot + "-0")
			p.Ready, p.Runs, p.Started = false, true, s.o.At.Add(-time.Hour)
		}, hot + "-0", true},
		{"its claim is being deleted, and nobody says what only its volume has", claimDeleted(0, true), "", true},
		{"its template asks for as many still", func(s *situation) { s.o.Sets[0].RecoverAfter = 9 }, "", true},
		{"it waits for no more than there are: somebody has changed the password", func(s *situation) { s.podOf(hot + "-0").RecoverAfter = 4 }, "", false},
		{"the database answers", func(s *situation) { s.o.Database.Contact, s.o.Database.SystemLogin = model.Yes, model.LoginOK }, "", false},
		{"it refuses system for a moment only", func(s *situation) { s.r.Bootstrap.SystemChange.Since = s.o.At.Add(-time.Second) }, "", false},
		{"the Secret was changed", func(s *situation) { s.r.Bootstrap.System.ResourceVersion = "before" }, "", false},
		{"another pod is away", func(s *situation) { s.podOf(warm + "-0").Ready = false }, "", false},
		{"nobody was asked", func(s *situation) { s.o.Database.Contact = model.Unknown }, "", false},
		{"it is no master", func(s *situation) {
			s.podOf(hot + "-0").RecoverAfter = 3
			s.podOf(warm + "-0").RecoverAfter = 9
		}, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := twoGroups(t)
			s.onTemplate(map[string]string{hot: "t1", warm: "t1"})
			slices.SortFunc(s.o.Sets, func(a, b model.ObservedSet) int {
				if a.Name == hot {
					return -1
				}
				return 1
			})
			for i := range s.o.Sets {
				s.o.Sets[i].RecoverAfter = 3
			}
			s.podOf(hot + "-0").RecoverAfter = 9
			s.o.Database.Contact, s.o.Database.SystemLogin, s.o.Database.SystemSecret = model.No, model.LoginRefused, model.SecretVersion{}
			s.r.Bootstrap.SystemChange = model.SystemChange{Refused: s.r.Bootstrap.System, Since: s.o.At.Add(-2 * time.Minute)}
			c.change(s)
			d := s.inSync()
			recovered := ""
			if d.Disruptive != nil {
				assert.Equal(t, model.ActionRecoverPod, d.Disruptive.Kind)
				recovered = d.Disruptive.Pod
				assert.Equal(t, !s.podOf(recovered).Ready, d.Disruptive.Unready)
			}
			assert.Equal(t, c.recovered, recovered)
			assert.Equal(t, c.told, slices.Contains(reasons(d.Waits), "gateway-recovered"))
			assert.False(t, c.told && slices.Contains(reasons(d.Refusals), "system-login-refused"))
		})
	}
}

// The counts of what is desired are for other nodes than there are: a master that is recreated on them would go on
// waiting.
func TestTemplatesOfMastersCountTheNodesThatThereAreWhileOneWaitsForMore(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*situation)
		counts int
	}{
		{"a group more is desired by now", func(s *situation) {
			s.d.Sets = append(s.d.Sets, model.Set{Name: "crate-data-new-c", Group: "new", Data: true, Replicas: 5})
		}, 4},
		{"another template is desired too", func(s *situation) {
			s.d.Sets[1].Replicas = 9
			s.pending(model.ChangeRestart)
		}, 4},
		{"the database answers", func(s *situation) { s.o.Database.Contact, s.o.Database.SystemLogin = model.Yes, model.LoginOK }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := twoGroups(t)
			s.onTemplate(map[string]string{hot: "t1", warm: "t1"})
			s.podOf(hot + "-0").RecoverAfter = 9
			s.o.Database.Contact, s.o.Database.SystemLogin, s.o.Database.SystemSecret = model.No, model.LoginRefused, model.SecretVersion{}
			s.r.Bootstrap.SystemChange = model.SystemChange{Refused: s.r.Bootstrap.System, Since: s.o.At.Add(-2 * time.Minute)}
			c.change(s)
			d := s.inSync()
			assert.Equal(t, c.counts, effective(t, d, hot).Gateway)
			assert.Zero(t, effective(t, d, warm).Gateway, "it is no master")
		})
	}
}

// A cluster that is being made has nothing to lose: what is desired of it no more holds back neither its gateway
// nor its end.
func TestAMasterOfANewClusterThatWaitsForAGroupThatWentIsRecreated(t *testing.T) {
	for _, c := range []struct {
		name      string
		change    func(*situation)
		recovered string
		counts    int
	}{
		{"it waits", func(*situation) {}, hot + "-0", 3},
		{"it waits, and the group was forgotten, for nothing was made of it", func(s *situation) {
			s.r.Sets, s.o.Sets = s.r.Sets[:1], s.o.Sets[:1]
			s.o.Pods = slices.DeleteFunc(s.o.Pods, func(p model.Pod) bool { return p.Set == warm })
		}, hot + "-0", 3},
		{"its template asks for as many still", func(s *situation) { s.o.Sets[0].RecoverAfter = 4 }, "", 3},
		{"the others may be on their way", func(s *situation) { s.podOf(hot + "-0").Created = s.o.At.Add(-time.Minute) }, "", 3},
		{"so many have been ready", func(s *situation) { s.podOf(warm + "-0").Ready = true }, "", 3},
		{"system was made: its gateway has recovered", func(s *situation) { s.r.Bootstrap.System.UID = "made" }, "", 3},
		{"the group is still wanted", func(s *situation) {
			s.d.Sets = append(s.d.Sets, model.Set{Name: warm, Group: "warm", Data: true, Replicas: 1})
		}, "", 0},
		{"it may not go", func(s *situation) { s.d.Operations.Consent = nil }, "", 0},
		{"the record was lost, so that no version is recorded, and a group without data becomes larger", func(s *situation) {
			s.d.Sets, s.r.Version = append(s.d.Sets, model.Set{Name: warm, Group: "warm", Replicas: 2}), ""
		}, hot + "-0", 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := twoGroups(t)
			s.onTemplate(map[string]string{hot: "t1", warm: "t1"})
			slices.SortFunc(s.o.Sets, func(a, b model.ObservedSet) int {
				if a.Name == hot {
					return -1
				}
				return 1
			})
			s.d.Sets, s.d.Operations.Consent = s.d.Sets[:1], []definition.Consent{definition.ConsentRemoveGroup}
			s.d.Revision = "rev-next"
			s.r.Bootstrap, s.r.ClusterID = model.Bootstrap{}, ""
			s.r.Operation = &model.Operation{Kind: model.OperationBootstrap, Started: s.o.At.Add(-time.Hour)}
			for i := range s.o.Claims {
				s.o.Claims[i].ClusterID = ""
			}
			for i := range s.o.Sets {
				s.o.Sets[i].InitialMasters, s.o.Sets[i].RecoverAfter = true, 2
			}
			s.o.Database = model.Database{At: s.o.At, Contact: model.No}
			s.podOf(hot + "-0").RecoverAfter = 4
			warmPod := s.podOf(warm + "-0")
			warmPod.Ready, warmPod.Waiting, warmPod.Started = false, "ImagePullBackOff", time.Time{}
			c.change(s)
			d := s.inSync()
			recovered := ""
			if d.Disruptive != nil && d.Disruptive.Kind == model.ActionRecoverPod {
				recovered = d.Disruptive.Pod
			}
			assert.Equal(t, c.recovered, recovered)
			assert.Equal(t, c.counts, effective(t, d, hot).Gateway)
		})
	}
}
