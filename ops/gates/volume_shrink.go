package gates

// VolumeShrinkRule is the rule volume-cannot-shrink.
var VolumeShrinkRule = Rule{
	Name:    "volume-cannot-shrink",
	Kind:    Refuses,
	Webhook: "expand_storage",
	Says:    "A volume never becomes smaller: neither Kubernetes nor a file system in use does that. Smaller volumes replace the old ones node by node, which deletes those: that needs the consent `delete-volumes` in a definition that was applied before.",
	Do:      "Put the old size back. Or push the consent `delete-volumes` alone, and the smaller size once that is applied. Or let a new group with smaller volumes take the place of this one: add it, then shrink the old one, whose claims stay.",
	Source:  "Kubernetes, persistent volumes, Expanding Persistent Volumes Claims",
}

// VolumeShrink gives the field and both sizes.
func VolumeShrink(set, path, from, to string, unused bool) Reason {
	what := "set resources.disk.size of its group back" + replaceWords + "; or add a group with smaller volumes and shrink this one"
	if unused {
		what = neverStartedRepair
	}
	return VolumeShrinkRule.because("%s: %s is %s and %s is desired: a volume cannot become smaller, and nothing of it is applied; %s", set, path, from, to, what)
}
