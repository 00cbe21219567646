package gates

// RenameRule is the rule rename.
var RenameRule = Rule{
	Name:   "rename",
	Kind:   Refuses,
	Says:   "A new cluster that carries the spec.cluster.name of one that just vanished from the same source is a rename, which would be an empty database.",
	Do:     "Put the old name back. For a second, empty cluster give it a `spec.cluster.name` of its own.",
	Source: "docs/safety.md, whose cluster it is",
}

// Rename names both clusters.
func Rename(from, to, clusterName string) Reason {
	return RenameRule.because("%s looks like %s under a new name (spec.cluster.name %q): it would be an empty database; give the name back, or choose another spec.cluster.name if a new cluster is meant", to, from, clusterName)
}
