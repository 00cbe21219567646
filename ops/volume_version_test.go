package ops_test

import (
	"cmp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
)

// A node of the newer version was started on a volume, nobody saw it join, and its pod was
// replaced by one that cannot start. The next pod would have come back on the older version,
// which does not read the volume (found by the simulation).
func TestNoPodComesBackOnAnOlderVersionThanHasStartedOnItsVolume(t *testing.T) {
	const pod = warm + "-0"
	for _, c := range []struct {
		name    string
		claim   string // which version has written to it, as the claim says; "": its set's
		started bool
		command bool
		goes    bool
	}{
		{"the newer version has never started on the volume", "", false, false, true},
		{"it has never started, and a person names the pod", "", false, true, true},
		{"it has started in a pod before", "99.1.0", false, false, false},
		{"it has started in a pod before, and a person names this one", "99.1.0", false, true, false},
		{"it has started in this pod", "", true, false, false},
		{"it has started in this pod, and a person names it", "", true, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := alone(t, pod)
			p := s.podOf(pod)
			p.Version, p.Template, p.Waiting, p.Runs, p.Started = "99.1.0", "t2", "ImagePullBackOff", false, time.Time{}
			if c.started {
				p.Started = s.o.At.Add(-time.Hour)
			}
			if !c.command {
				s.o.Commands = model.Commands{}
			}
			for i := range s.o.Claims {
				if claim := &s.o.Claims[i]; claim.Set == warm && claim.Ordinal == 0 {
					require.Equal(t, s.r.Version, claim.Version)
					claim.Version = cmp.Or(c.claim, claim.Version)
				}
			}
			d := s.inSync()
			if c.goes {
				require.NotNil(t, d.Disruptive, "%v", d.Waits)
				assert.Equal(t, pod, d.Disruptive.Pod)
				assert.Equal(t, model.ActionRecreatePod, d.Disruptive.Kind, "only while it has not started, which is looked at right before")
			} else {
				assert.Nil(t, d.Disruptive)
			}
			var noted []string
			for _, a := range d.Harmless {
				if a.Kind == model.ActionAnnotateClaim {
					noted = append(noted, a.Claim+" "+a.Version)
				}
			}
			if c.started {
				assert.Equal(t, []string{"data0-" + pod + " 99.1.0"}, noted, "the pod that comes after it is to know")
			} else {
				assert.Empty(t, noted)
			}
		})
	}
}
