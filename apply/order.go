package apply

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/apply/compare"
)

// ranks order kinds so that what an object refers to is there before it:
// definitions and namespaces, accounts and their rights, secrets and
// configuration, services, storage, workloads, budgets. Kinds that are not here
// come after configuration, where most custom resources belong.
var ranks = func() map[string]int {
	result := map[string]int{}
	for rank, kinds := range [][]string{
		{"CustomResourceDefinition", "Namespace", "PriorityClass", "StorageClass"},
		{"ResourceQuota", "LimitRange"},
		{"ServiceAccount"},
		{"Role", "ClusterRole"},
		{"RoleBinding", "ClusterRoleBinding"},
		{"Secret"},
		{"ConfigMap"},
		{}, // the others
		{"NetworkPolicy"},
		{"Service"},
		{"PersistentVolume", "PersistentVolumeClaim"},
		{"StatefulSet", "Deployment", "DaemonSet", "Job", "CronJob"},
		{"PodDisruptionBudget", "HorizontalPodAutoscaler", "Ingress"},
	} {
		for _, kind := range kinds {
			result[kind] = rank
		}
	}
	return result
}()

const otherRank = 7

func rank(kind string) int {
	if rank, ok := ranks[kind]; ok {
		return rank
	}
	return otherRank
}

// inOrder returns the objects in the order of their writes; within a kind the
// given order stays.
func inOrder(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	result := slices.Clone(objects)
	slices.SortStableFunc(result, func(a, b *unstructured.Unstructured) int {
		return rank(a.GetKind()) - rank(b.GetKind())
	})
	return result
}

// holdsData says whether objects of a kind may hold the user's data, or hold
// what does.
func holdsData(key compare.Key) bool {
	switch key.Kind {
	case "StatefulSet", "PersistentVolumeClaim", "PersistentVolume", "Namespace", "Secret":
		return true
	}
	return false
}
