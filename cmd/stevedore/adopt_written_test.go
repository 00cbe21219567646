package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// handwrittenOrders is a definition of the StatefulSet of CrateDB's guide.
const handwrittenOrders = `apiVersion: cloud.crate.io/v1
kind: CrateDB
metadata: {name: orders, namespace: shop}
spec:
  cluster: {name: my-crate, imageRegistry: crate, version: 6.4.3}
  nodes:
    data:
    - name: hot
      replicas: 3
      resources:
        limits: {cpu: 2, memory: 512Mi}
        disk: {count: 1, size: 16GiB, storageClass: default}
        heapRatio: 0.5
  operations:
    adopt:
    - {group: hot, statefulSet: crate, serviceName: crate-set, selector: {app: crate}, claim: cratedb-data, mountPath: /data, dataPath: /data, nodePrefix: crate}
`

// A dry run of a StatefulSet that somebody wrote says, too, what comes afterwards: by the adoption alone no
// pod restarts, and what the adoption itself writes is among its steps.
func TestAnAdoptionsPlanOfAHandwrittenSetSaysWhatDiffersAfterwards(t *testing.T) {
	api := adoptable(t)
	for path := range api.objects {
		if strings.Contains(path, "/namespaces/shop/") {
			delete(api.objects, path)
		}
	}
	for _, o := range objectsIn(t, "../../internal/e2e/testdata/written/crate.yaml") {
		o.SetNamespace("shop")
		api.putRecorded(o)
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "orders.yaml"), []byte(handwrittenOrders), 0o600))
	end := stevedore(t, "adopt", "shop/orders", "--dry-run", "--trusted", "--definition", dir)
	assert.Empty(t, end.err)
	for _, want := range []string{
		"StatefulSet crate: set its update strategy to OnDelete, and nothing else",
		"Differs from what is live, and comes at the next restart of the pods:\n",
		"StatefulSet crate spec.template.spec.containers[crate].args",
		"Differs from what is live, and comes in place:\n",
		"Service crate-discovery-orders and 1 more is new",
		"CrateDB cannot be read as its superuser crate (no pod is there that could be asked)",
		"\nafterwards, with " + dir + ": no pod restarts now; ",
		"differences come at the next restart, which somebody asks for (stevedore restart shop/orders)\n",
	} {
		assert.Contains(t, end.out, want)
	}
	for _, never := range []string{"cannot be changed", "podManagementPolicy:", "updateStrategy"} {
		_, after, _ := strings.Cut(end.out, "\n\n")
		assert.NotContains(t, after, never, "the adoption itself writes it")
	}
}
