package gates

import (
	"strings"

	"stevedore.dev/stevedore/internal/names"
)

// ObjectNotOursRule is the rule object-not-ours.
var ObjectNotOursRule = Rule{
	Name:   "object-not-ours",
	Kind:   Refuses,
	Says:   "An object of a wanted name exists, is not ours, and `spec.operations.adoption` does not take it: it is never overwritten.",
	Do:     "Ask whose it is. `stevedore adopt NAMESPACE/CLUSTER` takes a running cluster of crate-operator over, or one whose StatefulSet somebody wrote, and restarts no pod. Otherwise give the new one another name or namespace; what nobody needs any more, its owner removes. Where pods or volume claims are named and their StatefulSet is gone, create it again before you adopt it. Never put stevedore's label on an object of a running cluster by hand: its pods would be replaced.",
	Source: "docs/ownership.md, adoption",
}

// ObjectNotOurs names the objects, each with whose it is. The cluster is "namespace/name", owner is the
// first that one of them belongs to, crate-operator before all others.
func ObjectNotOurs(objects []string, adoption, cluster, owner string) (Reason, bool) {
	if len(objects) == 0 {
		return Reason{}, false
	}
	return ObjectNotOursRule.because("%s already exist(s), and adoption %s takes no such object: all of it stays as it is, and nothing of the cluster %s is made; give the cluster another name, or another namespace (%s)",
		strings.Join(objects, ", "), adoption, cluster, names.TakeOver(owner, cluster)), true
}
