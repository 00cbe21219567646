package derive_test

import (
	"fmt"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/internal/derive"
	"stevedore.dev/stevedore/render"
)

// inherent are the differences that a cluster of crate-operator always has: no definition takes them
// away. "Kind path: effect".
var inherent = regexp.MustCompile(`^(` +
	`\w+ metadata\.ownerReferences: in-place` +
	`|StatefulSet spec\.volumeClaimTemplates\[\w+\]\.metadata\.ownerReferences: in-place` +
	`|\w+ metadata\.labels\["(app\.kubernetes\.io/managed-by|stevedore\.dev/cluster)"\]: in-place` +
	`|StatefulSet spec\.template\.metadata\.labels\["(app\.kubernetes\.io/managed-by|stevedore\.dev/cluster)"\]: at-restart` +
	`|StatefulSet spec\.template\.spec\.containers\[crate\]\.(lifecycle|readinessProbe): at-restart` +
	`|StatefulSet spec\.template\.spec\.containers\[crate\]\.command\[ssl\.keystore_(key_)?password\]: at-restart` +
	`|StatefulSet spec\.template\.spec\.containers: nothing` +
	`|StatefulSet spec\.template\.spec\.volumes\[crate-sql-exporter\]\.configMap\.name: at-restart` +
	`|StatefulSet metadata\.annotations\["prometheus\.io/\w+"\]: nothing` +
	`|PodDisruptionBudget (metadata\.labels.*)?: in-place` +
	`|Service spec\.publishNotReadyAddresses: in-place` + // older releases of crate-operator
	`|ConfigMap : (nothing|in-place)|Role : nothing|RoleBinding : nothing` +
	`)$`)

func line(d derive.Difference) string { return d.Object.Kind + " " + d.Path + ": " + string(d.Effect) }

func lines(all []derive.Difference) (out []string) {
	for _, d := range all {
		out = append(out, line(d))
	}
	return out
}

func TestWhatIsImportedRendersWhatIsLiveSaveForTheInherentDifferences(t *testing.T) {
	inputs := map[string]derive.Input{"a cluster that a real crate-operator made, upgraded, grew and shrank": recorded(t)}
	withoutObject := recorded(t)
	withoutObject.Object = nil
	inputs["the same without its CrateDB object"] = withoutObject
	for name, namespace := range map[string]string{"single": "dev", "tiers": "prod"} {
		for _, cloud := range []string{"none", "aws", "azure", "gcp"} {
			inputs[name+" on "+cloud] = made(t, name, namespace, cloud)
			alone := made(t, name, namespace, cloud)
			alone.Object = nil
			inputs[name+" on "+cloud+" without its CrateDB object"] = alone
		}
	}
	for name, in := range inputs {
		t.Run(name, func(t *testing.T) {
			before := copies(in.Live)
			r, err := derive.From(t.Context(), in)
			require.NoError(t, err)
			assert.NotEmpty(t, r.Differences)
			for _, d := range r.Differences {
				assert.Regexp(t, inherent, line(d), "%s %s: %v became %v", d.Object, d.Path, d.Live, d.Rendered)
			}
			assert.Equal(t, before, copies(in.Live), "what is live was changed")
			for _, n := range r.Notes {
				assert.NotContains(t, []string{"unfinished", "not-kept", "several-values", "left-out"}, n.Code, n.Text)
				assert.NotContains(t, n.Text, "has what runs")
			}
			again, err := derive.From(t.Context(), in)
			require.NoError(t, err)
			assert.Equal(t, r.Differences, again.Differences)
			assert.Equal(t, r.Files, again.Files)
		})
	}
}

func copies(objects []*unstructured.Unstructured) (out []map[string]any) {
	for _, o := range objects {
		out = append(out, o.DeepCopy().Object)
	}
	return out
}

func TestEveryDifferenceOfTheRecordedClusterHasAReasonOrStays(t *testing.T) {
	r, err := derive.From(t.Context(), recorded(t))
	require.NoError(t, err)
	for _, d := range r.Differences {
		assert.NotEmpty(t, d.Reason, "%s %s", d.Object, d.Path)
		assert.NotEqual(t, derive.EffectImmutable, d.Effect)
	}
	assert.Empty(t, r.Notes, "a finished cluster with its Secrets needs no word")
}

