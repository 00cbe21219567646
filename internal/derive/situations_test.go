package derive_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/internal/derive"
	"stevedore.dev/stevedore/render"
)

// put sets a field of one of the objects, "Kind name".
func put(t *testing.T, in derive.Input, object string, value any, path ...string) {
	t.Helper()
	change{object, path, value}.on(t, append(slices.Clone(in.Live), in.Object))
}

// container is one of a StatefulSet's, to be changed in place.
func container(t *testing.T, in derive.Input, setName, field, name string) map[string]any {
	t.Helper()
	list, _, _ := unstructured.NestedFieldNoCopy(set(t, in, setName).Object, "spec", "template", "spec", field)
	for _, c := range list.([]any) {
		if c.(map[string]any)["name"] == name {
			return c.(map[string]any)
		}
	}
	t.Fatalf("%s has no %s", setName, name)
	return nil
}

const (
	hotSet = "crate-data-hot-orders"
	hot    = "StatefulSet " + hotSet
)

type situation struct {
	name  string
	in    func(t *testing.T) derive.Input // nil: the recorded cluster
	given func(t *testing.T, in *derive.Input)
	// has and hasNot are of the definition, notes begin with code and text; "!" before a code: it is
	// for a person to do.
	has, hasNot, notes []string
	// also are differences in addition to the inherent ones.
	also []string
}

func (s situation) run(t *testing.T) {
	in := recorded
	if s.in != nil {
		in = func(testing.TB) derive.Input { return s.in(t) }
	}
	input := in(t)
	s.given(t, &input)
	r, err := derive.From(t.Context(), input)
	require.NoError(t, err)
	for _, want := range s.has {
		assert.Contains(t, r.Definition(), want)
	}
	for _, never := range s.hasNot {
		assert.NotContains(t, r.Definition(), never)
	}
	for i, want := range s.notes {
		if assert.Greater(t, len(r.Notes), i, "a note %s", want) {
			code := r.Notes[i].Code
			if r.Notes[i].Person {
				code = "!" + code
			}
			assert.Contains(t, code+" "+r.Notes[i].Text, want)
		}
	}
	assert.Len(t, r.Notes, len(s.notes), "%v", r.Notes)
	var also []string
	for _, d := range r.Differences {
		if l := line(d); !inherent.MatchString(l) {
			also = append(also, l)
		}
	}
	assert.Equal(t, s.also, also)
}

