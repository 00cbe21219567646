package apply

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Ready says whether a live object does what its spec says, and if not why.
// pods are those of the cluster; only workloads look at them.
func Ready(u *unstructured.Unstructured, pods []*corev1.Pod) (ready bool, why string) {
	return false, ""
}
