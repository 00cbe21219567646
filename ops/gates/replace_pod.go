package gates

// ReplacePodRule is the rule replace-pod-waits.
var ReplacePodRule = Rule{
	Name:    "replace-pod-waits",
	Kind:    Waits,
	Informs: true,
	Says:    "A pod that `stevedore replace-pod` names is not replaced yet: it is ready, its node is a member or may be one, or it would come back on an older CrateDB. It holds nothing else back.",
	Do: "Read the reason. Of a pod that is ready, or whose node is a member, nothing is replaced: `stevedore restart` restarts the cluster behind every gate. A pod that still has time is replaced when that is over. " +
		"Where nobody answers, bring back what answers, or wait until no node has answered for as long as a pod may take to come up. The command ends when the pod has gone, or when the definition changes.",
	Source: "docs/safety.md, B",
}

// ReplacePodWaits says why the pod that a person has named stays.
func ReplacePodWaits(pod, why string) Reason {
	return ReplacePodRule.because("pod %s is to be replaced by command, and stays: %s", pod, why)
}
