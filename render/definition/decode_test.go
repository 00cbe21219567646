package definition_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"

	"stevedore.dev/stevedore/render/definition"
)

func TestEveryErrorOfOneFileIsSaidAtOnce(t *testing.T) {
	text := `apiVersion: cloud.crate.io/v1
kind: CrateDB
metadata: {name: Orders, namespce: prod}
spec:
  cluster:
    imageRegistry: crate:latest
    nam: orders
    version: latest
  nodes:
    data:
    - name: hot
      replicas: "3"
      resources:
        limits: {cpu: 4, memory: 4}
        disk: {count: 1, size: 128}
    - name: hot
  users:
  - name: crate
`
	require.Equal(t, []string{
		"a.yaml:3:18: metadata.name: cannot be part of the names of Kubernetes objects: use lower case letters, digits and -, beginning and ending with a letter or digit",
		"a.yaml:3:26: metadata.namespce: unknown field: did you mean namespace?",
		"a.yaml:6:5: spec.cluster.name: is missing: write a text",
		"a.yaml:6:20: spec.cluster.imageRegistry: has a tag or digest: write the image's name only, the version goes to spec.cluster.version",
		"a.yaml:7:5: spec.cluster.nam: unknown field: did you mean name?",
		"a.yaml:8:14: spec.cluster.version: names no release, so an upgrade could not be told from a downgrade: write one such as 6.4.3",
		"a.yaml:12:17: spec.nodes.data[0].replicas: is a text: write 3 without quotes",
		"a.yaml:14:9: spec.nodes.data[0].resources.heapRatio: is missing: write a number",
		`a.yaml:14:34: spec.nodes.data[0].resources.limits.memory: has no unit: write 4GiB or 4MiB`,
		"a.yaml:15:15: spec.nodes.data[0].resources.disk.storageClass: is missing: write a text",
		`a.yaml:15:32: spec.nodes.data[0].resources.disk.size: has no unit: write 128GiB or 128MiB`,
		"a.yaml:16:7: spec.nodes.data[1].replicas: is missing: write a whole number from 0 to 1000",
		"a.yaml:16:7: spec.nodes.data[1].resources: is missing: write a mapping with disk, heapRatio",
		`a.yaml:16:13: spec.nodes.data[1].name: "hot" stands twice, first in spec.nodes.data[0]`,
		"a.yaml:18:5: spec.users[0].password: is missing: write a mapping with secretKeyRef",
		"a.yaml:18:11: spec.users[0].name: crate is CrateDB's superuser: creating a user of that name takes its place and its privileges away; take another name",
	}, texts(definition.CheckRaw("a.yaml", []byte(text), definition.RawOptions{Whole: true})))
}

func TestSuspendTakesConsent(t *testing.T) {
	zero := strings.NewReplacer("      replicas: 3\n      resources:\n        limits: {cpu: 4", "      replicas: 0\n      resources:\n        limits: {cpu: 4", "replicas: 2", "replicas: 0").Replace(valid)
	noMasters := strings.Replace(zero, "replicas: 3", "replicas: 0", 1)
	mistake := "spec.nodes.data: all groups have 0 replicas, which takes the cluster down: to suspend it, add suspend to spec.operations.consent"
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"without":               {zero, []string{mistake}},
		"with":                  {strings.Replace(zero, "leave-zone", "suspend", 1), []string{}},
		"masters too":           {strings.Replace(noMasters, "leave-zone", "suspend", 1), []string{}},
		"one group is no cause": {strings.Replace(valid, "replicas: 2", "replicas: 0", 1), []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := definition.Decode(object(t, c.text), nil)
			require.Equal(t, c.want, texts(problems))
		})
	}
}

func TestOperationsAndPatchesAreDecoded(t *testing.T) {
	text := strings.Replace(valid, "{consent: [leave-zone]}", `
    consent: [suspend, take-over]
    stableFor: 1s
    settledYellow: proceed
    unhealable: proceed
    base: v1
    debugVolume: {size: 8Gi, storageClass: slow}
  patches:
  - patch: "a: b"
    target: {kind: Service, name: crate-orders}
    options: {allowNameChange: true}
  - path: service.yaml`, 1)
	text = strings.Replace(text, "{example.com/owner: storage}", "{config.kubernetes.io/origin: 'path: a.yaml', stevedore.dev/restartedAt: 2026-01-31T12:00:00Z}", 1)
	locate := func(path []any) (string, int, int, bool) {
		if len(path) == 4 && path[1] == "patches" {
			return "b.yaml", 48, 5, true
		}
		return "a.yaml", 1, 1, len(path) == 0
	}
	db, problems := definition.Decode(object(t, text), locate)
	require.Empty(t, texts(problems))
	require.Equal(t, definition.Operations{
		Consent:   []definition.Consent{definition.ConsentSuspend, definition.ConsentTakeOver},
		StableFor: time.Second, Unreplicated: "proceed", SettledYellow: "proceed", Unhealable: "proceed",
		RestartBy: "pod", Base: "v1", DebugVolume: definition.DebugVolume{Size: "8Gi", StorageClass: "slow"},
	}, db.Spec.Operations)
	require.Equal(t, []definition.Patch{
		{Patch: "a: b", Target: &definition.Target{Kind: "Service", Name: "crate-orders"}, Options: map[string]bool{"allowNameChange": true}, Line: 48, Column: 5},
		{Path: "service.yaml", Line: 48, Column: 5},
	}, db.Spec.Patches)
	require.Equal(t, map[string]string{"stevedore.dev/restartedAt": "2026-01-31T12:00:00Z"}, db.Annotations)
	require.Equal(t, "a.yaml", db.File)
	require.Equal(t, 1, db.Line)
	require.Equal(t, []definition.Setting{{Name: "stats.enabled", Value: "true"}}, db.Spec.Cluster.Settings)
	require.Equal(t, definition.Resources{RequestCPU: .5, LimitCPU: .5, RequestMemory: "4GiB", LimitMemory: "4GiB", HeapRatio: .25,
		Disk: definition.Disk{Count: 1, Size: "128GiB", StorageClass: "default"}}, db.Spec.Nodes.Data[1].Resources)
}

