package plan_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/plan"
)

// The plan after restart-stopped said that the pods behind the first one get the template too.
func TestARestartThatHasStoppedIsPlannedToStayAsItIs(t *testing.T) {
	good, bad := basic(), basic()
	bad.settings = "no.such.setting: 1"
	good.cold, bad.cold = 2, 2
	old, wrong := good.render(t), bad.render(t)
	start := func(t *testing.T, next side, change func(p *model.Pod)) plan.Start {
		t.Helper()
		observed, record, done := plan.Converged(old.desired, old.templates, noon)
		require.True(t, done)
		sets, err := wrong.templates.Materialise(record.Saved, model.Effective{Sets: []model.EffectiveSet{
			{Name: hot, Replicas: 3, Template: model.TemplateDesired, Remember: true}, {Name: cold, Replicas: 2, Template: model.TemplateKept}}})
		require.NoError(t, err)
		tried, err := wrong.templates.Sets(sets)
		require.NoError(t, err)
		template := tried[slices.IndexFunc(tried, func(s plan.Set) bool { return s.Name == hot })].Template
		i := slices.IndexFunc(observed.Pods, func(p model.Pod) bool { return p.Name == hot+"-0" })
		p := &observed.Pods[i]
		require.NotEqual(t, p.Template, template)
		record.Revision = wrong.desired.Revision
		record.Operation = &model.Operation{
			Kind: model.OperationRestart, Step: model.StepStopped, Started: noon.Add(-time.Hour), Revision: wrong.desired.Revision,
			Restart: &model.Restart{Set: hot, Since: noon.Add(-time.Hour), Pod: p.Name, PodUID: p.UID, Template: p.Template, Remembered: p.Template},
		}
		p.UID, p.Template, p.Created, p.Started, p.Ready, p.Phase = "stuck", template, noon.Add(-time.Hour), time.Time{}, false, "Pending"
		change(p)
		gone := p.NodeName
		db := &observed.Database
		db.Nodes = slices.DeleteFunc(slices.Clone(db.Nodes), func(n model.Node) bool { return n.Name == gone })
		db.Pods = slices.DeleteFunc(slices.Clone(db.Pods), func(a model.PodAnswer) bool { return a.Pod == p.Name })
		return plan.Start{Desired: next.desired, Templates: next.templates, Observed: observed, Record: record, Now: noon}
	}
	for _, c := range []struct {
		name  string
		state func(p *model.Pod)
	}{
		{"no Kubernetes node takes it, or its volume is not there", func(*model.Pod) {}},
		{"its volume cannot be mounted", func(p *model.Pod) { p.Waiting = "ContainerCreating" }},
		{"CrateDB ends at once", func(p *model.Pod) {
			p.Waiting, p.Restarts, p.Started = "CrashLoopBackOff", 7, noon.Add(-50*time.Minute)
		}},
		{"CrateDB is being started once more", func(p *model.Pod) { p.Phase, p.Restarts, p.Started = "Running", 7, noon.Add(-50*time.Minute) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			begun := start(t, wrong, c.state)
			course := plan.Forward(begun)
			assert.Equal(t, []string{"restart-stopped"}, gates(course))
			assert.Empty(t, course.Operations)
			assert.Empty(t, course.Steps)
			assert.Zero(t, course.Restarts)
			assert.Empty(t, course.Unknown)
			before, err := manifest.Unpack(begun.Record.Saved)
			require.NoError(t, err)
			objects := weighed(t, old, wrong, before, &course)
			require.Len(t, objects, 2)
			for _, o := range objects {
				assert.Equal(t, plan.Refused, o.Class, o.Key.Name)
			}

			// Another definition brings the pod back.
			corrected := plan.Forward(start(t, old, c.state))
			assert.Empty(t, corrected.Refused)
			assert.True(t, corrected.Done, "%v", corrected.Unknown)
			require.Len(t, corrected.Steps, 1)
			assert.Equal(t, hot+"-0", corrected.Steps[0].Target)
			assert.Equal(t, 1, corrected.Restarts)
		})
	}
}
