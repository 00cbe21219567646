package gates

// VolumesRule is the rule volume-change-not-supported.
var VolumesRule = Rule{
	Name:   "volume-change-not-supported",
	Kind:   Refuses,
	Says:   "The size, number and class of a group's volumes are fixed when it is made; changing them is not supported yet.",
	Do:     "Put the old value back. A new group with other volumes can take its place: add it, then shrink the old one.",
	Source: "Kubernetes, StatefulSet volumeClaimTemplates",
}

// Volumes gives the field and both values.
func Volumes(set, path, from, to string) Reason {
	return VolumesRule.because("%s: %s is %q and %q is wanted: changing volumes is not supported yet and nothing of it is applied; set spec.nodes…resources.disk back", set, path, from, to)
}
