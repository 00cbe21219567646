package apply

import (
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strings"
	"unique"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"stevedore.dev/stevedore/internal/names"
)

// object is a live object as it is looked at: all but managedFields
// (half of its size), of which our own entry alone stays, as compact bytes.
type object struct {
	*unstructured.Unstructured
	ownedFields
	// unowned are entries that admission added, by path.
	unowned []string
}

// ownedFields are what our apply owns of an object; the zero value: nothing.
type ownedFields struct {
	// fields is our entry's FieldsV1: the clusters of a fleet share it, since hardly any
	// of their fields is named as the cluster is.
	fields    unique.Handle[string]
	ownedHash [sha256.Size]byte
}

func ownedOf(fields []byte) ownedFields {
	return ownedFields{unique.Make(string(fields)), sha256.Sum256(fields)}
}

func (o ownedFields) nothing() bool { return o.fields == unique.Handle[string]{} }

// ownedSet parses what our apply owns; nil where it owns nothing.
func (o ownedFields) ownedSet() *fieldpath.Set {
	if o.nothing() {
		return nil
	}
	set := &fieldpath.Set{}
	if err := set.FromJSON(strings.NewReader(o.fields.Value())); err != nil {
		return nil
	}
	return set
}

// lastAppliedAnnotation holds kubectl's copy of the whole object, of Secrets
// too: nothing here reads it.
const lastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration"

// newObject strips u, which it takes over.
func newObject(u *unstructured.Unstructured) *object {
	result := &object{Unstructured: u}
	metadata, _ := u.Object["metadata"].(map[string]any)
	if metadata == nil {
		return result
	}
	if entries, ok := metadata["managedFields"].([]any); ok {
		for _, item := range entries {
			entry, ok := item.(map[string]any)
			if !ok || entry["manager"] != names.FieldManager ||
				entry["operation"] != string(metav1.ManagedFieldsOperationApply) {
				continue
			}
			if subresource, _ := entry["subresource"].(string); subresource != "" {
				continue
			}
			if raw, err := json.Marshal(entry["fieldsV1"]); err == nil {
				result.ownedFields = ownedOf(raw)
			}
		}
		result.unowned = unowned(u.Object, entries)
		delete(metadata, "managedFields")
	}
	if annotations, ok := metadata["annotations"].(map[string]any); ok {
		delete(annotations, lastAppliedAnnotation)
	}
	return result
}

// transform is what a watch keeps of what it receives. It is idempotent:
// on the first list a reflector calls it twice.
func transform(item any) (any, error) {
	u, ok := item.(*unstructured.Unstructured)
	if !ok {
		return item, nil
	}
	return pack(newObject(u)), nil
}

// transformOnce keeps it as it is, for who looks once.
func transformOnce(item any) (any, error) {
	u, ok := item.(*unstructured.Unstructured)
	if !ok {
		return item, nil
	}
	return whole(newObject(u)), nil
}

// transformPod keeps of a pod what readiness and operations look at.
func transformPod(item any) (any, error) {
	pod, ok := item.(*corev1.Pod)
	if !ok {
		return item, nil
	}
	pod.TypeMeta = metav1.TypeMeta{}
	pod.ManagedFields = nil
	delete(pod.Annotations, lastAppliedAnnotation)
	pod.Spec = corev1.PodSpec{
		NodeName:       pod.Spec.NodeName,
		InitContainers: stripContainers(pod.Spec.InitContainers),
		Containers:     stripContainers(pod.Spec.Containers),
		Tolerations:    ofUnreachable(pod.Spec.Tolerations),
		Affinity:       antiAffinity(pod.Spec.Affinity),
		Volumes:        ofClaims(pod.Spec.Volumes),
	}
	return packPod(pod)
}

// ofClaims are the volumes that a pod has of claims.
func ofClaims(all []corev1.Volume) []corev1.Volume {
	var kept []corev1.Volume
	for _, v := range all {
		if c := v.PersistentVolumeClaim; c != nil {
			kept = append(kept, corev1.Volume{Name: v.Name, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: c.ClaimName}}})
		}
	}
	return kept
}

// antiAffinity is what keeps other pods off the node of this one.
func antiAffinity(all *corev1.Affinity) *corev1.Affinity {
	if all == nil || all.PodAntiAffinity == nil || len(all.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution) == 0 {
		return nil
	}
	return &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: all.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution,
	}}
}

// ofUnreachable are the tolerations that say how long a pod stays where its machine does not
// report.
func ofUnreachable(all []corev1.Toleration) []corev1.Toleration {
	return slices.DeleteFunc(slices.Clone(all), func(t corev1.Toleration) bool {
		return t.Key != "" && t.Key != corev1.TaintNodeUnreachable
	})
}

// ofDisks are the mounts of disks, data0 and so on, by their names alone.
func ofDisks(all []corev1.VolumeMount) []corev1.VolumeMount {
	var kept []corev1.VolumeMount
	for _, m := range all {
		if strings.HasPrefix(m.Name, "data") {
			kept = append(kept, corev1.VolumeMount{Name: m.Name})
		}
	}
	return kept
}

func stripContainers(containers []corev1.Container) []corev1.Container {
	result := make([]corev1.Container, 0, len(containers))
	for _, c := range containers {
		result = append(result, corev1.Container{
			Name: c.Name, Image: c.Image, Command: c.Command, Args: c.Args,
			Ports: c.Ports, Resources: c.Resources, VolumeMounts: ofDisks(c.VolumeMounts),
		})
	}
	return result
}
