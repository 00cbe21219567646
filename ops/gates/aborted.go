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

// What stays of a change of volumes that was aborted.
const (
	ReplacedStay = "the replacement of volumes was aborted: no further node is drained, and no further claim is deleted; nodes that are on new volumes stay on them"
	RemovedStay  = "the removal of disks was aborted: no further node is drained; pods that do without a disk stay so, and no claim was deleted"
)

// DrainsAborted is a change of volumes, node by node, that a person does not want to go on, with what stays.
func DrainsAborted(stays string) Reason {
	return AbortedRule.because("%s. Change the definition, or take the abort back with `stevedore resume`", stays)
}

// ReplacementAborted is a replacement of volumes that was aborted after the claims of a pod were deleted.
func ReplacementAborted(claims, pod string) Reason {
	return AbortedRule.because("the replacement of volumes was aborted after it had deleted %s, which nobody can take back: the volume goes with pod %s, whoever ends that pod. Its shards are on other nodes, and its node stays excluded until then. "+
		"stevedore ends no pod and drains no further node. Take the abort back with `stevedore resume`: then pod %s restarts onto a new volume", claims, pod, pod)
}

// SuspendAborted is a suspension that a person does not want.
func SuspendAborted() Reason {
	return AbortedRule.because("the suspension was aborted, and the cluster runs: change the definition, or take the abort back with `stevedore resume`")
}