// change is one to a live object, or to a rendered one.
type change struct {
	object string // "StatefulSet crate-data-hot-orders"
	path   []string
	value  any
}

func (c change) on(t *testing.T, objects []*unstructured.Unstructured) {
	t.Helper()
	for _, o := range objects {
		if o.GetKind()+" "+o.GetName() == c.object {
			require.NoError(t, unstructured.SetNestedField(o.Object, c.value, c.path...))
			return
		}
	}
	t.Fatalf("there is no %s", c.object)
}

func TestDifferencesAreOfEitherSideAndSayWhatTheyMean(t *testing.T) {
	const hot = "StatefulSet crate-data-hot-orders"
	crate := func(objects []*unstructured.Unstructured) map[string]any {
		at := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == "StatefulSet" })
		list, _, _ := unstructured.NestedFieldNoCopy(objects[at].Object, "spec", "template", "spec", "containers")
		for _, c := range list.([]any) {
			if c.(map[string]any)["name"] == "crate" {
				return c.(map[string]any)
			}
		}
		return nil
	}
	for _, c := range []struct {
		name string
		live func(t *testing.T, objects []*unstructured.Unstructured)
		want []string // in addition to those that there were; nil for none
	}{
		{"nothing", func(*testing.T, []*unstructured.Unstructured) {}, nil},
		{"defaults that the API server writes", func(t *testing.T, o []*unstructured.Unstructured) {
			change{hot, []string{"spec", "template", "spec", "enableServiceLinks"}, true}.on(t, o)
			change{hot, []string{"spec", "minReadySeconds"}, int64(0)}.on(t, o)
			change{hot, []string{"metadata", "generation"}, int64(9)}.on(t, o)
			change{hot, []string{"status", "replicas"}, int64(2)}.on(t, o)
		}, nil},
		{"another number of nodes", func(t *testing.T, o []*unstructured.Unstructured) {
			change{hot, []string{"spec", "replicas"}, int64(5)}.on(t, o)
		}, []string{"StatefulSet spec.replicas: in-place"}},
		{"another image", func(_ *testing.T, o []*unstructured.Unstructured) { crate(o)["image"] = "crate:6.4.2" },
			[]string{"StatefulSet spec.template.spec.containers[crate].image: at-restart"}},
		{"the same amount of memory in other words", func(_ *testing.T, o []*unstructured.Unstructured) {
			crate(o)["resources"] = map[string]any{"limits": map[string]any{"cpu": "2000m", "memory": "4096Mi"}, "requests": map[string]any{"cpu": "2", "memory": "4Gi"}}
		}, nil},
		{"a setting that CrateDB takes while it runs", func(_ *testing.T, o []*unstructured.Unstructured) {
			crate(o)["command"] = append(crate(o)["command"].([]any), "-Ccluster.max_shards_per_node=500")
		}, []string{"StatefulSet spec.template.spec.containers[crate].command[cluster.max_shards_per_node]: in-place"}},
		{"a setting that needs a restart", func(_ *testing.T, o []*unstructured.Unstructured) {
			crate(o)["command"] = append(crate(o)["command"].([]any), "-Cnode.attr.tier=hot")
		}, []string{"StatefulSet spec.template.spec.containers[crate].command[node.attr.tier]: at-restart"}},
		{"the founders, which leave the template anyway", func(_ *testing.T, o []*unstructured.Unstructured) {
			for i, a := range crate(o)["command"].([]any) {
				if text := fmt.Sprint(a); regexp.MustCompile("initial_master_nodes").MatchString(text) {
					crate(o)["command"].([]any)[i] = "-Ccluster.initial_master_nodes=data-hot-0"
				}
			}
		}, nil},
		{"a field that Kubernetes never changes", func(t *testing.T, o []*unstructured.Unstructured) {
			change{hot, []string{"spec", "serviceName"}, "another"}.on(t, o)
		}, []string{"StatefulSet spec.serviceName: immutable"}},
		{"an annotation of somebody else", func(t *testing.T, o []*unstructured.Unstructured) {
			change{hot, []string{"metadata", "annotations"}, map[string]any{"example.com/a.b": "c"}}.on(t, o)
		}, []string{`StatefulSet metadata.annotations["example.com/a.b"]: nothing`}},
		{"a field of the Service that only the live one has", func(t *testing.T, o []*unstructured.Unstructured) {
			change{"Service crate-orders", []string{"spec", "loadBalancerIP"}, "192.0.2.1"}.on(t, o)
		}, []string{"Service spec.loadBalancerIP: in-place"}},
		{"the addresses that the API server allocates", func(t *testing.T, o []*unstructured.Unstructured) {
			change{"Service crate-orders", []string{"spec", "clusterIP"}, "10.0.0.9"}.on(t, o)
			change{"Service crate-orders", []string{"spec", "healthCheckNodePort"}, int64(31000)}.on(t, o)
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := recorded(t)
			r, err := derive.From(t.Context(), in)
			require.NoError(t, err)
			c.live(t, in.Live)
			var more []string
			for _, l := range lines(derive.Differences(in.Live, r.Rendered)) {
				if !slices.Contains(lines(r.Differences), l) {
					more = append(more, l)
				}
			}
			assert.Equal(t, c.want, more)
		})
	}
}

