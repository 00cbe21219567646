package plan_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops"
	"stevedore.dev/stevedore/ops/plan"
	"stevedore.dev/stevedore/render"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// wish is a definition in the making.
type wish struct {
	version, memory       string
	masters, hot, cold    int
	users                 []string
	settings              string // of spec.cluster, in braces
	operations            string // of spec, in braces
	annotations, diskSize string
}

func basic() wish { return wish{version: "6.3.7", memory: "4Gi", hot: 3, diskSize: "64GiB"} }

func (w wish) yaml() string {
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: cloud.crate.io/v1\nkind: CrateDB\nmetadata: {name: orders, namespace: shop, annotations: {%s}}\nspec:\n", w.annotations)
	fmt.Fprintf(&b, "  cluster: {name: orders, imageRegistry: crate, version: %s, settings: {%s}}\n", w.version, w.settings)
	if w.operations != "" {
		fmt.Fprintf(&b, "  operations: {%s}\n", w.operations)
	}
	b.WriteString("  nodes:\n")
	resources := func() string {
		return fmt.Sprintf("resources: {limits: {cpu: 2, memory: %s}, disk: {count: 1, size: %s, storageClass: default}, heapRatio: 0.25}", w.memory, w.diskSize)
	}
	if w.masters > 0 {
		fmt.Fprintf(&b, "    master: {replicas: %d, %s}\n", w.masters, resources())
	}
	fmt.Fprintf(&b, "    data:\n    - {name: hot, replicas: %d, %s}\n", w.hot, resources())
	if w.cold > 0 {
		fmt.Fprintf(&b, "    - {name: cold, replicas: %d, %s}\n", w.cold, resources())
	}
	if len(w.users) > 0 {
		b.WriteString("  users:\n")
		for _, name := range w.users {
			fmt.Fprintf(&b, "  - {name: %s, password: {secretKeyRef: {name: user-%s, key: password}}}\n", name, name)
		}
	}
	return b.String()
}

type side struct {
	desired   ops.Desired
	templates plan.Templates
	rendered  *render.Rendered
}

func (w wish) render(t *testing.T) side {
	t.Helper()
	tree := fstest.MapFS{"cluster.yaml": {Data: []byte(w.yaml())}}
	build := render.BuildFolder(t.Context(), tree, ".", render.Config{})
	require.Empty(t, build.Problems)
	require.Len(t, build.Clusters, 1)
	require.Empty(t, build.Clusters[0].Problems)
	rendered, problems := render.Render(build.Clusters[0], render.Config{}, render.Pins{})
	require.Empty(t, problems)
	desired := ops.NewDesired(build.Clusters[0].Definition, ops.Render{
		Objects: rendered.Objects, Revision: rendered.Revision, Pins: ops.Pins{Base: rendered.Pins.Base, MasterGroup: rendered.Pins.MasterGroup},
	}, "git", "")
	return side{desired: desired, templates: plan.Rendered(rendered.Objects), rendered: rendered}
}

// between is the course from one definition, converged, to another.
func between(t *testing.T, from, to wish, change func(*plan.Start)) plan.Course {
	t.Helper()
	old := from.render(t)
	observed, record, done := plan.Converged(old.desired, old.templates, noon)
	require.True(t, done)
	next := to.render(t)
	start := plan.Start{Desired: next.desired, Templates: next.templates, Observed: observed, Record: record, Now: noon}
	start.Observed.Secrets = plan.Secrets(next.desired, &record)
	if change != nil {
		change(&start)
	}
	return plan.Forward(start)
}

func kinds(c plan.Course) []string {
	all := []string{}
	for _, op := range c.Operations {
		all = append(all, op.Kind)
	}
	return all
}

func steps(list []plan.Step) []string {
	all := []string{}
	for _, s := range list {
		if strings.HasPrefix(s.Target, "debug-") {
			continue // each pod has a second volume, for heap dumps
		}
		all = append(all, s.Action+" "+s.Target)
	}
	return all
}

func gates(c plan.Course) []string {
	all := []string{}
	for _, g := range c.Refused {
		all = append(all, g.Name)
	}
	return all
}

const hot = "crate-data-hot-orders"

