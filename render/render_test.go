package render

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/render/base"
	"stevedore.dev/stevedore/render/definition"
)

func mustRender(t *testing.T, c Cluster, cfg Config, pins Pins) *Rendered {
	t.Helper()
	rendered, problems := Render(c, cfg, pins)
	require.Empty(t, texts(problems))
	return rendered
}

func find(t *testing.T, r *Rendered, kind, name string) *unstructured.Unstructured {
	t.Helper()
	for _, o := range r.Objects {
		if o.GetKind() == kind && o.GetName() == name {
			return o
		}
	}
	require.Fail(t, "no "+kind+" "+name)
	return nil
}

func commandOf(t *testing.T, r *Rendered, statefulSet string) []string {
	t.Helper()
	c := container(find(t, r, "StatefulSet", statefulSet), "crate")
	var result []string
	for _, a := range c["command"].([]any) {
		result = append(result, a.(string))
	}
	return result
}

// changed gives the cluster with one thing done to a copy of its definition.
func changed(c Cluster, change func(*definition.CrateDB)) Cluster {
	def := *c.Definition
	def.Spec.Nodes.Data = slices.Clone(def.Spec.Nodes.Data)
	if def.Spec.Nodes.Master != nil {
		master := *def.Spec.Nodes.Master
		def.Spec.Nodes.Master = &master
	}
	change(&def)
	c.Definition = &def
	return c
}

func TestEveryObjectIsOurs(t *testing.T) {
	c := tiers()
	c.Others = []*unstructured.Unstructured{{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "m"}}}}
	r := mustRender(t, c, Config{SQLExporterImage: "exporter:1", CloudProvider: CloudAWS}, Pins{})
	assert.Len(t, r.Objects, 9)
	for _, o := range r.Objects {
		assert.Equal(t, "prod", o.GetNamespace(), o.GetName())
		assert.Equal(t, "orders", o.GetLabels()[names.ClusterLabel], o.GetName())
		assert.NotContains(t, o.Object, "status")
	}
	assert.Empty(t, c.Others[0].GetNamespace(), "what was given in is left as it was")
}

func TestTheCommandFollowsTheVersionAndTheGroups(t *testing.T) {
	for _, situation := range []struct {
		name    string
		cluster Cluster
		pins    Pins
		set     string
		has     []string
		hasNot  []string
	}{{
		name: "before 4.7 the gateway counts every node",
		cluster: changed(tiers(), func(d *definition.CrateDB) {
			d.Spec.Cluster.Version = "4.6.7"
		}),
		set:    "crate-data-hot-orders",
		has:    []string{"-Cgateway.recover_after_nodes=5", "-Cgateway.expected_nodes=8"},
		hasNot: []string{"-Cgateway.expected_data_nodes", "-Cauth.host_based.config.98"},
	}, {
		name:    "from 4.7 on, the data nodes",
		cluster: changed(tiers(), func(d *definition.CrateDB) { d.Spec.Cluster.Version = "4.7.0" }),
		set:     "crate-data-hot-orders",
		has:     []string{"-Cgateway.recover_after_data_nodes=3", "-Cgateway.expected_data_nodes=5"},
		hasNot:  []string{"-Cgateway.expected_nodes", "-Cauth.host_based.config.98"},
	}, {
		name:    "a version without a number is the newest",
		cluster: changed(single(), func(d *definition.CrateDB) { d.Spec.Cluster.Version = "nightly" }),
		set:     "crate-data-hot-my-cluster",
		has:     []string{"-Cgateway.expected_data_nodes=3", "-Cauth.host_based.config.98.method=jwt"},
	}, {
		name: "the first data group is master-eligible",
		cluster: changed(tiers(), func(d *definition.CrateDB) {
			d.Spec.Nodes.Master = nil
		}),
		set: "crate-data-hot-orders",
		has: []string{"-Cnode.master=true", "-Ccluster.initial_master_nodes=data-hot-0,data-hot-1,data-hot-2"},
	}, {
		name: "or the one that is pinned, whatever the order",
		cluster: changed(tiers(), func(d *definition.CrateDB) {
			d.Spec.Nodes.Master = nil
		}),
		pins: Pins{MasterGroup: "cold"},
		set:  "crate-data-hot-orders",
		has:  []string{"-Cnode.master=false", "-Ccluster.initial_master_nodes=data-cold-0,data-cold-1"},
	}, {
		name: "the definition's settings win, in place",
		cluster: changed(single(), func(d *definition.CrateDB) {
			d.Spec.Cluster.Settings = []definition.Setting{{Name: "stats.enabled", Value: "false"}, {Name: "a.b", Value: "1"}}
			d.Spec.Nodes.Data[0].Settings = []definition.Setting{{Name: "a.b", Value: "2"}}
		}),
		set:    "crate-data-hot-my-cluster",
		has:    []string{"-Cstats.enabled=false", "-Ca.b=2"},
		hasNot: []string{"-Cstats.enabled=true", "-Ca.b=1"},
	}, {
		name:    "processors are whole",
		cluster: changed(single(), func(d *definition.CrateDB) { d.Spec.Nodes.Data[0].Resources.LimitCPU = 0.5 }),
		set:     "crate-data-hot-my-cluster",
		has:     []string{"-Cprocessors=1"},
	}} {
		t.Run(situation.name, func(t *testing.T) {
			command := commandOf(t, mustRender(t, situation.cluster, Config{}, situation.pins), situation.set)
			for _, want := range situation.has {
				assert.Contains(t, command, want)
			}
			for _, not := range situation.hasNot {
				assert.False(t, slices.ContainsFunc(command, func(a string) bool { return strings.HasPrefix(a, not) }), not)
			}
		})
	}
}