func TestAProblemAfterKustomizeNamesItsNearestKnownPlace(t *testing.T) {
	text := strings.Replace(valid, "version: 6.4.3", "version: 6", 1)
	_, problems := definition.Decode(object(t, text), func(path []any) (string, int, int, bool) {
		return "a.yaml", 10 * len(path), 1, len(path) == 2
	})
	require.Equal(t, []definition.Problem{{File: "a.yaml", Line: 20, Column: 1, Path: "spec.cluster.version",
		Message: `is no release of CrateDB: write one such as 6.4.3`, Cluster: "prod/orders"}}, problems)
}

func TestWhatIsNoDefinitionIsNotDecoded(t *testing.T) {
	db, problems := definition.Decode(map[string]any{"kind": "Service"}, nil)
	require.Nil(t, db)
	require.Equal(t, []string{"apiVersion: is missing: write cloud.crate.io/v1", "kind: is not that of a definition: write CrateDB"}, texts(problems))
	_, problems = definition.Decode(map[string]any{"kind": struct{}{}}, nil)
	require.Equal(t, []string{"the object has a value of type struct {}, which no YAML has"}, texts(problems))
}

func TestProblemsOfSeveralChecksAreSaidOnce(t *testing.T) {
	known := definition.Problem{File: "a", Line: 1, Column: 2, Path: "x", Message: "m"}
	named, unplaced := known, known
	named.Cluster = "n/c"
	unplaced.Line, unplaced.Column = 0, 0
	other := definition.Problem{File: "a", Line: 1, Column: 1, Message: "first"}
	require.Equal(t, []definition.Problem{other, named}, definition.Merge([]definition.Problem{known, unplaced}, []definition.Problem{named, other}))
}

func TestSizes(t *testing.T) {
	for size, want := range map[string]int64{
		"128GiB": 128 << 30, "4Gi": 4 << 30, "1TiB": 1 << 40, "512MiB": 512 << 20, "1.5Ki": 1536, "2G": 2e9, "2GB": 2e9, "1 GiB": 1 << 30, "3k": 3000,
	} {
		got, err := definition.Bytes(size)
		require.NoError(t, err, size)
		require.Equal(t, want, got, size)
	}
	for _, size := range []string{"", "4", "-1Gi", "1gi", "Gi", "1e3Gi", "1GiBB", "1Gi ", "0Gi"} {
		_, err := definition.Bytes(size)
		require.Error(t, err, size)
	}
}

func TestKustomizeMergesGroupsUsersAndSchedulesByName(t *testing.T) {
	require.Equal(t, map[string]string{"spec.operations.adopt": "group", "spec.nodes.data": "name", "spec.users": "name", "spec.backups.schedules": "name"}, definition.MergeKeys())
	require.True(t, json.Valid(definition.Schema()))
	openapi.ResetOpenAPI()
	t.Cleanup(openapi.ResetOpenAPI)
	openapi.Schema()
	require.NoError(t, openapi.AddSchema(definition.Schema()))
	s := openapi.SchemaForResourceType(kyaml.TypeMeta{APIVersion: "cloud.crate.io/v1", Kind: "CrateDB"})
	require.NotNil(t, s)
	strategy, key := s.Field("spec").Field("nodes").Field("data").PatchStrategyAndKey()
	require.Equal(t, "merge name", strategy+" "+key)
	// The built-in schema stays.
	require.NotNil(t, openapi.SchemaForResourceType(kyaml.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"}))
}

func FuzzCheckRaw(f *testing.F) {
	f.Add([]byte(valid), byte(0))
	f.Add(read(f, "single.yaml"), byte(1))
	f.Add(read(f, "tiers.yaml"), byte(2))
	f.Add([]byte("- {op: add, path: /spec/nodes/data/-, value: {<<: [{a: b}]}}"), byte(3))
	f.Add([]byte("kind: CrateDB\nspec: &a {<<: *a}\n"), byte(4))
	f.Fuzz(func(t *testing.T, data []byte, flags byte) {
		o := definition.RawOptions{Partial: flags&1 > 0, Ours: flags&2 > 0, Whole: flags&4 > 0, Flat: flags&8 > 0, Line: int(flags), Column: int(flags)}
		lines := strings.Count(string(data), "\n") + 1
		for _, problems := range [][]definition.Problem{definition.CheckRaw("f", data, o), definition.CheckJSONPatch("f", data, o)} {
			for _, p := range problems {
				if p.Message == "" || p.Line < 0 || p.Line > lines+o.Line {
					t.Fatalf("a problem in no place: %#v", p)
				}
			}
		}
	})
}

func BenchmarkCheckRaw(b *testing.B) {
	data := read(b, "tiers.yaml")
	b.ReportAllocs()
	for b.Loop() {
		if problems := definition.CheckRaw("tiers.yaml", data, definition.RawOptions{Whole: true}); len(problems) > 0 {
			b.Fatal(texts(problems))
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	m := object(b, string(read(b, "tiers.yaml")))
	b.ReportAllocs()
	for b.Loop() {
		if _, problems := definition.Decode(m, nil); len(problems) > 0 {
			b.Fatal(texts(problems))
		}
	}
}
