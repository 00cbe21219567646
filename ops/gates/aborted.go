package gates

// AbortedRule is the rule aborted.
var AbortedRule = Rule{
	Name:    "aborted",
	Kind:    Refuses,
	Webhook: "change_compute",
	Says:    "A restart, an upgrade, a suspension, a replacement of volumes or a removal of disks that was aborted is not begun again until the definition changes or the abort is taken back; what is held was given back, and what a suspension has stopped runs again.",
	Do:      "Push another definition, or run `stevedore resume`, to begin again.",
	Source:  "docs/operations.md",
}

// Aborted counts the pods that have not been restarted.
func Aborted(left int) Reason {
	return AbortedRule.because("the restart was aborted; %d pod(s) still run what was before, and nothing of the change that needs a restart is done: change the definition, or take the abort back with `stevedore resume`", left)
}

// AbortedUpgrade counts the pods on either version.
func AbortedUpgrade(from, to string, old, upgraded int) Reason {
	if from == to {
		return AbortedRule.because("the change of the image of CrateDB %s was aborted where it stood: %d pod(s) run the new one and %d still what was before, and it is not begun again; change the definition, or take the abort back with `stevedore resume`", to, upgraded, old)
	}
	return AbortedRule.because("the upgrade from CrateDB %s to %s was aborted where it stood: %d pod(s) run %s and %d still what was before, and it is not begun again; change the definition, or take the abort back with `stevedore resume`: a cluster does not stay on two versions", from, to, upgraded, to, old)
}

// DrainsAborted is a change of volumes, node by node, that a person does not want to go on: what is "the replacement of
// volumes" or "the removal of disks".
func DrainsAborted(what string) Reason {
	return AbortedRule.because("%s was aborted, and no further node is drained for it: change the definition, or take the abort back with `stevedore resume`", what)
}

// SuspendAborted is a suspension that a person does not want.
func SuspendAborted() Reason {
	return AbortedRule.because("the suspension was aborted, and the cluster runs: change the definition, or take the abort back with `stevedore resume`")
}