func TestPinsAreReturnedAndAMissingMasterGroupIsRefused(t *testing.T) {
	assert.Equal(t, Pins{Base: base.Newest(), MasterGroup: "master"}, mustRender(t, tiers(), Config{}, Pins{}).Pins)
	assert.Equal(t, Pins{Base: base.Newest(), MasterGroup: "hot"}, mustRender(t, single(), Config{}, Pins{}).Pins)
	for name, situation := range map[string]struct {
		cluster Cluster
		pins    Pins
		want    string
	}{
		"the group is gone":      {single(), Pins{MasterGroup: "warm"}, `group "warm"`},
		"the masters are gone":   {single(), Pins{MasterGroup: "master"}, `spec.nodes.master: `},
		"an unknown base":        {single(), Pins{Base: "v0"}, `there is no base "v0"`},
		"an unknown base wanted": {changed(single(), func(d *definition.CrateDB) { d.Spec.Operations.Base = "v9" }), Pins{}, `there is no base "v9"`},
	} {
		t.Run(name, func(t *testing.T) {
			rendered, problems := Render(situation.cluster, Config{}, situation.pins)
			assert.Nil(t, rendered)
			require.Len(t, problems, 1)
			assert.Contains(t, problems[0].String(), situation.want)
			assert.Equal(t, "dev/my-cluster", problems[0].Cluster)
		})
	}
}

func TestMastersAddedToARunningClusterLeaveTheElectionWhereItIs(t *testing.T) {
	r := mustRender(t, tiers(), Config{}, Pins{MasterGroup: "hot"})
	assert.Equal(t, "hot", r.Pins.MasterGroup)
	assert.Contains(t, commandOf(t, r, "crate-data-hot-orders"), "-Ccluster.initial_master_nodes=data-hot-0,data-hot-1,data-hot-2")
	assert.Contains(t, commandOf(t, r, "crate-data-hot-orders"), "-Cnode.master=true")
}

func TestExportersAreOnWhenConfigured(t *testing.T) {
	cfg := Config{SQLExporterImage: "exporter:1", JMXExporterURL: "https://example.com/j.jar", JMXExporterSHA256: "abc", InitImage: "busybox:2", DebugStorageClass: "slow", DebugVolumeSize: "1Gi"}
	r := mustRender(t, tiers(), cfg, Pins{})
	set := find(t, r, "StatefulSet", "crate-data-hot-orders")
	spec, _, _ := unstructured.NestedMap(set.Object, "spec", "template", "spec")
	list := func(v any) []string {
		var result []string
		for _, m := range named(v) {
			result = append(result, m["name"].(string))
		}
		return result
	}
	assert.Equal(t, []string{"crate", "sql-exporter"}, list(spec["containers"]))
	assert.Equal(t, []string{"init-sysctl", "fetch-jmx-exporter", "mkdir-heapdump"}, list(spec["initContainers"]))
	assert.Equal(t, []string{"crate-sql-exporter", "jmxdir", "keystore"}, list(spec["volumes"]))
	assert.Equal(t, []string{"jmxdir", "debug", "data0", "data1", "keystore"}, list(container(set, "crate")["volumeMounts"]))
	assert.Equal(t, "exporter:1", container(set, "sql-exporter")["image"])
	init := named(spec["initContainers"])
	assert.Equal(t, "busybox:2", init[0]["image"])
	assert.Equal(t, "busybox:2", init[1]["image"])
	assert.Equal(t, "crate:6.4.3", init[2]["image"])
	assert.Contains(t, fmt.Sprint(container(set, "crate")["env"]), "-javaagent:/var/lib/crate/crate-jmx-exporter.jar=7071")
	annotations, _, _ := unstructured.NestedStringMap(set.Object, "spec", "template", "metadata", "annotations")
	assert.Equal(t, map[string]string{"example.com/owner": "storage", "prometheus.io/port": "7071", "prometheus.io/scrape": "true"}, annotations)
	claims, _, _ := unstructured.NestedSlice(set.Object, "spec", "volumeClaimTemplates")
	assert.Contains(t, fmt.Sprint(claims[2]), "storageClassName:slow")
	assert.Contains(t, fmt.Sprint(claims[2]), "storage:1Gi")
	assert.Contains(t, find(t, r, "ConfigMap", "crate-sql-exporter-orders").Object["data"], "sql-exporter.yaml")
}