func TestAPlanSaysWhatADefinitionWillDo(t *testing.T) {
	with := func(change func(*wish)) wish {
		w := basic()
		change(&w)
		return w
	}
	for _, situation := range []struct {
		name       string
		from, to   wish
		operations []string
		steps      []string
		restarts   int
		refused    []string
		summary    string
	}{
		{name: "nothing changes", from: basic(), to: basic(), operations: []string{}, steps: []string{}},
		{
			name: "a grow", from: basic(), to: with(func(w *wish) { w.hot = 5 }), operations: []string{"grow"},
			steps: []string{
				"apply " + hot, "annotate-claim data0-" + hot + "-3", "annotate-claim data0-" + hot + "-4", "apply " + hot,
			},
			summary: "grow group hot from 3 to 5 nodes",
		},
		{
			name: "more memory", from: basic(), to: with(func(w *wish) { w.memory = "8Gi" }), operations: []string{"restart"}, restarts: 3,
			steps: []string{
				"apply " + hot,
				"hold-allocation " + hot + "-0", "restart-pod " + hot + "-0", "release-allocation " + hot + "-0",
				"hold-allocation " + hot + "-1", "restart-pod " + hot + "-1", "release-allocation " + hot + "-1",
				"hold-allocation " + hot + "-2", "restart-pod " + hot + "-2", "release-allocation " + hot + "-2",
			},
			summary: "restart: 3 pods, one after the other",
		},
		{
			name: "an upgrade", from: with(func(w *wish) { w.hot = 1 }), to: with(func(w *wish) { w.hot, w.version = 1, "6.4.3" }),
			operations: []string{"upgrade"}, restarts: 1,
			steps: []string{
				"apply " + hot, "hold-allocation " + hot + "-0", "restart-pod " + hot + "-0", "release-allocation " + hot + "-0", "annotate-claim data0-" + hot + "-0",
			},
			summary: "upgrade CrateDB from 6.3.7 to 6.4.3: 1 pod",
		},
		{
			name: "a version back", from: with(func(w *wish) { w.version = "6.4.3" }), to: basic(), operations: []string{}, steps: []string{},
			refused: []string{"downgrade-refused"},
		},
		{
			name: "a larger disk", from: basic(), to: with(func(w *wish) { w.diskSize = "128GiB" }), operations: []string{}, steps: []string{},
			refused: []string{"volume-change-not-supported"},
		},
		{
			name: "a user", from: basic(), to: with(func(w *wish) { w.users = []string{"ada"} }), operations: []string{"users"},
			steps: []string{"label-secret user-ada", "set-user ada"}, summary: "label Secret user-ada; make user ada",
		},
		{
			name: "a shrink", from: with(func(w *wish) { w.hot, w.masters = 4, 3 }), to: with(func(w *wish) { w.hot, w.masters = 3, 3 }),
			operations: []string{"shrink"},
			steps: []string{
				"exclude-nodes data-hot-3", "shrink-set " + hot, "include-nodes " + hot, "apply crate-master-orders", "apply " + hot,
			},
			summary: "shrink group hot from 4 to 3 nodes: drain data-hot-3",
		},
		{
			name: "a suspension", from: basic(), to: with(func(w *wish) { w.hot, w.operations = 0, "consent: [suspend]" }), operations: []string{"suspend"},
			steps: []string{"suspend-set " + hot}, summary: "suspend: stop 3 nodes of group hot; the volumes stay",
		},
		{
			name: "the end of a suspension", from: with(func(w *wish) { w.hot, w.operations = 0, "consent: [suspend]" }), to: with(func(w *wish) { w.hot = 1 }),
			operations: []string{"resume"}, steps: []string{"apply " + hot},
		},
		{
			name: "a setting that CrateDB takes live", from: with(func(w *wish) { w.settings = "indices.breaker.query.limit: 40%" }),
			to:         with(func(w *wish) { w.settings = "indices.breaker.query.limit: 50%" }),
			operations: []string{"settings", "update"},
			steps:      []string{"set-settings indices.breaker.query.limit", "apply " + hot},
			summary:    "set indices.breaker.query.limit = 50% in the database, without a restart",
		},
	} {
		t.Run(situation.name, func(t *testing.T) {
			course := between(t, situation.from, situation.to, nil)
			assert.Equal(t, situation.operations, kinds(course), "%v", course)
			assert.Equal(t, situation.steps, steps(course.Steps))
			assert.Equal(t, situation.restarts, course.Restarts)
			assert.Equal(t, append([]string{}, situation.refused...), gates(course))
			assert.Empty(t, course.Unknown)
			assert.Equal(t, len(situation.refused) == 0, course.Done)
			if situation.summary != "" {
				assert.Equal(t, situation.summary, course.Operations[0].Summary)
			}
		})
	}
}

func TestANewClusterIsABootstrap(t *testing.T) {
	w := basic()
	w.users = []string{"ada"}
	next := w.render(t)
	course := plan.Forward(plan.Start{
		Desired: next.desired, Templates: next.templates, Now: noon, Observed: ops.Observed{Secrets: plan.Secrets(next.desired, nil)},
	})
	assert.Equal(t, []string{"bootstrap"}, kinds(course))
	assert.True(t, course.Done)
	assert.Equal(t, "make the cluster orders: 3 nodes of group hot, CrateDB 6.3.7", course.Operations[0].Summary)
	assert.Equal(t, []string{
		"apply " + hot, "label-secret user-ada", "create-system-secret user-system-orders", "set-system-user system", "set-user ada", "apply " + hot,
		"annotate-claim data0-" + hot + "-0", "annotate-claim data0-" + hot + "-1", "annotate-claim data0-" + hot + "-2",
	}, steps(course.Steps))
}
