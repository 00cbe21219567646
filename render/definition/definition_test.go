package definition_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"stevedore.dev/stevedore/render/definition"
)

func read(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	require.NoError(t, err)
	return data
}

func object(t testing.TB, text string) map[string]any {
	t.Helper()
	var m map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(text), &m))
	return m
}

func texts(problems []definition.Problem) []string {
	lines := []string{}
	for _, p := range problems {
		lines = append(lines, p.String())
	}
	return lines
}

func TestWhatCrateOperatorTakesIsTaken(t *testing.T) {
	for _, name := range []string{"single.yaml", "tiers.yaml"} {
		t.Run(name, func(t *testing.T) {
			text := read(t, name)
			require.Empty(t, texts(definition.CheckRaw(name, text, definition.RawOptions{Whole: true})))
			_, problems := definition.Decode(object(t, string(text)), nil)
			require.Empty(t, texts(problems))
		})
	}
}

func TestDecodeGivesEveryField(t *testing.T) {
	db, problems := definition.Decode(object(t, string(read(t, "tiers.yaml"))), nil)
	require.Empty(t, texts(problems))
	require.Equal(t, "prod/orders", db.Namespace+"/"+db.Name)
	require.Equal(t, map[string]string{"team": "payments"}, db.Labels)
	require.Equal(t, definition.Cluster{
		Name: "orders", ImageRegistry: "crate", Version: "6.4.3",
		Settings: []definition.Setting{{Name: "indices.breaker.query.limit", Value: "40%"}, {Name: "stats.enabled", Value: "true"}},
		SSL: &definition.SSL{
			Keystore:            definition.SecretKeyRef{Name: "orders-ssl", Key: "keystore"},
			KeystorePassword:    definition.SecretKeyRef{Name: "orders-ssl", Key: "keystore-password"},
			KeystoreKeyPassword: definition.SecretKeyRef{Name: "orders-ssl", Key: "keystore-key-password"},
		},
		AllowedCIDRs:       []string{"192.0.2.0/24", "198.51.100.7/32"},
		ExternalDNS:        "orders.example.com.",
		ServiceAnnotations: map[string]string{"example.com/team": "payments"},
	}, db.Spec.Cluster)
	require.Equal(t, &definition.NodeGroup{Name: "master", Replicas: 3, Resources: definition.Resources{
		RequestCPU: .5, LimitCPU: 1, RequestMemory: "1Gi", LimitMemory: "1Gi", HeapRatio: .5,
		Disk: definition.Disk{Count: 1, Size: "16GiB", StorageClass: "default"},
	}}, db.Spec.Nodes.Master)
	require.Len(t, db.Spec.Nodes.Data, 2)
	require.Equal(t, definition.NodeGroup{Name: "cold", Replicas: 2, Nodepool: "cold",
		Settings: []definition.Setting{{Name: "node.attr.tier", Value: "cold"}},
		Resources: definition.Resources{
			RequestCPU: 2, LimitCPU: 2, RequestMemory: "4Gi", LimitMemory: "4Gi", HeapRatio: .25,
			Disk: definition.Disk{Count: 1, Size: "1TiB", StorageClass: "slow"},
		}}, db.Spec.Nodes.Data[1])
	require.Equal(t, []definition.User{{Name: "app", Password: definition.SecretKeyRef{Name: "orders-app", Key: "password"}}}, db.Spec.Users)
	require.Equal(t, definition.Ports{HTTP: 4200, Postgres: 5432, JMX: 6666, Prometheus: 7071, Exporter: 9399, Transport: 4300}, db.Spec.Ports)
}

// The list of fields that crate-operator has is kept as data: each of them is
// known here, taken or refused by name.
func TestEveryFieldOfCrateOperatorIsKnown(t *testing.T) {
	refused := []string{"spec.grandCentral", "spec.cluster.restoreSnapshot"}
	checked := 0
	for _, line := range strings.Split(string(read(t, "crate-operator-2.63-fields.txt")), "\n") {
		path, _, ok := strings.Cut(line, ": ")
		if !ok || !strings.HasPrefix(path, "spec.") {
			continue
		}
		pointer := "/" + strings.ReplaceAll(strings.ReplaceAll(path, "[]", ".0"), ".", "/")
		patch := "- {op: remove, path: " + pointer + "}"
		problems := texts(definition.CheckJSONPatch("p", []byte(patch), definition.RawOptions{}))
		isRefused := false
		for _, r := range refused {
			isRefused = isRefused || path == r || strings.HasPrefix(path, r+".")
		}
		if isRefused {
			require.Len(t, problems, 1, path)
			require.Contains(t, problems[0], "-not-supported: ", path)
		} else {
			require.Empty(t, problems, path)
		}
		checked++
	}
	require.Greater(t, checked, 100)
}
