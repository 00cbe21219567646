package gates

// RestoreNotNewRule is the rule restore-not-new.
var RestoreNotNewRule = Rule{
	Name:    "restore-not-new",
	Kind:    Waits,
	Informs: true,
	Says:    "spec.backups.restore is what a new cluster begins with, and this one has been made already. The field does nothing.",
	Do:      "Take the field out of the definition, or leave it there.",
	Source:  "docs/backups.md",
}

// RestoreNotNew says so.
func RestoreNotNew() Reason {
	return RestoreNotNewRule.because("the cluster has been made already, and is not restored")
}
