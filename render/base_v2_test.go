package render

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"stevedore.dev/stevedore/render/base"
	"stevedore.dev/stevedore/render/definition"
)

// podSpecs of the StatefulSets, by name.
func podSpecs(t *testing.T, r *Rendered) map[string]corev1.PodSpec {
	t.Helper()
	specs := map[string]corev1.PodSpec{}
	for _, object := range ofKind(r, "StatefulSet") {
		text, err := json.Marshal(object.Object["spec"].(map[string]any)["template"].(map[string]any)["spec"])
		require.NoError(t, err)
		var spec corev1.PodSpec
		require.NoError(t, json.Unmarshal(text, &spec))
		specs[object.GetName()] = spec
	}
	require.NotEmpty(t, specs)
	return specs
}

// guaranteed is Kubernetes' own rule: each container, init containers too, has limits of CPU
// and memory, and asks for as much.
func guaranteed(spec corev1.PodSpec) bool {
	for _, container := range slices.Concat(spec.InitContainers, spec.Containers) {
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			limit, request := container.Resources.Limits[name], container.Resources.Requests[name]
			if limit.IsZero() || limit.Cmp(request) != 0 {
				return false
			}
		}
	}
	return true
}

func TestPodsOfTheNewestBaseHaveNoTokenAndAreGuaranteedWhereTheDefinitionAsksForIt(t *testing.T) {
	asks := func(request string) Cluster {
		return changed(tiers(), func(d *definition.CrateDB) {
			groups := []*definition.Resources{&d.Spec.Nodes.Master.Resources}
			for i := range d.Spec.Nodes.Data {
				groups = append(groups, &d.Spec.Nodes.Data[i].Resources)
			}
			for _, r := range groups {
				r.LimitCPU, r.RequestCPU, r.LimitMemory, r.RequestMemory = 2, 2, "4Gi", request
			}
		})
	}
	for name, c := range map[string]struct {
		cluster Cluster
		cfg     Config
		pins    Pins
		want    bool // Guaranteed
	}{
		"requests are limits":                     {asks("4Gi"), Config{}, Pins{}, true},
		"with a JMX exporter":                     {asks("4Gi"), Config{JMXExporterURL: "https://example.org/a.jar", JMXExporterSHA256: "00"}, Pins{}, true},
		"requests are less":                       {asks("2Gi"), Config{}, Pins{}, false},
		"a cluster of the first base is the same": {asks("4Gi"), Config{}, Pins{Base: base.V1}, false},
	} {
		t.Run(name, func(t *testing.T) {
			for name, spec := range podSpecs(t, mustRender(t, c.cluster, c.cfg, c.pins)) {
				assert.Equal(t, c.want, guaranteed(spec), name)
				crate := spec.Containers[0]
				if c.pins.Base == base.V1 {
					assert.Nil(t, spec.AutomountServiceAccountToken)
					assert.Empty(t, crate.TerminationMessagePolicy)
					continue
				}
				require.NotNil(t, spec.AutomountServiceAccountToken)
				assert.False(t, *spec.AutomountServiceAccountToken)
				assert.Equal(t, corev1.TerminationMessageFallbackToLogsOnError, crate.TerminationMessagePolicy)
				for _, container := range spec.InitContainers {
					memory := container.Resources.Limits[corev1.ResourceMemory]
					assert.Negative(t, memory.Cmp(resource.MustParse("256Mi")), "it is no more than CrateDB's, which it runs before")
				}
			}
		})
	}
}

// A released base is what clusters run on: not a byte of it changes.
func TestTheFirstBaseIsAsItWasReleased(t *testing.T) {
	hash := sha256.New()
	require.NoError(t, fs.WalkDir(os.DirFS("base"), "v1", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join("base", path))
		hash.Write(slices.Concat([]byte(path), []byte{0}, text, []byte{0}))
		return err
	}))
	assert.Equal(t, "602b81ebf2902a25b7b650f2ada673fbdd5d487678692b2aa695c382963bf5d6", hex.EncodeToString(hash.Sum(nil)))
}
