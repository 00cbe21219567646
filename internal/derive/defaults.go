package derive

import (
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/apply/compare"
)

// bare is a copy of an object without what the API server writes: status, what it owns of metadata,
// and the values that it fills in where nobody wrote any (the SetDefaults functions of Kubernetes'
// own API groups). So an object that was applied and one that is to be applied can be compared field
// by field, in both directions. A value that was written, and is the default, is gone too.
func bare(o *unstructured.Unstructured) *unstructured.Unstructured {
	b := compare.Normalize(o)
	withMaps(b.Object, "metadata")
	switch b.GetKind() {
	case kindStatefulSet:
		bareStatefulSet(b.Object)
	case kindService:
		bareService(b.Object)
	case kindClaim:
		dropDefault(mapAt(b.Object, "spec"), "volumeMode", "Filesystem")
	}
	return b
}

// withMaps makes labels and annotations empty where there are none, so that each key is a difference
// of its own.
func withMaps(o map[string]any, path ...string) {
	metadata := mapAt(o, path...)
	for _, field := range []string{"labels", "annotations"} {
		if metadata != nil && metadata[field] == nil {
			metadata[field] = map[string]any{}
		}
	}
}

func bareStatefulSet(o map[string]any) {
	withMaps(o, "spec", "template", "metadata")
	spec := mapAt(o, "spec")
	dropDefault(spec, "minReadySeconds", int64(0))
	dropDefault(spec, "revisionHistoryLimit", int64(10))
	dropDefault(spec, "podManagementPolicy", "OrderedReady")
	if retention := mapAt(spec, "persistentVolumeClaimRetentionPolicy"); retention != nil {
		dropDefault(retention, "whenDeleted", "Retain")
		dropDefault(retention, "whenScaled", "Retain")
		dropEmpty(spec, "persistentVolumeClaimRetentionPolicy")
	}
	if update := mapAt(spec, "updateStrategy"); update != nil {
		dropDefault(mapAt(update, "rollingUpdate"), "partition", int64(0))
		dropEmpty(update, "rollingUpdate")
		dropDefault(update, "type", "RollingUpdate")
		dropEmpty(spec, "updateStrategy")
	}
	for _, template := range mapsAt(spec, "volumeClaimTemplates") {
		for _, field := range []string{"apiVersion", "kind", "status"} {
			delete(template, field)
		}
		delete(mapAt(template, "metadata"), "creationTimestamp")
		dropDefault(mapAt(template, "spec"), "volumeMode", "Filesystem")
	}
	delete(mapAt(spec, "template", "metadata"), "creationTimestamp")
	barePod(mapAt(spec, "template", "spec"))
}

func barePod(pod map[string]any) {
	dropDefault(pod, "dnsPolicy", "ClusterFirst")
	dropDefault(pod, "restartPolicy", "Always")
	dropDefault(pod, "schedulerName", "default-scheduler")
	dropDefault(pod, "terminationGracePeriodSeconds", int64(30))
	dropDefault(pod, "enableServiceLinks", true)
	// The old spelling of serviceAccountName, which the API server writes too.
	delete(pod, "serviceAccount")
	for _, field := range []string{"containers", "initContainers"} {
		for _, container := range mapsAt(pod, field) {
			bareContainer(container)
		}
	}
	for _, volume := range mapsAt(pod, "volumes") {
		for _, source := range []string{"configMap", "secret", "projected"} {
			dropDefault(mapAt(volume, source), "defaultMode", int64(420))
		}
		dropDefault(mapAt(volume, "hostPath"), "type", "")
	}
}

func bareContainer(c map[string]any) {
	dropDefault(c, "terminationMessagePath", corev1.TerminationMessagePathDefault)
	dropDefault(c, "terminationMessagePolicy", string(corev1.TerminationMessageReadFile))
	image, _ := c["image"].(string)
	pull := string(corev1.PullIfNotPresent)
	if name := image[strings.LastIndexByte(image, '/')+1:]; !strings.ContainsAny(name, ":@") || strings.HasSuffix(name, ":latest") {
		pull = string(corev1.PullAlways)
	}
	dropDefault(c, "imagePullPolicy", pull)
	dropEmpty(c, "resources")
	dropEmpty(c, "securityContext")
	for _, port := range mapsAt(c, "ports") {
		dropDefault(port, "protocol", "TCP")
	}
	for _, env := range mapsAt(c, "env") {
		dropDefault(mapAt(env, "valueFrom", "fieldRef"), "apiVersion", "v1")
	}
	for _, probe := range []string{"readinessProbe", "livenessProbe", "startupProbe"} {
		p := mapAt(c, probe)
		dropDefault(p, "timeoutSeconds", int64(1))
		dropDefault(p, "periodSeconds", int64(10))
		dropDefault(p, "successThreshold", int64(1))
		dropDefault(p, "failureThreshold", int64(3))
		dropDefault(mapAt(p, "httpGet"), "scheme", "HTTP")
	}
}

func bareService(o map[string]any) {
	spec := mapAt(o, "spec")
	if spec["clusterIP"] != corev1.ClusterIPNone {
		delete(spec, "clusterIP")
	}
	for _, allocated := range []string{"clusterIPs", "ipFamilies", "healthCheckNodePort"} {
		delete(spec, allocated)
	}
	dropDefault(spec, "ipFamilyPolicy", "SingleStack")
	dropDefault(spec, "internalTrafficPolicy", "Cluster")
	dropDefault(spec, "externalTrafficPolicy", "Cluster")
	dropDefault(spec, "sessionAffinity", "None")
	dropDefault(spec, "type", "ClusterIP")
	dropDefault(spec, "allocateLoadBalancerNodePorts", true)
	if spec["allocateLoadBalancerNodePorts"] == false {
		// apply/compare takes false for absent, and this one is true where it is absent.
		spec["allocateLoadBalancerNodePorts"] = "false"
	}
	for _, port := range mapsAt(spec, "ports") {
		delete(port, "nodePort")
		dropDefault(port, "protocol", "TCP")
		if reflect.DeepEqual(port["targetPort"], port["port"]) {
			delete(port, "targetPort")
		}
	}
}

// mapAt is the map at a path, to be changed in place; nil where there is none. Deleting from nil
// does nothing.
func mapAt(o map[string]any, path ...string) map[string]any {
	for _, name := range path {
		o, _ = o[name].(map[string]any)
	}
	return o
}

// mapsAt are the maps of a list.
func mapsAt(o map[string]any, field string) []map[string]any {
	list, _ := o[field].([]any)
	var out []map[string]any
	for _, item := range list {
		if m, ok := item.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

func dropDefault(o map[string]any, field string, value any) {
	if reflect.DeepEqual(o[field], value) {
		delete(o, field)
	}
}

func dropEmpty(o map[string]any, field string) {
	if m, ok := o[field].(map[string]any); ok && len(m) == 0 {
		delete(o, field)
	}
}

// pruned is a copy without empty maps and lists, which the API server keeps where somebody wrote
// them and which say nothing: affinity.nodeAffinity is {} in each StatefulSet of crate-operator's.
func pruned(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, value := range v {
			if value = pruned(value); value != nil {
				out[key] = value
			}
		}
		if len(out) == 0 {
			return nil
		}
		return out
	case []any:
		var out []any
		for _, value := range v {
			out = append(out, pruned(value))
		}
		if len(out) == 0 {
			return nil
		}
		return out
	}
	return v
}