func TestNothingIsFetchedWithoutAChecksum(t *testing.T) {
	for _, cfg := range []Config{{JMXExporterURL: "https://example.com/j.jar"}, {JMXExporterSHA256: "abc"}} {
		r, problems := Render(single(), cfg, Pins{})
		assert.Nil(t, r)
		require.Len(t, problems, 1)
		assert.Contains(t, problems[0].Message, "configured by half")
	}
}

func TestASharedNodepoolHasItsOwnNodesAndMayShareThem(t *testing.T) {
	r := mustRender(t, changed(tiers(), func(d *definition.CrateDB) { d.Spec.Nodes.Data[1].Nodepool = "shared" }), Config{}, Pins{})
	spec := func(name string) map[string]any {
		s, _, _ := unstructured.NestedMap(find(t, r, "StatefulSet", name).Object, "spec", "template", "spec")
		return s
	}
	assert.Contains(t, spec("crate-data-cold-orders")["affinity"], "nodeAffinity")
	assert.NotContains(t, spec("crate-data-cold-orders")["affinity"], "podAntiAffinity")
	assert.Contains(t, fmt.Sprint(spec("crate-data-cold-orders")["tolerations"]), "value:shared")
	assert.Contains(t, spec("crate-data-hot-orders")["affinity"], "podAntiAffinity")
}

func TestReadinessIsAskedFromInside(t *testing.T) {
	for cluster, want := range map[string]string{"crate-data-hot-my-cluster": "http://127.0.0.1:4200/", "crate-data-hot-orders": "https://127.0.0.1:4200/"} {
		c := single()
		if strings.HasSuffix(cluster, "orders") {
			c = tiers()
		}
		probe := container(find(t, mustRender(t, c, Config{}, Pins{}), "StatefulSet", cluster), "crate")["readinessProbe"].(map[string]any)
		command, _, err := unstructured.NestedStringSlice(probe, "exec", "command")
		require.NoError(t, err)
		assert.Equal(t, want, command[len(command)-1])
		assert.Equal(t, strings.HasPrefix(want, "https"), slices.Contains(command, "--insecure"))
	}
}

func TestTheSameInputGivesTheSameBytes(t *testing.T) {
	c := changed(single(), func(d *definition.CrateDB) {
		d.Spec.Patches = []definition.Patch{{Patch: "apiVersion: v1\nkind: Service\nmetadata: {name: crate-my-cluster}\nspec: {type: ClusterIP}\n"}}
	})
	cfg := Config{CloudProvider: CloudAWS, SQLExporterImage: "exporter:1"}
	remembered := func() string {
		r, problems := Render(c, cfg, Pins{})
		data, err := json.Marshal([]any{r, texts(problems)})
		if err != nil {
			return err.Error()
		}
		return string(data)
	}
	anew := func() string {
		m, _ := newModel(c, cfg, Pins{})
		objects, err := m.ownObjects()
		if err != nil {
			return err.Error()
		}
		objects, problems := m.userPatches(objects)
		data, err := json.Marshal([]any{objects, texts(problems)})
		if err != nil {
			return err.Error()
		}
		return string(data)
	}
	for name, situation := range map[string]struct {
		bytes func() string
		runs  int
	}{"remembered": {remembered, 50}, "anew": {anew, 12}} {
		t.Run(name, func(t *testing.T) {
			bytes := situation.bytes
			want := bytes()
			require.Contains(t, want, "ClusterIP")
			runs := make(chan struct{}, situation.runs)
			for range cap(runs) {
				runs <- struct{}{}
			}
			close(runs)
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					for range runs {
						assert.Equal(t, want, bytes())
					}
				})
			}
			wg.Wait()
		})
	}
}

func TestWhatIsRememberedIsNotShared(t *testing.T) {
	first := mustRender(t, single(), Config{}, Pins{})
	for _, o := range first.Objects {
		o.SetName("spoiled")
	}
	for _, o := range mustRender(t, single(), Config{}, Pins{}).Objects {
		assert.NotEqual(t, "spoiled", o.GetName())
	}
}

