package gates

// VersionRunningRule is the rule version-running.
var VersionRunningRule = Rule{
	Name:   "version-running",
	Kind:   Waits,
	Says:   "An upgrade has succeeded when every node itself says that it runs the new version, whatever the image is called.",
	Do:     "Nothing, if it is short. If it lasts, the image that is called by this version holds another one: set another registry or version.",
	Source: "CrateDB manual, sys.nodes, version",
}

// VersionRunning compares what one node says with the desired version; "" is a node
// that has not said anything.
func VersionRunning(pod, says, wanted string) (Reason, bool) {
	switch {
	case says == "":
		return VersionRunningRule.because("the node in pod %s has not said yet which version it runs; %s is desired", pod, wanted), true
	case Compare(says, wanted) != 0:
		return VersionRunningRule.because("the node in pod %s says that it runs CrateDB %s, and %s is desired", pod, says, wanted), true
	}
	return Reason{}, false
}
