package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/internal/derive"
)

// adoptable is the recorded cluster on an API server that says which kinds it has.
func adoptable(t *testing.T) *apiServer {
	t.Helper()
	api := recordedCluster(t)
	kinds := map[string][]metav1.APIResource{"v1": nil, "apps/v1": nil, "policy/v1": nil, "rbac.authorization.k8s.io/v1": nil, "batch/v1": nil}
	for _, kind := range []struct{ group, name, kind string }{
		{"v1", "services", "Service"}, {"v1", "secrets", "Secret"}, {"v1", "configmaps", "ConfigMap"}, {"v1", "persistentvolumeclaims", "PersistentVolumeClaim"},
		{"apps/v1", "statefulsets", "StatefulSet"}, {"policy/v1", "poddisruptionbudgets", "PodDisruptionBudget"},
		{"rbac.authorization.k8s.io/v1", "roles", "Role"}, {"rbac.authorization.k8s.io/v1", "rolebindings", "RoleBinding"}, {"batch/v1", "cronjobs", "CronJob"},
	} {
		kinds[kind.group] = append(kinds[kind.group], metav1.APIResource{Name: kind.name, Kind: kind.kind, Namespaced: true, Verbs: metav1.Verbs{"list", "get", "patch"}})
	}
	groups := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	for group, resources := range kinds {
		at := "/apis/" + group
		if name, version, named := strings.Cut(group, "/"); named {
			v := metav1.GroupVersionForDiscovery{GroupVersion: group, Version: version}
			groups.Groups = append(groups.Groups, metav1.APIGroup{Name: name, Versions: []metav1.GroupVersionForDiscovery{v}, PreferredVersion: v})
		} else {
			at = "/api/" + group
		}
		api.put(at, &metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: group, APIResources: resources})
	}
	api.put("/apis", &groups)
	api.put("/api", &metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions", APIVersion: "v1"}, Versions: []string{"v1"}})
	api.put("/apis/apps/v1/deployments", &appsv1.DeploymentList{TypeMeta: metav1.TypeMeta{Kind: "DeploymentList", APIVersion: "apps/v1"}})
	return api
}

// importedTo is a folder with the definition that import writes, changed.
func importedTo(t *testing.T, changes ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "orders")
	end := stevedore(t, "import", "shop/orders", "--out", dir)
	require.Zero(t, end.code, "%s", end.err)
	file := filepath.Join(dir, "orders.yaml")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	after := string(text)
	for i := 0; i < len(changes); i += 2 {
		require.Contains(t, after, changes[i])
		after = strings.Replace(after, changes[i], changes[i+1], 1)
	}
	require.NoError(t, os.WriteFile(file, []byte(after), 0o600))
	return dir
}

func TestAnAdoptionsPlanSaysWhatDiffersAfterwards(t *testing.T) {
	const restart = "no pod restarts now; "
	for _, c := range []struct {
		name    string
		given   func(api *apiServer)
		changes []string // of the definition that is named; nil: none is
		file    bool     // its file is named
		want    []string
		hasNot  []string
	}{
		{"of what import would write", nil, nil, false, []string{
			"Differs from what is live, and comes at the next restart of the pods:\n",
			"spec.template.spec.containers[crate].lifecycle: {",
			`spec.template.metadata.labels["app.kubernetes.io/managed-by"]: crate-operator -> stevedore`,
			"Differs from what is live, and comes in place:\n",
			"PersistentVolumeClaim data0-crate-data-hot-orders-0 and 9 more metadata.ownerReferences: CrateDB orders -> (none)",
			"more mean nothing (-o json has them)\n",
			"\nafterwards, with the definition that import writes: " + restart,
			"differences come at the next restart, which somebody asks for (stevedore restart shop/orders)\n",
		}, []string{"cannot be changed", "differs-for-ever"}},
		{"of a definition that is named", nil, []string{"replicas: 3\n", "replicas: 4\n"}, false, []string{
			"StatefulSet crate-data-hot-orders spec.replicas: 3 -> 4 (nodes join", "orders: " + restart,
		}, []string{"cannot be changed", "import writes"}},
		{"of a file that is named", nil, []string{"replicas: 3\n", "replicas: 4\n"}, true, []string{"spec.replicas: 3 -> 4", "orders.yaml: " + restart}, nil},
		{"memory waits for the restart", nil, []string{"memory: 4Gi}", "memory: 5Gi}"}, false, []string{
			"next restart of the pods:\n", "spec.template.spec.containers[crate].resources.limits.memory: 4Gi -> 5Gi",
		}, []string{"differs-for-ever"}},
		{"what cannot be changed is a reason against it", nil, []string{"storageClass: default", "storageClass: another"}, false, []string{
			"refused   differs-for-ever: ", "orders asks for what can never be changed in what runs, and the daemon would refuse it after the adoption: StatefulSet crate-data-hot-orders spec.volumeClaimTemplates[data0]",
			"Differs from what is live, and cannot be changed:\n", "nothing would be written",
		}, nil},
		{"a cluster that no definition renders is said", func(api *apiServer) {
			set := api.objects["/apis/apps/v1/namespaces/shop/statefulsets/crate-data-hot-orders"].(*unstructured.Unstructured)
			_ = unstructured.SetNestedField(set.Object, "another", "spec", "serviceName")
		}, nil, false, []string{`afterwards: no pod restarts now; what differs from the definition that import writes is not known: StatefulSet crate-data-hot-orders runs CrateDB, and not as crate-operator makes it: serviceName is "another"`},
			[]string{"differs-for-ever"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			api := adoptable(t)
			args := []string{"adopt", "shop/orders", "--dry-run", "--trusted"}
			if c.changes != nil {
				dir := importedTo(t, c.changes...)
				if c.file {
					dir = filepath.Join(dir, "orders.yaml")
				}
				args = append(args, "--definition", dir)
			}
			if c.given != nil {
				c.given(api)
			}
			end := stevedore(t, args...)
			assert.Empty(t, end.err)
			for _, want := range c.want {
				assert.Contains(t, end.out, want)
			}
			for _, never := range c.hasNot {
				assert.NotContains(t, end.out, never)
			}
			said := strings.Split(strings.TrimSpace(end.out), "\n")
			assert.Regexp(t, `^afterwards[:,].* no pod restarts now`, said[len(said)-1], "the last line is about restarts")
			assert.NotContains(t, end.out, "aHVudGVyMg", "a value of a Secret")
		})
	}
}