// An adopted pod template waits for a restart as a whole (docs/ownership.md), as the daemon does.
func TestWhatAKeptPodTemplateWouldTakeInPlaceWaitsForTheRestart(t *testing.T) {
	const hot = "StatefulSet crate-data-hot-orders"
	for _, c := range []struct {
		name      string
		managedBy string
		adopted   bool
		want      string
	}{
		{"of crate-operator", "crate-operator", false, "at-restart"},
		{"adopted", "stevedore", true, "at-restart"},
		{"of stevedore", "stevedore", false, "in-place"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := recorded(t)
			r, err := derive.From(t.Context(), in)
			require.NoError(t, err)
			change{hot, []string{"metadata", "labels", "app.kubernetes.io/managed-by"}, c.managedBy}.on(t, in.Live)
			change{hot, []string{"spec", "template", "metadata", "labels", "team"}, "shop"}.on(t, in.Live)
			if c.adopted {
				change{hot, []string{"metadata", "annotations"}, map[string]any{"stevedore.dev/adopted": "{}"}}.on(t, in.Live)
			}
			found, err := derive.Against(in, r.Rendered)
			require.NoError(t, err)
			assert.Contains(t, lines(found), "StatefulSet spec.template.metadata.labels.team: "+c.want)
		})
	}
}

func TestNoValueOfASecretIsAmongTheDifferences(t *testing.T) {
	in := recorded(t)
	secret := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "data": map[string]any{"password": "aHVudGVyMg=="},
		"metadata": map[string]any{"name": "user-system-orders", "namespace": "shop",
			"annotations":     map[string]any{"operator.cloud.crate.io/last": "aHVudGVyMg=="},
			"ownerReferences": []any{map[string]any{"apiVersion": "cloud.crate.io/v1", "kind": "CrateDB", "name": "orders", "uid": "u"}}},
	}}
	change{"Service crate-orders", []string{"metadata", "annotations"}, map[string]any{"operator.cloud.crate.io/last": "aHVudGVyMg=="}}.on(t, in.Live)
	in.Live = append(in.Live, secret)
	r, err := derive.From(t.Context(), in)
	require.NoError(t, err)
	found := derive.Differences(in.Live, r.Rendered)
	assert.Contains(t, lines(found), "Secret metadata.ownerReferences: in-place")
	assert.NotContains(t, fmt.Sprint(found, r.Differences, r.Files), "aHVudGVyMg")
}

func TestWithTheDaemonsOwnExportersNoPatchKeepsTheOthers(t *testing.T) {
	in := recorded(t)
	in.Config = render.Config{SQLExporterImage: "burningalchemist/sql_exporter:0.24.3", JMXExporterURL: "https://example.com/jmx.jar", JMXExporterSHA256: "0"}
	r, err := derive.From(t.Context(), in)
	require.NoError(t, err)
	assert.NotContains(t, r.Definition(), "patches:")
	assert.Len(t, r.Files, 2)
	found := lines(r.Differences)
	for _, want := range []string{
		"StatefulSet spec.template.spec.containers[crate].env[CRATE_JAVA_OPTS].value: at-restart",
		"StatefulSet spec.template.spec.containers[crate].volumeMounts[mountPath=/var/lib/crate/crate-jmx-exporter.jar]: at-restart",
		`ConfigMap data["sql-exporter.yaml"]: in-place`,
	} {
		assert.Contains(t, found, want)
	}
}
