package render

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/render/base"
	"stevedore.dev/stevedore/render/definition"
)

// A namespace that allows no privileged container takes such a cluster.
func TestWhereTheHostHasTheSettingsNoContainerIsPrivileged(t *testing.T) {
	host := changed(tiers(), func(d *definition.CrateDB) { d.Spec.Operations.Sysctl = definition.SysctlHost })
	for name, cfg := range map[string]Config{
		"plain": {}, "on a cloud, with exporters": {CloudProvider: CloudAWS, SQLExporterImage: "exporter:1", JMXExporterURL: "https://example.com/x.jar", JMXExporterSHA256: "00"},
	} {
		t.Run(name, func(t *testing.T) {
			with, without := mustRender(t, tiers(), cfg, Pins{}), mustRender(t, host, cfg, Pins{})
			assert.NotEqual(t, with.Revision, without.Revision)
			before := ofKind(with, "StatefulSet")
			for i, set := range ofKind(without, "StatefulSet") {
				old, _, err := unstructured.NestedSlice(before[i].Object, "spec", "template", "spec", "initContainers")
				require.NoError(t, err)
				assert.Equal(t, "init-sysctl", old[0].(map[string]any)["name"])
				now, _, err := unstructured.NestedSlice(set.Object, "spec", "template", "spec", "initContainers")
				require.NoError(t, err)
				assert.Equal(t, old[1:], now, "the others stay")
			}
		})
	}
}

func TestTheFirstBaseKeepsItsPrivilegedContainer(t *testing.T) {
	host := changed(tiers(), func(d *definition.CrateDB) { d.Spec.Operations.Sysctl = definition.SysctlHost })
	_, problems := Render(host, Config{}, Pins{Base: base.V1})
	require.Len(t, problems, 1)
	assert.Contains(t, problems[0].Message, "base v1")
	assert.Equal(t, "spec.operations.sysctl", problems[0].Path)
}