func TestAnAdoptionsPlanHasEveryDifferenceInJSON(t *testing.T) {
	adoptable(t)
	dir := importedTo(t, "storageClass: default", "storageClass: another")
	end := stevedore(t, "adopt", "orders", "--dry-run", "--definition", dir, "--trusted", "-o", "json")
	assert.Equal(t, exitProblem, end.code)
	var said struct {
		Refusals   []struct{ Name string }
		Steps      []struct{ Object string }
		Afterwards struct {
			Definition  string
			Differences []struct{ Path, Effect string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(end.out), &said))
	assert.Equal(t, dir, said.Afterwards.Definition)
	assert.NotEmpty(t, said.Steps)
	var names, effects []string
	for _, one := range said.Refusals {
		names = append(names, one.Name)
	}
	for _, d := range said.Afterwards.Differences {
		effects = append(effects, d.Effect)
	}
	assert.Contains(t, names, "differs-for-ever")
	for _, effect := range []string{"nothing", "in-place", "at-restart", "immutable"} {
		assert.Contains(t, effects, effect)
	}
}

func TestOnlyADefinitionThatIsNamedIsComparedForTheDecision(t *testing.T) {
	immutable := []derive.Difference{{Path: "spec.serviceName", Live: "a", Rendered: "b", Effect: derive.EffectImmutable}}
	for _, c := range []struct {
		name  string
		after afterwards
		never int
	}{
		{"a definition that is named", afterwards{Definition: "d", Differences: immutable}, 1},
		{"one that no StatefulSet can have", afterwards{Definition: "d", Unknown: "why", unsupported: true}, 1},
		{"what import would write", afterwards{Differences: immutable}, 0},
		{"nothing that cannot be changed", afterwards{Definition: "d"}, 0},
	} {
		t.Run(c.name, func(t *testing.T) { assert.Len(t, c.after.comparison().Never, c.never) })
	}
}

func TestAnAdoptionWithADefinitionThatIsNoneWritesNothing(t *testing.T) {
	for _, c := range []struct {
		name    string
		changes []string
		args    []string
		want    string
	}{
		{"what cannot be changed", []string{"storageClass: default", "storageClass: another"}, nil, "cluster shop/orders is not adopted (nothing was written):\n … \ndiffers-for-ever: "},
		{"a mistake in it", []string{"replicas: 3\n", "replicas: many\n"}, nil, "of cluster shop/orders is not good: see the problems above"},
		{"another cluster", []string{"name: orders\n", "name: others\n"}, nil, "there is no cluster shop/orders in it"},
		{"the way back", []string{"replicas: 3\n", "replicas: 3\n"}, []string{"--back"}, "either --back or --definition"},
	} {
		t.Run(c.name, func(t *testing.T) {
			api := adoptable(t)
			dir := importedTo(t, c.changes...)
			before := len(api.objects)
			end := stevedore(t, append([]string{"adopt", "shop/orders", "--trusted", "--definition", dir}, c.args...)...)
			assert.Equal(t, exitError, end.code)
			for words := range strings.SplitSeq(c.want, " … ") {
				assert.Contains(t, end.err, words)
			}
			assert.Empty(t, end.out)
			assert.NotContains(t, api.objects, "/api/v1/namespaces/shop/configmaps/stevedore-orders-adoption")
			assert.LessOrEqual(t, len(api.objects), before+1, "only rights were asked for")
		})
	}
}