func TestTheCacheHoldsNoMoreThanItsSize(t *testing.T) {
	c := objectCache{size: 2}
	built := 0
	get := func(key int) {
		_, err := c.get(key, func() ([]*unstructured.Unstructured, error) { built++; return nil, nil })
		require.NoError(t, err)
	}
	for _, key := range []int{1, 2, 2, 1, 3, 3, 1} {
		get(key)
	}
	assert.Equal(t, 4, built)
	assert.Len(t, c.known, 2)
}

func TestTheRevisionIsThatOfTheRender(t *testing.T) {
	first := mustRender(t, tiers(), Config{}, Pins{}).Revision
	secret := func(value string, keys ...string) Cluster {
		c := tiers()
		data := map[string]any{}
		for _, k := range keys {
			data[k] = value
		}
		c.Others = []*unstructured.Unstructured{{Object: map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "s"}, "data": data}}}
		return c
	}
	for _, situation := range []struct {
		name    string
		cluster Cluster
		cfg     Config
		pins    Pins
		same    bool
	}{
		{name: "nothing changed", cluster: tiers(), same: true},
		{name: "the pins of a new cluster are written down", cluster: tiers(), pins: Pins{Base: base.Newest(), MasterGroup: "master"}, same: true},
		{name: "the definition moved to another line and file", cluster: changed(tiers(), func(d *definition.CrateDB) { d.File, d.Line = "elsewhere.yaml", 9 }), same: true},
		{name: "an annotation of somebody else", cluster: changed(tiers(), func(d *definition.CrateDB) { d.Annotations = map[string]string{"a": "b"} }), same: true},
		{name: "a restart is asked for", cluster: changed(tiers(), func(d *definition.CrateDB) {
			d.Annotations = map[string]string{names.RestartedAtAnnotation: "2026-01-01T00:00:00Z"}
		})},
		{name: "another user", cluster: changed(tiers(), func(d *definition.CrateDB) { d.Spec.Users = nil })},
		{name: "a licence", cluster: changed(tiers(), func(d *definition.CrateDB) { d.Spec.Cluster.License = &definition.SecretKeyRef{Name: "a", Key: "b"} })},
		{name: "another policy", cluster: changed(tiers(), func(d *definition.CrateDB) { d.Spec.Operations.Unreplicated = "refuse" })},
		{name: "more nodes", cluster: changed(tiers(), func(d *definition.CrateDB) { d.Spec.Nodes.Data[0].Replicas++ })},
		{name: "another claim debug", cluster: changed(tiers(), func(d *definition.CrateDB) { d.Spec.Operations.DebugVolume.Size = "8Gi" })},
		{name: "a cloud", cluster: tiers(), cfg: Config{CloudProvider: CloudGCP}},
		{name: "a Secret that travels", cluster: secret("a", "k")},
	} {
		t.Run(situation.name, func(t *testing.T) {
			revision := mustRender(t, situation.cluster, situation.cfg, situation.pins).Revision
			assert.Equal(t, situation.same, revision == first)
		})
	}
	of := func(c Cluster) string { return mustRender(t, c, Config{}, Pins{}).Revision }
	assert.Equal(t, of(secret("a", "k")), of(secret("b", "k")), "a revision is published, so no Secret can be guessed from it")
	assert.NotEqual(t, of(secret("a", "k")), of(secret("a", "k", "l")))
}

func TestABrokenClusterGivesItsProblemsBack(t *testing.T) {
	r, problems := Render(Cluster{Namespace: "x", Name: "a", Problems: []definition.Problem{{Message: "broken"}}}, Config{}, Pins{})
	assert.Nil(t, r)
	assert.Equal(t, []string{"broken"}, texts(problems))
}

func TestADefinitionReadFromYAMLRendersLikeTheTypedOne(t *testing.T) {
	for file, typed := range map[string]Cluster{"single.yaml": single(), "tiers.yaml": tiers()} {
		data, err := os.ReadFile("testdata/crate-operator/" + file)
		require.NoError(t, err)
		build := BuildTree(t.Context(), files{file: string(data)}.fs(), Config{})
		require.Empty(t, texts(build.Problems))
		require.Len(t, build.Clusters, 1)
		require.Empty(t, texts(build.Clusters[0].Problems))
		want, err := json.Marshal(mustRender(t, typed, Config{}, Pins{}).Objects)
		require.NoError(t, err)
		got, err := json.Marshal(mustRender(t, build.Clusters[0], Config{}, Pins{}).Objects)
		require.NoError(t, err)
		assert.JSONEq(t, string(want), string(got), file)
	}
}