func TestWhatRunsWinsOverTheCrateDBObject(t *testing.T) {
	for _, s := range []situation{
		{name: "a grow that is not finished", given: func(t *testing.T, in *derive.Input) {
			groups := in.Object.Object["spec"].(map[string]any)["nodes"].(map[string]any)["data"].([]any)
			groups[0].(map[string]any)["replicas"] = int64(5)
		}, has: []string{"replicas: 3\n"}, notes: []string{"!unfinished the CrateDB object asks for replicas of group hot 5, and 3 runs"}},
		{name: "an upgrade that is not begun", given: func(t *testing.T, in *derive.Input) {
			put(t, *in, "CrateDB orders", "6.4.4", "spec", "cluster", "version")
		}, has: []string{"version: 6.4.3\n"}, notes: []string{"!unfinished the CrateDB object asks for the version 6.4.4, and 6.4.3 runs"}},
		{name: "claims that crate-operator has grown, which leaves their template as it was", given: func(t *testing.T, in *derive.Input) {
			for _, claim := range []string{"0", "1", "2", "3", "4"} {
				put(t, *in, "PersistentVolumeClaim data0-"+hotSet+"-"+claim, "96Gi", "spec", "resources", "requests", "storage")
			}
			in.Object = nil
		}, has: []string{"size: 96Gi"}, notes: []string{"!users-unknown"},
			also: []string{"StatefulSet spec.volumeClaimTemplates[data0].spec.resources.requests.storage: in-place"}},
		{name: "one claim that has grown", given: func(t *testing.T, in *derive.Input) {
			put(t, *in, "PersistentVolumeClaim data0-"+hotSet+"-1", "96Gi", "spec", "resources", "requests", "storage")
		}, has: []string{"size: 96Gi"}, notes: []string{"several-values the claims data0 of crate-data-hot-orders have several sizes (64Gi, 96Gi)", "!unfinished the CrateDB object asks for disks of group hot of 64GiB, and 96Gi runs"},
			also: []string{"StatefulSet spec.volumeClaimTemplates[data0].spec.resources.requests.storage: in-place"}},
		{name: "a group without a StatefulSet", given: func(t *testing.T, in *derive.Input) {
			spec := in.Object.Object["spec"].(map[string]any)["nodes"].(map[string]any)
			spec["data"] = append(spec["data"].([]any), map[string]any{"name": "cold", "replicas": int64(2)})
		}, hasNot: []string{"cold"}, notes: []string{"!unfinished the CrateDB object has a group cold, and there is no StatefulSet of it"}},
		{name: "an operation of crate-operator", given: func(t *testing.T, in *derive.Input) {
			in.Object.SetAnnotations(map[string]string{"operator.cloud.crate.io/cluster_update.restart": `{"started":"2026-11-23T18:12:40Z","success":false,"failure":false}`})
		}, notes: []string{"!unfinished an operation of crate-operator is not finished (cluster_update.restart, by its annotation)"}},
		{name: "an object that is being deleted", given: func(t *testing.T, in *derive.Input) {
			put(t, *in, "CrateDB orders", "2026-11-24T00:00:00Z", "metadata", "deletionTimestamp")
		}, notes: []string{"!unfinished the CrateDB object is being deleted"}},
		{name: "a change of CPU and memory that is not done", given: func(t *testing.T, in *derive.Input) {
			groups := in.Object.Object["spec"].(map[string]any)["nodes"].(map[string]any)["data"].([]any)
			groups[0].(map[string]any)["resources"].(map[string]any)["limits"] = map[string]any{"cpu": int64(4), "memory": "8Gi"}
		}, has: []string{"limits: {cpu: 2, memory: 4Gi}"},
			notes: []string{"!unfinished the CrateDB object asks for memory of group hot of 8Gi, and 4Gi runs", "!unfinished the CrateDB object asks for cores of group hot 4, and 2 runs"}},
		{name: "settings and TLS that crate-operator never applied", given: func(t *testing.T, in *derive.Input) {
			put(t, *in, "CrateDB orders", map[string]any{"node.attr.tier": "hot", "stats.enabled": true}, "spec", "cluster", "settings")
			put(t, *in, "CrateDB orders", map[string]any{"keystore": "x"}, "spec", "cluster", "ssl")
		}, hasNot: []string{"tier", "    ssl:"}, notes: []string{`not-live the CrateDB object has the setting node.attr.tier: hot, and group hot runs with ""`, "!not-live spec.cluster.ssl of the CrateDB object is not what runs"}},
		{name: "a user of a name that is taken", given: func(t *testing.T, in *derive.Input) {
			users := in.Object.Object["spec"].(map[string]any)["users"].([]any)
			users[0].(map[string]any)["name"] = "crate"
		}, hasNot: []string{"users:"}, notes: []string{"!left-out the user crate of spec.users is left out"}},
		{name: "resources that somebody changed", given: func(t *testing.T, in *derive.Input) {
			container(t, *in, hotSet, "containers", "crate")["resources"] = map[string]any{"limits": map[string]any{"cpu": "2500m", "memory": "6Gi"}, "requests": map[string]any{"cpu": "750m", "memory": "6Gi"}}
		}, has: []string{"limits: {cpu: 2.5, memory: 6Gi}", "requests: {cpu: 0.75}", "heapRatio: 0.1666666667\n", "processors: \"2\""},
			notes: []string{"!unfinished the CrateDB object asks for memory of group hot of 4Gi, and 6Gi runs", "!unfinished the CrateDB object asks for cores of group hot 2, and 2.5 runs"}},
		{name: "a setting that is live", given: func(t *testing.T, in *derive.Input) {
			c := container(t, *in, hotSet, "containers", "crate")
			c["command"] = append(c["command"].([]any), "-Cindices.breaker.query.limit=40%", "-Cnode.attr.rack=$(cat /rack)")
		}, has: []string{"    settings:\n      indices.breaker.query.limit: 40%\n"}, hasNot: []string{"node.attr.rack"},
			notes: []string{"!not-kept the setting node.attr.rack of crate-data-hot-orders cannot be kept: it has a character"},
			also:  []string{"StatefulSet spec.template.spec.containers[crate].command[node.attr.rack]: at-restart"}},
	} {
		t.Run(s.name, s.run)
	}
}

