package gates

// VolumeShrinkRule is the rule volume-cannot-shrink.
var VolumeShrinkRule = Rule{
	Name:   "volume-cannot-shrink",
	Kind:   Refuses,
	Says:   "A volume never becomes smaller: neither Kubernetes nor a file system in use does that.",
	Do:     "Put the old size back. A new group with smaller volumes can take the place of this one: add it, then shrink the old one.",
	Source: "Kubernetes, persistent volumes, Expanding Persistent Volumes Claims",
}

// VolumeShrink gives the field and both sizes.
func VolumeShrink(set, path, from, to string, unused bool) Reason {
	what := "set resources.disk.size of its group back, or add a group with smaller volumes and shrink this one"
	if unused {
		what = neverStartedRepair
	}
	return VolumeShrinkRule.because("%s: %s is %s and %s is desired: a volume cannot become smaller, and nothing of it is applied; %s", set, path, from, to, what)
}
