package plan_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
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
	labels                string
	registry              string // of CrateDB's image; "" for crate
	resources             string // of each group but disks, without braces; "" for 2 CPU, memory and a quarter of heap
	class                 string // of each disk; "" for default
	disks                 int    // of each node; 0 for 1
	backups               string // lines of spec.backups; "" for none
	pod                   string // of the pod template of each StatefulSet, a patch in braces; "" for none
}

func basic() wish { return wish{version: "6.3.7", memory: "4Gi", hot: 3, diskSize: "64GiB"} }

func (w wish) yaml() string {
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: cloud.crate.io/v1\nkind: CrateDB\nmetadata: {name: orders, namespace: shop, annotations: {%s}, labels: {%s}}\nspec:\n", w.annotations, w.labels)
	fmt.Fprintf(&b, "  cluster: {name: orders, imageRegistry: %s, version: %s, settings: {%s}}\n", cmp.Or(w.registry, "crate"), w.version, w.settings)
	if w.operations != "" {
		fmt.Fprintf(&b, "  operations: {%s}\n", w.operations)
	}
	if w.backups != "" {
		fmt.Fprintf(&b, "  backups: {%s}\n", w.backups)
	}
	if w.pod != "" {
		fmt.Fprintf(&b, "  patches:\n  - target: {kind: StatefulSet}\n    patch: |\n      {apiVersion: apps/v1, kind: StatefulSet, metadata: {name: all}, spec: {template: {spec: %s}}}\n", w.pod)
	}
	b.WriteString("  nodes:\n")
	resources := func() string {
		if w.resources != "" {
			return fmt.Sprintf("resources: {%s, disk: {count: %d, size: %s, storageClass: %s}}", w.resources, max(w.disks, 1), w.diskSize, cmp.Or(w.class, "default"))
		}
		return fmt.Sprintf("resources: {limits: {cpu: 2, memory: %s}, disk: {count: %d, size: %s, storageClass: %s}, heapRatio: 0.25}", w.memory, max(w.disks, 1), w.diskSize, cmp.Or(w.class, "default"))
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
	desired   model.Desired
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
	desired := manifest.NewDesired(build.Clusters[0].Definition, manifest.Render{
		Objects: rendered.Objects, Revision: rendered.Revision, Pins: model.Pins(rendered.Pins),
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

const hot, cold = "crate-data-hot-orders", "crate-data-cold-orders"

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
			name: "an older hotfix", from: with(func(w *wish) { w.hot, w.version = 1, "6.4.3" }), to: with(func(w *wish) { w.hot, w.version = 1, "6.4.2" }),
			operations: []string{"upgrade"}, restarts: 1,
			steps: []string{
				"apply " + hot, "hold-allocation " + hot + "-0", "restart-pod " + hot + "-0", "release-allocation " + hot + "-0",
			},
			summary: "go back from CrateDB 6.4.3 to 6.4.2, an older hotfix of the same minor version, which reads the volumes: 1 pod",
		},
		{
			name: "a version back", from: with(func(w *wish) { w.version = "6.4.3" }), to: basic(), operations: []string{}, steps: []string{},
			refused: []string{"downgrade-refused"},
		},
		{
			name: "a smaller disk", from: basic(), to: with(func(w *wish) { w.diskSize = "8GiB" }), operations: []string{}, steps: []string{},
			refused: []string{"volume-cannot-shrink"},
		},
		{
			name: "a smaller disk, by consent", from: with(func(w *wish) { w.operations = "consent: [delete-volumes]" }),
			to:         with(func(w *wish) { w.operations, w.diskSize = "consent: [delete-volumes]", "8GiB" }),
			operations: []string{"replace-volumes"}, restarts: 3,
			steps: []string{
				"recreate-set " + hot, "apply " + hot,
				"exclude-nodes data-hot-0", "delete-claims " + hot + "-0", "hold-allocation " + hot + "-0", "restart-pod " + hot + "-0", "include-nodes " + hot, "release-allocation " + hot + "-0", "annotate-claim data0-" + hot + "-0",
				"exclude-nodes data-hot-1", "delete-claims " + hot + "-1", "hold-allocation " + hot + "-1", "restart-pod " + hot + "-1", "include-nodes " + hot, "release-allocation " + hot + "-1", "annotate-claim data0-" + hot + "-1",
				"exclude-nodes data-hot-2", "delete-claims " + hot + "-2", "hold-allocation " + hot + "-2", "restart-pod " + hot + "-2", "include-nodes " + hot, "release-allocation " + hot + "-2", "annotate-claim data0-" + hot + "-2",
			},
			summary: "replace volumes node by node: data0 of " + hot + " to 8.0 GiB of the class default; 3 nodes are drained in place (how many bytes move, and whether they fit, is not known), each empty one loses its old claims and volumes for good, and the pods restart one after the other: 3 pods",
		},
		{
			name: "a larger disk", from: basic(), to: with(func(w *wish) { w.diskSize = "128GiB" }), operations: []string{"expand"},
			steps: []string{
				"grow-claim data0-" + hot + "-0", "grow-claim data0-" + hot + "-1", "grow-claim data0-" + hot + "-2", "recreate-set " + hot, "apply " + hot,
			},
			summary: "grow volumes online: data0 of " + hot + " to 128.0 GiB (3 claims); recreate StatefulSet " + hot + " around its pods, so that later ones get such volumes; no pod restarts",
		},
		{
			name: "a VolumeAttributesClass", from: basic(), to: with(func(w *wish) { w.diskSize += ", volumeAttributesClass: gold" }), operations: []string{"expand"},
			steps: []string{
				"grow-claim data0-" + hot + "-0", "grow-claim data0-" + hot + "-1", "grow-claim data0-" + hot + "-2", "recreate-set " + hot, "apply " + hot,
			},
			summary: "change volumes in place, no restart: data0 of " + hot + " to the VolumeAttributesClass gold (3 claims); recreate StatefulSet " + hot + " around its pods, so that later ones get such volumes; no pod restarts",
		},
		{
			name: "a larger disk of a VolumeAttributesClass", from: basic(), to: with(func(w *wish) { w.diskSize = "128GiB, volumeAttributesClass: gold" }), operations: []string{"expand"},
			steps: []string{
				"grow-claim data0-" + hot + "-0", "grow-claim data0-" + hot + "-1", "grow-claim data0-" + hot + "-2", "recreate-set " + hot, "apply " + hot,
			},
			summary: "grow volumes online: data0 of " + hot + " to 128.0 GiB (3 claims); change volumes in place, no restart: data0 of " + hot + " to the VolumeAttributesClass gold (3 claims); recreate StatefulSet " + hot + " around its pods, so that later ones get such volumes; no pod restarts",
		},
		{
			name: "no VolumeAttributesClass again", from: with(func(w *wish) { w.diskSize += ", volumeAttributesClass: gold" }), to: basic(), operations: []string{}, steps: []string{},
			refused: []string{"volume-attributes-class-stays"},
		},
		{
			name: "a disk more", from: basic(), to: with(func(w *wish) { w.disks = 2 }), operations: []string{"expand", "restart"}, restarts: 3,
			steps: []string{
				"recreate-set " + hot, "apply " + hot,
				"hold-allocation " + hot + "-0", "restart-pod " + hot + "-0", "release-allocation " + hot + "-0", "annotate-claim data1-" + hot + "-0",
				"hold-allocation " + hot + "-1", "restart-pod " + hot + "-1", "release-allocation " + hot + "-1", "annotate-claim data1-" + hot + "-1",
				"hold-allocation " + hot + "-2", "restart-pod " + hot + "-2", "release-allocation " + hot + "-2", "annotate-claim data1-" + hot + "-2",
			},
			summary: "add disks: data1 of " + hot + "; recreate StatefulSet " + hot + " around its pods, so that later ones get such volumes; its pods restart for the disks, and shards do not move to them by themselves: new ones go where most room is",
		},
		{
			name: "a disk less", from: with(func(w *wish) { w.disks = 2 }), to: basic(), operations: []string{"remove-disks"}, restarts: 3,
			steps: []string{
				"exclude-nodes data-hot-0", "hold-allocation " + hot + "-0", "apply " + hot, "restart-pod " + hot + "-0", "apply " + hot, "include-nodes " + hot, "release-allocation " + hot + "-0",
				"exclude-nodes data-hot-1", "hold-allocation " + hot + "-1", "apply " + hot, "restart-pod " + hot + "-1", "apply " + hot, "include-nodes " + hot, "release-allocation " + hot + "-1",
				"exclude-nodes data-hot-2", "hold-allocation " + hot + "-2", "apply " + hot, "restart-pod " + hot + "-2", "apply " + hot, "include-nodes " + hot, "release-allocation " + hot + "-2",
				"recreate-set " + hot, "apply " + hot,
			},
			summary: "remove disks node by node: data1 of " + hot + "; 3 nodes are drained in place before (how many bytes move, and whether they fit, is not known), no claim is deleted, and the pods restart one after the other: 3 pods",
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
			summary: "shrink group hot from 4 to 3 nodes: drain data-hot-3: there are no shards to move; a node leaves when it is empty, and its volume claims stay",
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

// Operations stand in the order in which they are done: what an upgrade or another restart comes between is
// said in two. They come before volumes are replaced, which may take days or be refused midway.
func TestARestartBeforeVolumesAreReplacedStandsBeforeIt(t *testing.T) {
	for _, c := range []struct {
		name, kind string
		change     func(*wish)
	}{
		{"another version", "upgrade", func(w *wish) { w.version = "6.4.3" }},
		{"other memory", "restart", func(w *wish) { w.memory = "8Gi" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			from := basic()
			from.hot, from.operations = 3, "consent: [delete-volumes]"
			to := from
			to.class = "slow"
			c.change(&to)
			course := between(t, from, to, func(s *plan.Start) { s.Observed.DeletesClaims = model.Yes })
			assert.Equal(t, []string{"replace-volumes", c.kind, "replace-volumes"}, kinds(course))
			assert.Empty(t, course.Refused)
			assert.True(t, course.Done)
			var all []plan.Step
			for _, op := range course.Operations {
				all = append(all, op.Steps...)
			}
			assert.Equal(t, steps(course.Steps), slices.Compact(steps(all)))
			assert.Equal(t, "recreate StatefulSet "+hot+" around its pods, so that later ones get such volumes; no pod restarts", course.Operations[0].Summary)
			assert.Contains(t, course.Operations[2].Summary, "3 nodes are drained in place")
			assert.Equal(t, []int{0, 3, 3}, []int{course.Operations[0].Restarts, course.Operations[1].Restarts, course.Operations[2].Restarts})
		})
	}
}

func TestANewClusterIsABootstrap(t *testing.T) {
	w := basic()
	w.users = []string{"ada"}
	next := w.render(t)
	course := plan.Forward(plan.Start{
		Desired: next.desired, Templates: next.templates, Now: noon, Observed: model.Observed{Secrets: plan.Secrets(next.desired, nil)},
	})
	assert.Equal(t, []string{"bootstrap"}, kinds(course))
	assert.Equal(t, "make the cluster orders: 3 nodes of group hot (each with the volume claims data0 of 64.0 GiB and debug of 64.0 GiB), CrateDB 6.3.7", course.Operations[0].Summary)
	assert.True(t, course.Done && *course.Operations[0].Estimate == plan.Estimate{Least: plan.Duration(15 * time.Second), Most: plan.Duration(3 * time.Minute), Basis: "all nodes start at the same time"})
	assert.Equal(t, []string{
		"apply " + hot, "label-secret user-ada", "create-system-secret user-system-orders", "set-system-user system", "set-user ada", "apply " + hot,
		"annotate-claim data0-" + hot + "-0", "annotate-claim data0-" + hot + "-1", "annotate-claim data0-" + hot + "-2",
	}, steps(course.Steps))
}

func TestAGroupThatIsToGoIsNotRestarted(t *testing.T) {
	from, to := basic(), basic()
	from.cold = 1
	to.version, to.operations, to.annotations = "6.4.3", "consent: [remove-group]", `stevedore.dev/restartedAt: "2026-03-04T11:00:00Z"`
	course := between(t, from, to, nil)
	assert.True(t, course.Done, "%v", course.Unknown)
	assert.Equal(t, []string{"upgrade", "shrink"}, kinds(course))
	assert.Equal(t, 3, course.Restarts)
	assert.NotContains(t, steps(course.Steps), "restart-pod crate-data-cold-orders-0")
	assert.Equal(t, "delete-set crate-data-cold-orders", steps(course.Steps)[len(steps(course.Steps))-2])
}

// data lays a table of so many shards and replicas on the nodes of the basis.
func data(start *plan.Start, table, replicas string, shards, copies int, bytes int64) {
	db := &start.Observed.Database
	db.Settings = model.AllocationSettings{LowWatermark: "85%", DiskThreshold: true, TotalShardsPerNode: -1}
	db.Tables = append(db.Tables, model.Table{Name: table, Replicas: replicas, Started: copies, Created: "6.3.7", TotalShardsPerNode: -1})
	for i := range db.Nodes {
		db.Nodes[i].DiskSize, db.Nodes[i].DiskUsed = 1000, 500
	}
	for id := range shards {
		for c := range copies {
			db.Shards = append(db.Shards, model.Shard{Table: table, ID: id, Node: db.Nodes[(id+c)%len(db.Nodes)].ID, Primary: c == 0, State: "STARTED", Bytes: bytes})
		}
	}
}

func TestAShrinkIsSaidInNumbers(t *testing.T) {
	from, to := basic(), basic()
	from.hot = 4
	course := between(t, from, to, func(s *plan.Start) { data(s, "doc.items", "1", 8, 2, 50) })
	require.Equal(t, []string{"shrink"}, kinds(course))
	assert.Equal(t, "shrink group hot from 4 to 3 nodes: drain data-hot-3: 4 shards, 200 B move, fits: the nodes that stay are at 67 % of the low watermark after; a node leaves when it is empty, and its volume claims stay", course.Operations[0].Summary)
	assert.Equal(t, "200 B to move, at 10 MiB to 40 MiB a second", course.Operations[0].Estimate.Basis)

	full := between(t, from, to, func(s *plan.Start) { data(s, "doc.items", "1", 8, 2, 500) })
	assert.Empty(t, full.Operations)
	assert.Equal(t, []string{"disk-does-not-fit"}, gates(full))

	byDisk := func(first, second model.Disk) plan.Course {
		return between(t, from, to, func(s *plan.Start) {
			data(s, "doc.items", "1", 8, 2, 50)
			for i := range s.Observed.Database.Nodes {
				s.Observed.Database.Nodes[i].Disks = []model.Disk{first, second}
			}
		})
	}
	assert.Equal(t, []string{"disk-does-not-fit"}, gates(byDisk(model.Disk{Size: 500, Used: 400}, model.Disk{Size: 500, Used: 400})), "no disk has room for a shard")
	assert.Empty(t, gates(byDisk(model.Disk{Size: 600, Used: 600}, model.Disk{Size: 400})), "one disk is full")

	many := between(t, from, to, func(s *plan.Start) { data(s, "doc.items", "3", 4, 4, 1) })
	assert.Equal(t, []string{"replicas-do-not-fit"}, gates(many))
	assert.Contains(t, many.Refused[0].Message, "doc.items")
}

func TestWhatIsAwayWhileItsNodeRestartsIsNamed(t *testing.T) {
	from, to := basic(), basic()
	to.memory = "8Gi"
	course := between(t, from, to, func(s *plan.Start) { data(s, "doc.carts", "0", 2, 1, 10) })
	require.Equal(t, []string{"restart"}, kinds(course))
	assert.Equal(t, []plan.Risk{{Subject: "doc.carts", Why: "it has shards without a second copy, which are away while their node is restarted: data-hot-0, data-hot-1"}}, course.AtRisk)
}

// A claim that somebody has deleted: the plan has the gate, or the one restart that replaces the volume.
func TestAPlanHasThePodWhoseClaimIsBeingDeleted(t *testing.T) {
	from, to := basic(), basic()
	to.memory = "8Gi"
	with := func(to wish, agreed bool) plan.Course {
		return between(t, from, to, func(s *plan.Start) {
			data(s, "doc.items", "1", 3, 2, 10)
			pod := s.Observed.Pods[1].Name
			s.Observed.Claims = append(s.Observed.Claims, model.Claim{
				Name: "data0-" + pod, Set: s.Observed.Pods[1].Set, Ordinal: s.Observed.Pods[1].Ordinal, Template: "data0", Terminating: true, Replace: agreed, Deleted: s.Observed.At, ClusterID: "planned",
			})
		})
	}
	waits := with(to, false)
	require.Equal(t, 1, waits.Restarts, "the pod before it")
	require.Len(t, waits.Waits, 1)
	assert.Equal(t, "claim-being-deleted", waits.Waits[0].Name)
	require.Len(t, waits.Unknown, 1, "what follows depends on a person")

	once := with(from, true)
	require.Equal(t, []string{"restart"}, kinds(once))
	restarts := slices.DeleteFunc(slices.Clone(once.Operations[0].Steps), func(s plan.Step) bool { return s.Action != string(model.ActionRestartPod) })
	require.Len(t, restarts, 1)
	assert.Contains(t, restarts[0].Detail, "its volume goes with it")
}

func TestTablesThatARestartLeavesUndoneOrHoldsUpAreInThePlan(t *testing.T) {
	from, to := basic(), basic()
	to.memory = "8Gi"
	with := func(policy string) plan.Course {
		return between(t, from, to, func(s *plan.Start) {
			data(s, "doc.waits", "1", 3, 2, 10)
			data(s, "doc.held", "1", 3, 2, 10)
			tables := s.Observed.Database.Tables
			tables[0].WaitForActiveShards, tables[1].Enable = "ALL", "none"
			s.Desired.Operations.Unhealable = policy
		})
	}
	course := with("refuse")
	assert.Equal(t, []string{"copies-do-not-return"}, gates(course))
	assert.Contains(t, course.Refused[0].Message, "doc.held (routing.allocation.enable of the table is 'none')")

	course = with("proceed")
	require.Equal(t, []string{"restart"}, kinds(course))
	assert.Empty(t, gates(course))
	assert.Equal(t, []plan.Risk{
		{Subject: "doc.waits", Why: "writes to it wait while a node with its copies is restarted, by write.wait_for_active_shards: ALL"},
		{Subject: "doc.held", Why: "copies of it do not come back after the restart of a node: routing.allocation.enable of the table is 'none'"},
	}, course.AtRisk)
}

func TestWhatWaitsOnTheBasisStandsAheadOfTheOperation(t *testing.T) {
	from, to := basic(), basic()
	from.hot = 4
	course := between(t, from, to, func(s *plan.Start) {
		data(s, "doc.items", "1", 4, 2, 10)
		s.Observed.Database.Health = model.Health{Colour: model.Yellow, Underreplicated: 1, Tables: []string{"doc.items"}}
		s.Observed.Disrupted = []string{"shop/others"}
	})
	require.Equal(t, []string{"shrink"}, kinds(course))
	require.NotEmpty(t, course.Operations[0].Gates)
	assert.Equal(t, "health-green", course.Operations[0].Gates[0].Name)
}

// still never lets what is desired become what was last effective.
type still struct{ plan.Templates }

func (s still) Materialise(saved model.Saved, _ model.Effective) (model.Saved, error) {
	return saved, nil
}

func TestAPlanThatDoesNotEndSaysSo(t *testing.T) {
	from, to := basic(), basic()
	to.memory = "8Gi"
	course := between(t, from, to, func(s *plan.Start) { s.Templates = still{s.Templates} })
	assert.False(t, course.Done)
	require.Len(t, course.Unknown, 1)
	assert.Contains(t, course.Unknown[0], "restart")
}
