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

// The watch of pods showed the pod of before, and the template went back to the older version
// though the only node ran the newer one: the resume after the next suspension put it on that
// (found by the simulation).
func TestAnAbortTakesNoTemplateBackOnceTheNewVersionHasStartedOnAVolume(t *testing.T) {
	for _, c := range []struct {
		name    string
		claim   string
		returns bool
	}{
		{"no pod has come onto the new template", "6.3.7", true},
		{"no pod is seen on it, and a volume is the new version's", "6.4.3", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := twoGroups(t)
			s.onTemplate(map[string]string{hot: "t1", warm: "t1"})
			s.r.Version, s.d.Version, s.r.HighestVersion = "6.3.7", "6.4.3", "6.4.3"
			for i := range s.o.Sets {
				s.o.Sets[i].Version = "6.3.7"
				if s.o.Sets[i].Name == hot {
					s.o.Sets[i].Version, s.o.Sets[i].Template = "6.4.3", "t2"
				}
			}
			for i := range s.o.Pods {
				s.version(s.o.Pods[i].Name, "6.3.7")
			}
			for i := range s.o.Claims {
				s.o.Claims[i].Version = "6.3.7"
				if s.o.Claims[i].Set == hot && s.o.Claims[i].Ordinal == 0 {
					s.o.Claims[i].Version = c.claim
				}
			}
			s.d.Abort = true
			s.r.Operation = &model.Operation{Kind: model.OperationUpgrade, Step: model.StepNext, Started: s.o.At, Revision: s.d.Revision,
				Upgrade: &model.Upgrade{OldVersion: "6.3.7", NewVersion: "6.4.3"},
				Restart: &model.Restart{Set: hot, Remembered: "t1", MasterStable: true, Since: s.o.At}}
			d := s.inSync()
			for _, e := range d.Effective.Sets {
				if e.Name == hot {
					assert.Equal(t, c.returns, e.Template == model.TemplateBefore, "%v: %v, %v", e.Template, d.Waits, d.Refusals)
				}
			}
		})
	}
}