func TestWhatNoDefinitionMayHaveIsLeftOutAndSaid(t *testing.T) {
	ref := func(key string) map[string]any {
		return map[string]any{"secretKeyRef": map[string]any{"name": "backup", "key": key}}
	}
	for _, s := range []situation{
		{name: "a snapshot that was restored once", given: func(t *testing.T, in *derive.Input) {
			put(t, *in, "CrateDB orders", map[string]any{"snapshot": "s1", "basePath": ref("p")}, "spec", "cluster", "restoreSnapshot")
		}, hasNot: []string{"restore"}, notes: []string{"left-out spec.cluster.restoreSnapshot is not taken: it would restore snapshot s1"}},
		{name: "Grand Central", given: func(t *testing.T, in *derive.Input) {
			put(t, *in, "CrateDB orders", map[string]any{"backendEnabled": true}, "spec", "grandCentral")
		}, hasNot: []string{"grandCentral"}, notes: []string{"!left-out spec.grandCentral is not supported"}},
		{name: "Traefik", given: func(t *testing.T, in *derive.Input) {
			put(t, *in, "CrateDB orders", "traefik", "spec", "cluster", "exposure")
			put(t, *in, "Service crate-orders", "ClusterIP", "spec", "type")
			unstructured.RemoveNestedField(serviceOf(t, *in).Object, "spec", "externalTrafficPolicy")
		}, has: []string{"- target: {kind: Service, name: crate-orders}", "type: ClusterIP", "externalTrafficPolicy: null"}, hasNot: []string{"exposure"},
			notes: []string{"!left-out spec.cluster.exposure: traefik is not supported"}},
		{name: "backups to S3", given: func(t *testing.T, in *derive.Input) {
			put(t, *in, "CrateDB orders", map[string]any{"aws": map[string]any{"accessKeyId": ref("id"), "secretAccessKey": ref("key"),
				"bucket": ref("bucket"), "region": ref("region"), "basePath": "crate", "cron": "0 2 * * *"}}, "spec", "backups")
			in.Secrets["backup"] = []string{"id", "key", "bucket"}
		}, has: []string{"  backups:\n    aws:\n      accessKeyId: {secretKeyRef: {name: backup, key: id}}\n", "      basePath: crate\n      cron: 0 2 * * *\n"},
			notes: []string{"snapshots spec.backups makes stevedore the scheduler", "!secret-missing Secret backup is needed for snapshots, and has no key region"}},
		{name: "backups to Azure", given: func(t *testing.T, in *derive.Input) {
			put(t, *in, "CrateDB orders", map[string]any{"azure_blob": map[string]any{"accountName": ref("name"), "accountKey": ref("key"),
				"container": ref("container"), "region": ref("region"), "cron": "0 2 * * *"}}, "spec", "backups")
			in.Secrets["backup"] = []string{"name", "key", "container", "region"}
		}, has: []string{"    azure_blob:\n      accountName: "}, notes: []string{"snapshots"}},
		{name: "a label by which another tool knows its objects", given: func(t *testing.T, in *derive.Input) {
			for _, o := range []string{hot, "Service crate-orders", "Service crate-discovery-orders"} {
				put(t, *in, o, "x", "metadata", "labels", "argocd.argoproj.io/instance")
				put(t, *in, o, "shop", "metadata", "labels", "team")
			}
			put(t, *in, hot, "x", "spec", "template", "metadata", "labels", "argocd.argoproj.io/instance")
			put(t, *in, hot, "shop", "spec", "template", "metadata", "labels", "team")
		}, has: []string{"  labels:\n    team: shop\nspec:"}, hasNot: []string{"argocd"},
			also: []string{`Service metadata.labels["argocd.argoproj.io/instance"]: nothing`, `Service metadata.labels["argocd.argoproj.io/instance"]: nothing`,
				`StatefulSet metadata.labels["argocd.argoproj.io/instance"]: nothing`, `StatefulSet spec.template.metadata.labels["argocd.argoproj.io/instance"]: at-restart`}},
	} {
		t.Run(s.name, s.run)
	}
}

