package plan_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/plan"
)

// empty lists, of which plans of an operation that had begun were made.
var emptyLists = regexp.MustCompile(`^;|: ;|: *$|\b0 (nodes|pods|claims)\b`)

// A plan of volumes that were being replaced said "replace volumes node by node: ; 0 nodes are drained in place".
func TestOfAnOperationThatHasBegunThePlanSaysWhatIsLeft(t *testing.T) {
	with := func(change func(*wish)) wish {
		w := basic()
		change(&w)
		return w
	}
	consent := "consent: [delete-volumes]"
	for _, c := range []struct {
		name     string
		from, to wish
		pods     int
		last     string
	}{
		{"smaller volumes", with(func(w *wish) { w.operations = consent }), with(func(w *wish) { w.operations, w.diskSize = consent, "8GiB" }), 3, "replace volumes node by node: no pod is left to restart"},
		{"larger volumes", basic(), with(func(w *wish) { w.diskSize = "128GiB" }), 0, "recreate StatefulSet " + hot + " around its pods, so that later ones get such volumes; no pod restarts"},
		{"a disk less", with(func(w *wish) { w.disks = 2 }), basic(), 3, "remove disks node by node: no pod is left to restart"},
		{"more memory", basic(), with(func(w *wish) { w.memory = "8Gi" }), 3, "restart: no pod is left to restart"},
	} {
		t.Run(c.name, func(t *testing.T) {
			old, next := c.from.render(t), c.to.render(t)
			observed, record, done := plan.Converged(old.desired, old.templates, noon)
			require.True(t, done)
			start := plan.Start{Desired: next.desired, Templates: next.templates, Observed: observed, Record: record, Now: noon}
			data(&start, "doc.items", "1", 3, 2, 10)
			last, left, before := "", c.pods, ""
			for passes := 0; ; passes++ {
				mid, done := plan.Midway(start, passes)
				if done {
					break
				}
				op := mid.Record.Operation
				if op == nil || string(op.Kind)+op.Step == before {
					continue // each step once
				}
				before = string(op.Kind) + op.Step
				course := plan.Forward(mid)
				require.True(t, course.Done, "%v", course.Unknown)
				assert.LessOrEqual(t, course.Restarts, left, "%d passes", passes)
				left = course.Restarts
				for _, planned := range course.Operations {
					assert.NotRegexp(t, emptyLists, planned.Summary, "%d passes", passes)
					last = planned.Summary
				}

				mid.Desired.Paused = true
				held := plan.Forward(mid)
				assert.Contains(t, waits(held), "paused")
				for _, planned := range held.Operations {
					assert.NotEmpty(t, planned.Steps, "%d passes: %s", passes, planned.Summary)
				}
			}
			assert.Equal(t, c.last, last)
			assert.Zero(t, left)
		})
	}
}

// A plan said of settings and of volumes that grow that they come after the pods that restart.
func TestWhatWaitsForNoOtherOperationGoesOnMeanwhile(t *testing.T) {
	to := basic()
	to.settings, to.users, to.version, to.diskSize, to.hot = "cluster.max_shards_per_node: 2000", []string{"ada"}, "6.4.3", "128GiB", 4
	course := between(t, basic(), to, nil)
	require.True(t, course.Done, "%v", course.Unknown)
	meanwhile := map[string]bool{}
	for _, op := range course.Operations {
		meanwhile[op.Kind] = op.Meanwhile
		if op.Kind == "expand" {
			assert.Contains(t, op.Summary, "grow volumes online, meanwhile: ")
		}
	}
	assert.Equal(t, map[string]bool{"upgrade": false, "settings": true, "users": true, "expand": false, "grow": false}, meanwhile)

	alone := basic()
	alone.users = []string{"ada"}
	course = between(t, basic(), alone, nil)
	require.Equal(t, []string{"users"}, kinds(course))
	assert.False(t, course.Operations[0].Meanwhile)
}

// Pair 33779: an upgrade had just deleted its first pod, which was being terminated when the plan was made. A copy of a table
// with one on each node was given up for the moment in which that pod is away, and the older nodes got none any more from the
// newer one. The plan stood there.
func TestOfAPodThatIsBeingTerminatedTheVolumeAndItsCopiesStay(t *testing.T) {
	old, to := basic().render(t), basic()
	to.version = "6.4.3"
	next := to.render(t)
	observed, record, done := plan.Converged(old.desired, old.templates, noon)
	require.True(t, done)
	start := plan.Start{Desired: next.desired, Templates: next.templates, Observed: observed, Record: record, Now: noon}
	data(&start, "doc.items", "0-all", 1, 3, 10)
	before := start.Observed
	for passes := 0; ; passes++ {
		mid, done := plan.Midway(start, passes)
		require.False(t, done)
		op := mid.Record.Operation
		if op == nil || op.Step != model.StepDown {
			continue
		}
		for i := range mid.Observed.Pods {
			if p := &mid.Observed.Pods[i]; p.Name == op.Restart.Pod {
				*p = before.Pods[i]
				p.Terminating = true
			}
		}
		course := plan.Forward(mid)
		require.True(t, course.Done, "%v", course.Unknown)
		assert.Equal(t, 2, course.Restarts)
		return
	}
}
