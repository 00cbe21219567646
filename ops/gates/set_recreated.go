package gates

// SetRecreatedRule is the rule set-recreated.
var SetRecreatedRule = Rule{
	Name:   "set-recreated",
	Kind:   Waits,
	Passes: true,
	Says: "The claims have the new size, volumes are to be replaced, or a disk is added. The StatefulSet is deleted without its pods and recreated with other claim templates, so that pods that come later get such claims. No pod restarts for the size; for a disk each one restarts afterwards. " +
		"Before that every pod of it has to be there, because no pod is recreated meanwhile, and the disruption budget allows no eviction.",
	Do:     "Nothing, while its pods are on their way. A pod that stays away has a reason of its own in the status.",
	Source: "Kubernetes, StatefulSet, volumeClaimTemplates are immutable; deletion with propagationPolicy: Orphan",
}

// SetRecreated says what the recreation of a StatefulSet waits for.
func SetRecreated(set, waits string) Reason {
	return SetRecreatedRule.because("StatefulSet %s is to be recreated with other claim templates around its running pods: %s", set, waits)
}
