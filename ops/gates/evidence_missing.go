package gates

// EvidenceMissingRule is the rule evidence-missing.
var EvidenceMissingRule = Rule{
	Name:   "evidence-missing",
	Kind:   Waits,
	Says:   "Before a node goes for good, the superuser or its volume has to say that it is empty, beside `system`, from whom a privilege may hide a table. Both are asked by exec in the pod.",
	Do:     "Make one of the two possible: the right to `pods/exec` in the namespace, and in the pod's container `crash` with the superuser `crate` let in from localhost, or `ls`.",
	Source: "docs/safety.md, invariant A",
}

// EvidenceMissing says why neither of the two could be asked.
func EvidenceMissing(pod, superuser, volume string) Reason {
	return EvidenceMissingRule.because("`system` is shown no shard on the node in pod %s, and nobody else could be asked: the superuser (%s), the volume (%s)", pod, superuser, volume)
}

// EvidenceUnread: nobody was asked in the reading that this is decided on.
func EvidenceUnread(pod string) Reason {
	return EvidenceMissingRule.because("`system` is shown no shard on the node in pod %s; the superuser and its volume are asked next", pod)
}
