package apply

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/apply/compare"
	"stevedore.dev/stevedore/internal/names"
)

// Adoption says which objects that exist and that we did not make may become the
// cluster's. The label stevedore.dev/cluster with the cluster's name, put on by a
// person, allows it whatever this says.
type Adoption string

const (
	// AdoptNever takes none.
	AdoptNever Adoption = "never"
	// AdoptUnowned takes those that nobody else looks after (OwnerOf), and never
	// what holds data.
	AdoptUnowned Adoption = "if-unowned"
	// AdoptAlways takes those of others too, except another cluster's and
	// StatefulSets: their pods would be ended by a template that is not theirs.
	AdoptAlways Adoption = "always"
)

// trackers are the labels and annotations by which others know what is theirs,
// in the order in which they are looked for.
var trackers = []struct {
	key, who string
}{
	{"meta.helm.sh/release-name", "the Helm release"},
	{"argocd.argoproj.io/instance", "the Argo CD application"},
	{"argocd.argoproj.io/tracking-id", "the Argo CD application"},
	{"kustomize.toolkit.fluxcd.io/name", "the Flux Kustomization"},
	{"helm.toolkit.fluxcd.io/name", "the Flux HelmRelease"},
	{"kapp.k14s.io/app", "the kapp application"},
	{"config.k8s.io/owning-inventory", "the inventory of kpt"},
}

// OwnerOf says in words who looks after a live object, another cluster of ours
// included; "" where nobody says so and where it is of this cluster.
func OwnerOf(live *unstructured.Unstructured, cluster string) string {
	labels, annotations := live.GetLabels(), live.GetAnnotations()
	if label := labels[names.ClusterLabel]; label != "" {
		if label == cluster {
			return ""
		}
		return "the cluster " + label
	}
	if all := live.GetOwnerReferences(); len(all) > 0 {
		return OwnedBy(all[0])
	}
	for _, tracker := range trackers {
		for _, values := range []map[string]string{annotations, labels} {
			if value := values[tracker.key]; value != "" {
				if tracker.key == "argocd.argoproj.io/tracking-id" {
					value, _, _ = strings.Cut(value, ":")
				}
				return tracker.who + " " + value
			}
		}
	}
	if id := labels[compare.PartOfLabel]; id != "" && id != ApplySetID(live.GetNamespace(), cluster) {
		return "the ApplySet " + id
	}
	if by := labels[names.ManagedByLabel]; by != "" && by != names.FieldManager {
		return by + " (" + names.ManagedByLabel + ")"
	}
	return ""
}

// OwnedBy says in words whose an object is that has this owner.
func OwnedBy(reference metav1.OwnerReference) string {
	if group, _, _ := strings.Cut(reference.APIVersion, "/"); group == names.OperatorGroup {
		return "crate-operator (its " + reference.Kind + " " + reference.Name + ")"
	}
	return reference.Kind + " " + reference.Name + " (ownerReferences)"
}

// Ours says whether a live object is of this cluster: it carries the label, or
// our apply has left its marks and somebody took the label off. (A Secret carries
// no annotation of an apply, and Live keeps no other mark: it is then another's.)
func Ours(live *unstructured.Unstructured, cluster string) bool {
	label := live.GetLabels()[names.ClusterLabel]
	return label == cluster || label == "" && live.GetAnnotations()[names.AppliedAnnotation] != ""
}

// adoptable says whether a live object that is not ours may be taken over.
func adoptable(live *object, cluster string, adoption Adoption) bool {
	key := compare.KeyOf(live.Unstructured)
	switch {
	case key.GroupKind() == "StatefulSet.apps", live.GetLabels()[names.ClusterLabel] != "":
		return false
	case adoption == AdoptAlways:
		return true
	}
	return adoption == AdoptUnowned && !holdsData(key) && OwnerOf(live.Unstructured, cluster) == ""
}

// HoldsData says whether an object may hold the user's data, or hold what does:
// StatefulSets, claims, Secrets.
func HoldsData(live *unstructured.Unstructured) bool { return holdsData(compare.KeyOf(live)) }
