package gates

// ModifyFailedRule is the rule volume-modify-failed.
var ModifyFailedRule = Rule{
	Name: "volume-modify-failed",
	Kind: Waits,
	Says: "The driver says that a volume cannot have the desired VolumeAttributesClass, or that it has failed and tries again. " +
		"The volume keeps working as it is. No further claim of this StatefulSet is asked, and nothing restarts.",
	Do: "Read what the driver says. If it will pass (a limit of changes in so many hours), wait. " +
		"Otherwise write another class in Git, or the one that the volumes had: none only where they had none.",
	Source: "Kubernetes, Volume Attributes Classes; status.modifyVolumeStatus of PersistentVolumeClaim",
}

// ModifyFailed names the claim, the class that it has, the one that is desired, and what its driver
// says. infeasible: the driver does not try again.
func ModifyFailed(claim, current, desired, message string, infeasible bool) Reason {
	if message == "" {
		message = "nothing"
	}
	again := "it tries again; if that will not pass, write"
	if infeasible {
		again = "it cannot be done; write"
	}
	return ModifyFailedRule.because("%s stays at %s, %s is desired; its driver says: %s. %s another class in Git, or the one that it had", claim, ClassName(current), ClassName(desired), message, again)
}