func serviceOf(t *testing.T, in derive.Input) *unstructured.Unstructured {
	t.Helper()
	at := slices.IndexFunc(in.Live, func(o *unstructured.Unstructured) bool {
		return o.GetName() == "crate-orders" && o.GetKind() == "Service"
	})
	require.GreaterOrEqual(t, at, 0)
	return in.Live[at]
}

func TestWhatNoFieldSaysIsKeptByAPatch(t *testing.T) {
	pod := []string{"spec", "template", "spec"}
	for _, s := range []situation{
		{name: "where the pods may run", given: func(t *testing.T, in *derive.Input) {
			put(t, *in, hot, map[string]any{"disk": "nvme"}, append(pod, "nodeSelector")...)
			put(t, *in, hot, "database", append(pod, "priorityClassName")...)
			put(t, *in, hot, []any{map[string]any{"name": "registry"}}, append(pod, "imagePullSecrets")...)
		}, has: []string{`{op: add, path: /spec/template/spec/nodeSelector, value: {"disk":"nvme"}}`, `priorityClassName, value: "database"`, `[{"name":"registry"}]`}},
		{name: "a container and a volume that somebody added", given: func(t *testing.T, in *derive.Input) {
			spec := set(t, *in, hotSet).Object["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
			spec["containers"] = append(spec["containers"].([]any), map[string]any{"name": "logs", "image": "fluent-bit:3", "volumeMounts": []any{map[string]any{"name": "logs", "mountPath": "/logs"}}})
			spec["volumes"] = append(spec["volumes"].([]any), map[string]any{"name": "logs", "emptyDir": map[string]any{}})
			crate := container(t, *in, hotSet, "containers", "crate")
			crate["volumeMounts"] = append(crate["volumeMounts"].([]any), map[string]any{"name": "logs", "mountPath": "/logs"})
			crate["env"] = append(crate["env"].([]any), map[string]any{"name": "TZ", "value": "UTC"})
		}, has: []string{"# Keeps what somebody added to the pods.", "image: fluent-bit:3", "- name: TZ"}},
		{name: "an annotation that only the pods have", given: func(t *testing.T, in *derive.Input) {
			put(t, *in, hot, "disabled", "spec", "template", "metadata", "annotations", "linkerd.io/inject")
		}, has: []string{"linkerd.io/inject: disabled"}},
		{name: "an annotation that pods and StatefulSet have is a field", given: func(t *testing.T, in *derive.Input) {
			put(t, *in, hot, "storage", "spec", "template", "metadata", "annotations", "example.com/owner")
			put(t, *in, hot, map[string]any{"example.com/owner": "storage"}, "metadata", "annotations")
		}, has: []string{"      annotations:\n        example.com/owner: storage\n"}},
		{name: "no privileged init container", given: func(t *testing.T, in *derive.Input) {
			spec := set(t, *in, hotSet).Object["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
			spec["initContainers"] = spec["initContainers"].([]any)[1:]
		}, has: []string{"$patch: delete"}},
		{name: "an init container of another image", given: func(t *testing.T, in *derive.Input) {
			container(t, *in, hotSet, "initContainers", "init-sysctl")["image"] = "registry.example.com/busybox:1.36"
		}, has: []string{"image: registry.example.com/busybox:1.36"}},
		{name: "annotations of the Service are a field", given: func(t *testing.T, in *derive.Input) {
			put(t, *in, "Service crate-orders", map[string]any{"example.com/a": "b", "external-dns.alpha.kubernetes.io/hostname": "orders.example.com.",
				"operator.cloud.crate.io/last": "{}", "kubectl.kubernetes.io/last-applied-configuration": "{}"}, "metadata", "annotations")
			put(t, *in, "Service crate-orders", []any{"192.0.2.0/24"}, "spec", "loadBalancerSourceRanges")
		}, has: []string{"    externalDNS: orders.example.com.\n    service:\n      annotations:\n        example.com/a: b\n", "    allowedCIDRs:\n    - 192.0.2.0/24\n"},
			also: []string{`Service metadata.annotations["kubectl.kubernetes.io/last-applied-configuration"]: nothing`, `Service metadata.annotations["operator.cloud.crate.io/last"]: nothing`}},
	} {
		t.Run(s.name, s.run)
	}
}

func TestASuspendedClusterStaysSuspendedAndItsSizesAreSaid(t *testing.T) {
	suspend := func(t *testing.T, in derive.Input, sets ...string) {
		for _, name := range sets {
			put(t, in, "StatefulSet "+name, int64(0), "spec", "replicas")
		}
	}
	gateway := []string{"StatefulSet spec.template.spec.containers[crate].command[gateway.expected_data_nodes]: in-place", "StatefulSet spec.template.spec.containers[crate].command[gateway.recover_after_data_nodes]: in-place"}
	for _, s := range []situation{
		{name: "the CrateDB object knows", given: func(t *testing.T, in *derive.Input) { suspend(t, *in, hotSet) },
			has:   []string{"replicas: 0 # suspended; there were 3, says the CrateDB object\n", "consent: [suspend]"},
			notes: []string{"!unfinished the CrateDB object asks for replicas of group hot 3, and 0 runs", "suspended group hot had 3 nodes, says the CrateDB object", "!suspended the cluster is suspended"}, also: gateway},
		{name: "the nodes' own settings know", given: func(t *testing.T, in *derive.Input) { suspend(t, *in, hotSet); in.Object = nil },
			has:   []string{"replicas: 0 # suspended; there were 3, says gateway.expected_data_nodes of its nodes\n"},
			notes: []string{"!users-unknown", "suspended group hot had 3 nodes", "!suspended"}, also: gateway},
		{name: "nothing knows", given: func(t *testing.T, in *derive.Input) {
			suspend(t, *in, hotSet)
			in.Object = nil
			crate := container(t, *in, hotSet, "containers", "crate")
			crate["command"] = slices.DeleteFunc(crate["command"].([]any), func(a any) bool {
				return strings.Contains(a.(string), "gateway.") || strings.Contains(a.(string), "initial_master_nodes")
			})
		}, has: []string{"replicas: 0 # suspended; nothing says how many there were\n"},
			notes: []string{"!users-unknown", "!suspended group hot had at most 5 nodes, which is how many have volumes", "!suspended"}, also: gateway},
	} {
		t.Run(s.name, s.run)
	}
}

func TestOneOfSeveralClustersOfANamespaceIsTakenByItsSelector(t *testing.T) {
	// crate-data-a-b-c may be group a of cluster b-c, and group a-b of cluster c.
	in := recorded(t)
	for _, o := range copyOf(recorded(t).Live) {
		text := strings.ReplaceAll(toJSON(t, o), hotSet, "crate-data-hot-eu-orders")
		other := fromJSON(t, strings.NewReplacer(`"crate-orders"`, `"crate-eu-orders"`, `"crate-discovery-orders"`, `"crate-discovery-eu-orders"`,
			`"app.kubernetes.io/name":"orders"`, `"app.kubernetes.io/name":"eu-orders"`, `"orders"`, `"eu-orders"`).Replace(text))
		in.Live = append(in.Live, other)
	}
	r, err := derive.From(t.Context(), in)
	require.NoError(t, err)
	for _, d := range r.Differences {
		assert.NotContains(t, d.Object.Name, "eu-orders")
		assert.Regexp(t, inherent, line(d))
	}
	in.Cluster, in.Object = "eu-orders", nil
	r, err = derive.From(t.Context(), in)
	require.NoError(t, err)
	assert.Contains(t, r.Definition(), "name: eu-orders\n")
	in.Cluster = "us-orders"
	_, err = derive.From(t.Context(), in)
	var missing *derive.NotFound
	require.ErrorAs(t, err, &missing)
	assert.Equal(t, []string{"eu-orders", "orders"}, missing.Clusters)
}

func copyOf(objects []*unstructured.Unstructured) (out []*unstructured.Unstructured) {
	for _, o := range objects {
		out = append(out, o.DeepCopy())
	}
	return out
}

func toJSON(t *testing.T, o *unstructured.Unstructured) string {
	t.Helper()
	text, err := o.MarshalJSON()
	require.NoError(t, err)
	return string(text)
}

func fromJSON(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	require.NoError(t, o.UnmarshalJSON([]byte(text)))
	return o
}

func TestAnotherStatefulSetIsRefusedByName(t *testing.T) {
	in := derive.Input{Namespace: "shop", Cluster: "crate", Live: read(t, "testdata/handwritten.yaml")}
	_, err := derive.From(t.Context(), in)
	var unsupported *derive.Unsupported
	require.ErrorAs(t, err, &unsupported)
	assert.Equal(t, "crate", unsupported.StatefulSet)
	assert.Contains(t, err.Error(), "its claims are cratedb-data, not data0 and so on, and debug")
	assert.Contains(t, err.Error(), "{group: hot, statefulSet: crate, serviceName: crate-set, selector: {app: crate}, claim: cratedb-data, mountPath: /data, dataPath: /data, nodePrefix: crate}", "the entry that a definition needs")
	assert.Nil(t, derive.Needed(in))

	in.Cluster = "orders"
	_, err = derive.From(t.Context(), in)
	var missing *derive.NotFound
	require.ErrorAs(t, err, &missing)
	assert.Equal(t, []string{"crate"}, missing.Others)

	// One of crate-operator's name with other claims is refused as well: half of it would be wrong.
	in = recorded(t)
	templates := set(t, in, hotSet).Object["spec"].(map[string]any)["volumeClaimTemplates"].([]any)
	templates[0].(map[string]any)["metadata"].(map[string]any)["name"] = "cratedb-data"
	_, err = derive.From(t.Context(), in)
	require.ErrorAs(t, err, &unsupported)
	assert.Equal(t, hotSet, unsupported.StatefulSet)
}

func TestAGroupThatElectsIsTheFirstOfTheDefinition(t *testing.T) {
	in := made(t, "tiers", "prod", "none")
	in.Live = slices.DeleteFunc(in.Live, func(o *unstructured.Unstructured) bool { return o.GetName() == "crate-master-orders" })
	spec := in.Object.Object["spec"].(map[string]any)["nodes"].(map[string]any)
	delete(spec, "master")
	crate := container(t, in, "crate-data-cold-orders", "containers", "crate")
	for i, a := range crate["command"].([]any) {
		crate["command"].([]any)[i] = strings.Replace(a.(string), "-Cnode.master=false", "-Cnode.master=true", 1)
	}
	r, err := derive.From(t.Context(), in)
	require.NoError(t, err)
	cold, warm := strings.Index(r.Definition(), "- name: cold"), strings.Index(r.Definition(), "- name: hot")
	assert.Less(t, cold, warm)
	assert.Contains(t, r.Definition(), "# The first group elects the master.\n    - name: cold")
	for _, d := range r.Differences {
		if strings.Contains(d.Path, "node.master") {
			t.Errorf("%s %s", d.Object, d.Path)
		}
	}
}

func TestTheCloudThatNodesAskForTheirZoneIsSaid(t *testing.T) {
	in := made(t, "single", "dev", "gcp")
	r, err := derive.From(t.Context(), in)
	require.NoError(t, err)
	assert.Equal(t, render.CloudGCP, r.Config.CloudProvider)
	assert.Equal(t, "daemon-flag", r.Notes[0].Code)
	in.Config.CloudProvider = render.CloudAWS
	r, err = derive.From(t.Context(), in)
	require.NoError(t, err)
	assert.Contains(t, lines(r.Differences), "StatefulSet spec.template.spec.containers[crate].command[node.attr.zone]: at-restart")
}
