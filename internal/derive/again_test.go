package derive_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/derive"
	"stevedore.dev/stevedore/render"
)

const plain = `apiVersion: cloud.crate.io/v1
kind: CrateDB
metadata: {name: orders, namespace: shop, labels: {team: shop}}
spec:
  cluster: {name: orders, imageRegistry: registry.example.com/crate, version: 6.4.3CLUSTER}
  nodes:
    data:
    - name: hot
      replicas: 3
      resources:
        limits: {cpu: 2, memory: 4Gi}
        disk: {count: 2, size: 64Gi, storageClass: fastDISK}
        heapRatio: 0.3GROUP
    - name: cold
      replicas: 2
      resources:
        limits: {cpu: 1.5, memory: 3Gi}
        requests: {cpu: 0.25, memory: 1Gi}
        disk: {count: 1, size: 1Ti, storageClass: slowDISK}
        heapRatio: 0.25MORE
`

// What stevedore renders itself is a cluster like any other: imported, it is the same definition.
func TestWhatStevedoreRendersIsImportedAsItIs(t *testing.T) {
	exporters := render.Config{SQLExporterImage: "exporter:1", JMXExporterURL: "https://example.com/jmx.jar", JMXExporterSHA256: "00", CloudProvider: render.CloudAWS}
	for _, c := range []struct {
		name                       string
		cluster, disk, group, more string
		config                     render.Config
	}{
		{name: "plain"},
		{name: "the base of crate-operator's clusters", more: "\n  operations: {base: v1, debugVolume: {size: 128Gi, storageClass: other}}"},
		{name: "with exporters, on AWS", config: exporters},
		{name: "on Azure", config: render.Config{CloudProvider: render.CloudAzure}},
		{name: "shared nodes", group: "\n      nodepool: shared\n      labels: {tier: hot}\n      annotations: {example.com/a: b}"},
		{name: "settings", cluster: ", settings: {indices.breaker.query.limit: 40%, http.cors.enabled: true}", group: "\n      settings: {node.attr.tier: hot, thread_pool.search.size: 4}"},
		{name: "TLS", cluster: ", ssl: {keystore: {secretKeyRef: {name: s, key: k}}, keystorePassword: {secretKeyRef: {name: s, key: p}}, keystoreKeyPassword: {secretKeyRef: {name: s, key: q}}}"},
		{name: "other ports", more: "\n  ports: {http: 4201, postgres: 5433, transport: 4301, jmx: 6667, prometheus: 7072}"},
		{name: "a load balancer for some", cluster: ", allowedCIDRs: [192.0.2.0/24], externalDNS: o.example.com., service: {annotations: {a.example.com/b: c}}"},
		{name: "Kubernetes nodes that have the settings of the kernel", more: "\n  operations: {sysctl: host}"},
		{name: "a VolumeAttributesClass", disk: ", volumeAttributesClass: gold"},
		{name: "dedicated masters", more: "\n    master: {replicas: 3, resources: {limits: {cpu: 1, memory: 1Gi}, disk: {count: 1, size: 16Gi, storageClass: fast}, heapRatio: 0.5}}"},
		{name: "an old version", cluster: ", settings: {auth.host_based.config.1.method: password}"},
		{name: "patches", more: "\n  patches:\n  - target: {kind: StatefulSet}\n    patch: |\n      - {op: add, path: /spec/template/spec/priorityClassName, value: database}\n  - patch: |\n      apiVersion: v1\n      kind: Service\n      metadata: {name: crate-orders}\n      spec: {type: ClusterIP, externalTrafficPolicy: null}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.NewReplacer("CLUSTER", c.cluster, "DISK", c.disk, "GROUP", c.group, "MORE", c.more).Replace(plain)
			build := render.BuildTree(t.Context(), fstest.MapFS{"a.yaml": {Data: []byte(text)}}, c.config)
			require.Empty(t, build.Problems)
			require.Len(t, build.Clusters, 1)
			live, problems := render.Render(build.Clusters[0], c.config, render.Pins{})
			require.Empty(t, problems)
			r, err := derive.From(t.Context(), derive.Input{Namespace: "shop", Cluster: "orders", Live: live.Objects, Config: c.config})
			require.NoError(t, err)
			assert.Empty(t, r.Differences)
			assert.Equal(t, len(live.Objects), len(r.Rendered))
		})
	}
}
