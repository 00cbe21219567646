package render

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/render/definition"
)

// A group whose StatefulSet somebody else has made keeps its names and its data's place, in each
// configuration; another group has stevedore's.
func TestAGroupKeepsTheNamesThatSomebodyGaveIt(t *testing.T) {
	for name, cfg := range map[string]Config{
		"plain":     {},
		"exporters": {CloudProvider: CloudAWS, SQLExporterImage: "exporter:1", JMXExporterURL: "https://example.com/x.jar", JMXExporterSHA256: "00"},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := changed(tiers(), func(d *definition.CrateDB) {
				d.Spec.Nodes.Master = nil
				d.Spec.Nodes.Data[0].Resources.Disk.Count = 1
				d.Spec.Operations.Adopt = []definition.Names{{
					Group: d.Spec.Nodes.Data[0].Name, StatefulSet: "crate", ServiceName: "crate-set", Selector: map[string]string{"app": "crate"},
					Claim: "cratedb-data", MountPath: "/data", DataPath: "/data/nodes", NodePrefix: "node",
				}}
			})
			m, problems := newModel(cluster, cfg, Pins{})
			require.Empty(t, problems)
			objects, err := m.ownObjects()
			require.NoError(t, err)
			sets := map[string]*appsv1.StatefulSet{}
			for _, o := range objects {
				if o.GetKind() == "StatefulSet" {
					set := &appsv1.StatefulSet{}
					require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, set))
					sets[set.Name] = set
				}
			}
			set := sets["crate"]
			require.NotNil(t, set)
			assert.Equal(t, "crate-set", set.Spec.ServiceName)
			assert.Equal(t, map[string]string{"app": "crate"}, set.Spec.Selector.MatchLabels)
			assert.Equal(t, appsv1.ParallelPodManagement, set.Spec.PodManagementPolicy)
			assert.Equal(t, appsv1.OnDeleteStatefulSetStrategyType, set.Spec.UpdateStrategy.Type)
			assert.Equal(t, "crate", set.Spec.Template.Labels["app"], "the selector matches its pods")
			assert.Equal(t, cluster.Definition.Name, set.Spec.Template.Labels[names.NameLabel])
			require.Len(t, set.Spec.VolumeClaimTemplates, 1, "a pod that runs has no other volume")
			assert.Equal(t, "cratedb-data", set.Spec.VolumeClaimTemplates[0].Name)
			assert.Equal(t, cluster.Definition.Name, set.Spec.VolumeClaimTemplates[0].Labels[names.NameLabel], "a claim that comes later is known as the cluster's")
			assert.NotEmpty(t, set.Annotations[names.NamesAnnotation])
			for _, c := range append(set.Spec.Template.Spec.InitContainers, set.Spec.Template.Spec.Containers...) {
				for _, mount := range c.VolumeMounts {
					assert.NotEqual(t, "debug", mount.Name, c.Name)
				}
			}
			crate := set.Spec.Template.Spec.Containers[0]
			var mounts []string
			for _, mount := range crate.VolumeMounts {
				mounts = append(mounts, mount.Name+" "+mount.MountPath)
			}
			assert.Contains(t, mounts, "cratedb-data /data")
			assert.Contains(t, crate.Command, "-Cpath.data=/data/nodes")
			assert.Contains(t, crate.Command, "-Cnode.name=node-$(hostname | awk -F- '{print $NF}')")
			for _, a := range crate.Command {
				assert.NotContains(t, a, "blobs.path", "blobs stay where the image has them")
			}
			assert.NotContains(t, crate.Env[1].Value, "/resource", "there is no volume for heap dumps")
			for other, s := range sets {
				if other != "crate" {
					assert.Equal(t, "cratedb", s.Spec.ServiceName)
					assert.Empty(t, s.Annotations[names.NamesAnnotation])
				}
				assert.Contains(t, s.Spec.Template.Spec.Containers[0].Command, "-Ccluster.initial_master_nodes=node-0,node-1,node-2")
			}
			assert.Len(t, sets, len(cluster.Definition.Spec.Nodes.Data))
		})
	}
}
