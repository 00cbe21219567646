package manifest

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/model"
)

// hasMasters reports whether the cluster is held to having dedicated masters. It may differ from what is
// desired: adding them is refused, and so is removing them.
func hasMasters(wanted []*unstructured.Unstructured, saved model.Saved, sets []model.EffectiveSet) bool {
	return slices.ContainsFunc(sets, func(e model.EffectiveSet) bool {
		if e.Absent {
			return false
		}
		if o := wantedOf(wanted, e.Name); o != nil {
			return withoutData(o)
		}
		set, err := unpack(saved, e.Name)
		return err == nil && withoutData(set)
	})
}

func withoutData(set *unstructured.Unstructured) bool {
	isData, _, _ := unstructured.NestedString(set.Object, "spec", "template", "metadata", "labels", names.NodeDataLabel)
	return isData == "false"
}

// selectFor gives the Service for clients the selector for the masters that there are: it leaves dedicated
// ones out. Other objects stay as they are.
func selectFor(o *unstructured.Unstructured, masters bool) *unstructured.Unstructured {
	if cluster := o.GetLabels()[names.ClusterLabel]; o.GetKind() != "Service" || cluster == "" || o.GetName() != names.Service(cluster) {
		return o
	}
	selector, found, _ := unstructured.NestedMap(o.Object, "spec", "selector")
	if _, has := selector[names.NodeDataLabel]; !found || has == masters {
		return o
	}
	out := o.DeepCopy()
	if masters {
		put(out.Object, "true", "spec", "selector", names.NodeDataLabel)
	} else {
		unstructured.RemoveNestedField(out.Object, "spec", "selector", names.NodeDataLabel)
	}
	return out
}

func ofMasters(budget *unstructured.Unstructured) bool {
	cluster := budget.GetLabels()[names.ClusterLabel]
	return cluster != "" && names.IsMasterBudget(budget.GetName(), cluster)
}
