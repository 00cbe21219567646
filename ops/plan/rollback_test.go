package plan_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/plan"
)

// An image that cannot be pulled, taken back: the plan said "change the image of CrateDB
// 6.3.7 from crate to crate".
func TestAnImageThatIsTakenBackIsPlannedAsWhatHappens(t *testing.T) {
	good, bad := basic(), basic()
	bad.registry = "nowhere.example/crate"
	for _, c := range []struct {
		name     string
		stuck    bool // the first pod has gone, and is stuck on the image
		step     string
		summary  string
		restarts int
		steps    []string
	}{
		{"before a pod has gone", false, model.StepNext, "roll back to the image crate:6.3.7, which pods ran before: no pod restarts", 0, []string{"apply " + hot}},
		{"with a pod that is stuck", true, model.StepDown, "roll back to the image crate:6.3.7, which pods ran before: 1 pod is recreated on it, no other restarts", 1, []string{"apply " + hot, "replace-stuck-pod " + hot + "-0"}},
		{"with a pod that has had its time", true, model.StepStopped, "roll back to the image crate:6.3.7, which pods ran before: 1 pod is recreated on it, no other restarts", 1, []string{"apply " + hot, "replace-stuck-pod " + hot + "-0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			old, wrong := good.render(t), bad.render(t)
			observed, record, done := plan.Converged(old.desired, old.templates, noon)
			require.True(t, done)
			effective := model.Effective{Sets: []model.EffectiveSet{{Name: hot, Replicas: 3, Template: model.TemplateDesired, Remember: true}}}
			saved, err := wrong.templates.Materialise(record.Saved, effective)
			require.NoError(t, err)
			sets, err := wrong.templates.Sets(saved)
			require.NoError(t, err)
			record.Saved = saved
			i := slices.IndexFunc(sets, func(s plan.Set) bool { return s.Name == hot })
			require.NotEqual(t, observed.Sets[0].Template, sets[i].Template)
			observed.Sets[0].Template = sets[i].Template
			record.Operation = &model.Operation{
				Kind: model.OperationUpgrade, Step: c.step, Started: noon.Add(-time.Hour), Revision: wrong.desired.Revision,
				Upgrade: &model.Upgrade{OldVersion: "6.3.7", NewVersion: "6.3.7", OldRegistry: "crate", NewRegistry: bad.registry},
				Restart: &model.Restart{Set: hot, Since: noon.Add(-time.Hour)},
			}
			if c.stuck {
				p := &observed.Pods[0]
				require.Equal(t, hot+"-0", p.Name)
				record.Operation.Restart.Pod, record.Operation.Restart.PodUID, record.Operation.Restart.Template = p.Name, p.UID, p.Template
				p.UID, p.Template, p.Created, p.Started = "stuck", sets[i].Template, noon.Add(-time.Minute), time.Time{}
				p.Ready, p.Phase, p.Waiting, p.Message = false, "Pending", "ImagePullBackOff", "no such image"
				gone := p.NodeName
				db := &observed.Database
				db.Nodes = slices.DeleteFunc(slices.Clone(db.Nodes), func(n model.Node) bool { return n.Name == gone })
				db.Pods = slices.DeleteFunc(slices.Clone(db.Pods), func(a model.PodAnswer) bool { return a.Pod == p.Name })
			}
			course := plan.Forward(plan.Start{Desired: old.desired, Templates: old.templates, Observed: observed, Record: record, Now: noon})
			require.NotEmpty(t, course.Operations, "%v", course)
			assert.Equal(t, c.summary, course.Operations[0].Summary)
			assert.Equal(t, c.restarts, course.Restarts)
			assert.Equal(t, c.steps, steps(course.Steps))
			assert.True(t, course.Done, "%v %v", course.Unknown, course.Waits)
		})
	}
}
