package ops_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"stevedore.dev/stevedore/ops"
)

// After a shrink by more than half, a full outage before the restart that it makes due
// would last for ever: the masters wait for more data nodes than there are.
func TestAMasterThatWaitsForNodesThatHaveLeftIsMadeAnew(t *testing.T) {
	for _, c := range []struct {
		name      string
		change    func(*situation)
		recovered string
		told      bool // that it waits, and not that somebody has changed the password
	}{
		{"it waits", func(*situation) {}, hot + "-0", true},
		{"its template asks for as many still", func(s *situation) { s.o.Sets[0].RecoverAfter = 9 }, "", true},
		{"it waits for no more than there are: somebody has changed the password", func(s *situation) { s.podOf(hot + "-0").RecoverAfter = 4 }, "", false},
		{"the database answers", func(s *situation) { s.o.Database.Contact, s.o.Database.SystemLogin = ops.Yes, ops.LoginOK }, "", false},
		{"it refuses system for a moment only", func(s *situation) { s.r.Bootstrap.SystemChange.Since = s.o.At.Add(-time.Second) }, "", false},
		{"the Secret was changed", func(s *situation) { s.r.Bootstrap.System.ResourceVersion = "before" }, "", false},
		{"another pod is away", func(s *situation) { s.podOf(warm + "-0").Ready = false }, "", false},
		{"nobody was asked", func(s *situation) { s.o.Database.Contact = ops.Unknown }, "", false},
		{"it is no master", func(s *situation) {
			s.podOf(hot + "-0").RecoverAfter = 3
			s.podOf(warm + "-0").RecoverAfter = 9
		}, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := twoGroups(t)
			s.onTemplate(map[string]string{hot: "t1", warm: "t1"})
			slices.SortFunc(s.o.Sets, func(a, b ops.ObservedSet) int {
				if a.Name == hot {
					return -1
				}
				return 1
			})
			for i := range s.o.Sets {
				s.o.Sets[i].RecoverAfter = 3
			}
			s.podOf(hot + "-0").RecoverAfter = 9
			s.o.Database.Contact, s.o.Database.SystemLogin, s.o.Database.SystemSecret = ops.No, ops.LoginRefused, ops.SecretVersion{}
			s.r.Bootstrap.SystemChange = ops.SystemChange{Refused: s.r.Bootstrap.System, Since: s.o.At.Add(-2 * time.Minute)}
			c.change(s)
			d := s.inSync()
			recovered := ""
			if d.Disruptive != nil {
				assert.Equal(t, ops.ActionRecoverPod, d.Disruptive.Kind)
				recovered = d.Disruptive.Pod
			}
			assert.Equal(t, c.recovered, recovered)
			assert.Equal(t, c.told, slices.Contains(reasons(d.Waits), "gateway-recovered"))
			assert.False(t, c.told && slices.Contains(reasons(d.Refusals), "system-login-refused"))
		})
	}
}
