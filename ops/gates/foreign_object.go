package gates

import "strings"

// ObjectNotOursRule is the rule object-not-ours.
var ObjectNotOursRule = Rule{
	Name:   "object-not-ours",
	Kind:   Refuses,
	Says:   "An object of a wanted name exists, is not ours, and `spec.operations.adoption` does not take it: it is never overwritten.",
	Do:     "Ask whose it is. Rename or delete it; or, once nobody else looks after it, label it as the message says.",
	Source: "docs/ownership.md, adoption",
}

// ObjectNotOurs names the objects, each with whose it is.
func ObjectNotOurs(objects []string, adoption, cluster string) (Reason, bool) {
	if len(objects) == 0 {
		return Reason{}, false
	}
	return ObjectNotOursRule.because("%s already exist(s), and adoption %s takes no such object; rename what is there, or the cluster; if it is this cluster's own, label it stevedore.dev/cluster=%s",
		strings.Join(objects, ", "), adoption, cluster), true
}
