package gates

import "strings"

// ObjectNotOursRule is the rule object-not-ours.
var ObjectNotOursRule = Rule{
	Name:   "object-not-ours",
	Kind:   Refuses,
	Says:   "An object of a wanted name exists and is not ours: it is never overwritten.",
	Do:     "Rename or delete the object that is named, after asking whose it is.",
	Source: "docs/safety.md, whose cluster it is",
}

// ObjectNotOurs names the objects.
func ObjectNotOurs(objects []string) (Reason, bool) {
	if len(objects) == 0 {
		return Reason{}, false
	}
	return ObjectNotOursRule.because("%s already exist(s) without the label stevedore.dev/cluster of this cluster; if it is this cluster's own, put the label back; else rename what is there, or the cluster", strings.Join(objects, ", ")), true
}
