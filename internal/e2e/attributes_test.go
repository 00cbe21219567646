package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stevedore.dev/stevedore/internal/testbed"
	"stevedore.dev/stevedore/ops/plan"
)

const attributesOfHot = "spec.nodes.data.0.resources.disk.volumeAttributesClass"

// A pushed VolumeAttributesClass reaches the volumes and the StatefulSet without a restart. One that
// its driver cannot give is told, and taken back by a push.
func TestAPushChangesTheAttributesOfVolumesInPlace(t *testing.T) {
	t.Parallel()
	v := depart(t, "attributes", grow)
	class := func(name string) {
		edits := []edit{with(replicasOfHot, 3)}
		if name != "" {
			edits = append(edits, with(attributesOfHot, name))
		}
		v.write(map[string]string{"orders.yaml": definition(v.ns, cutCluster, edits...)})
	}
	daemon := v.sail("", "")
	v.eventually("there are three nodes", restartPatience, func() bool { return len(v.clusterPods(cutCluster)) == 3 && v.isSettled(cutCluster) })
	before, pods := v.set(hotSet), podsOf(v)

	// None where there was none is what Kubernetes takes back.
	class("unfit")
	v.failsToModify("no VolumeAttributesClass")
	assert.Equal(t, before.UID, v.set(hotSet).UID, "the StatefulSet stays")
	class("")
	v.eventually("it is taken back", restartPatience, func() bool { return v.modified("", "") && v.isSettled(cutCluster) })

	branch := t.TempDir() // the daemon that runs does not see it
	v.aside(v.ns, branch).write(map[string]string{"orders.yaml": definition(v.ns, cutCluster, with(replicasOfHot, 3), with(attributesOfHot, "gold"))})
	planned := v.plans(2, branch)
	require.Len(t, planned, 1)
	assert.True(t, slices.ContainsFunc(planned[0].Operations, func(op plan.Operation) bool {
		return strings.Contains(op.Summary, "change volumes in place, no restart: data0 of "+hotSet+" to the VolumeAttributesClass gold (3 claims)")
	}), "%+v", planned[0].Operations)
	class("gold")
	v.eventually("the volumes have the class", restartPatience, func() bool { return v.modified("gold", "gold") && v.isSettled(cutCluster) })
	after := v.set(hotSet)
	assert.NotEqual(t, before.UID, after.UID, "the StatefulSet was recreated")
	assert.Equal(t, before.Status.UpdateRevision, after.Status.UpdateRevision, "no revision changed")
	assert.True(t, slices.ContainsFunc(v.receiver.Taken(), func(d testbed.Delivery) bool {
		return d.Status == "success" && strings.Contains(string(d.Body), "data0 of "+hotSet+" has the VolumeAttributesClass gold")
	}), "it was reported")

	class("unfit")
	v.failsToModify("the VolumeAttributesClass gold")
	class("gold")
	v.eventually("it is taken back", restartPatience, func() bool { return v.modified("gold", "gold") && v.isSettled(cutCluster) })
	assert.Equal(t, after.UID, v.set(hotSet).UID, "the StatefulSet stays")

	class("")
	v.refusedFor(cutCluster, "volume-attributes-class-stays")
	class("absent")
	v.refusedWith(cutCluster, "volume-attributes-class-unusable", "the VolumeAttributesClass absent does not exist")
	class("foreign")
	v.until("another driver's is refused", func() bool {
		return strings.Contains(v.refusal(cutCluster, "volume-attributes-class-unusable"), "is of the driver other.example.com")
	})
	class("silver")
	v.eventually("the volumes have another class", restartPatience, func() bool { return v.modified("silver", "silver") && v.isSettled(cutCluster) })
	assert.Equal(t, pods, podsOf(v), "no pod was recreated or got another revision")
	v.noPodRestarted()
	v.stop(daemon)
}

// failsToModify waits until the status says what the driver of the first claim says.
func (v *voyage) failsToModify(stays string) {
	v.Helper()
	v.eventually("the status says that it cannot be done", restartPatience, func() bool {
		return slices.ContainsFunc(v.record(cutCluster).Shown.Reasons, func(r shownReason) bool {
			return r.Name == "volume-modify-failed" && strings.Contains(r.Message, "data0-"+hotSet+"-0 stays at "+stays) &&
				strings.Contains(r.Message, "the volume is too small for so many IOPS")
		})
	})
}

// modified reports whether the claims of data and the StatefulSet have a VolumeAttributesClass.
func (v *voyage) modified(asked, current string) bool {
	name := func(class *string) string {
		if class == nil {
			return ""
		}
		return *class
	}
	set, err := bed.Admin.AppsV1().StatefulSets(v.ns).Get(v.ctx, hotSet, metav1.GetOptions{})
	if err != nil {
		return false // it is being made again
	}
	for _, template := range set.Spec.VolumeClaimTemplates {
		if strings.HasPrefix(template.Name, "data") && name(template.Spec.VolumeAttributesClassName) != asked {
			return false
		}
	}
	claims, err := bed.Admin.CoreV1().PersistentVolumeClaims(v.ns).List(v.ctx, metav1.ListOptions{})
	if err != nil {
		return false
	}
	others := slices.ContainsFunc(claims.Items, func(c corev1.PersistentVolumeClaim) bool {
		return strings.HasPrefix(c.Name, "data") && (name(c.Spec.VolumeAttributesClassName) != asked || name(c.Status.CurrentVolumeAttributesClassName) != current)
	})
	return !others
}
