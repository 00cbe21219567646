package gates

import "fmt"

// VolumeFailedRule is the rule volume-growth-failed.
var VolumeFailedRule = Rule{
	Name: "volume-growth-failed",
	Kind: Waits,
	Says: "The driver says that it cannot give a volume the desired size. Claims that grow already go on, no further claim of this StatefulSet is asked, and nothing restarts.",
	Do: "Read what the driver says. If it will pass (a limit of changes in so many hours), wait. " +
		"Otherwise write another size in Git: any size above what the volume has now, which may be less than what was asked for.",
	Source: "Kubernetes, persistent volumes, Recovering from Failure when Expanding Volumes",
}

// VolumeFailed names the claim and what its driver says.
func VolumeFailed(claim string, capacity, desired int64, message string) Reason {
	if message == "" {
		message = "nothing"
	}
	return VolumeFailedRule.because("%s stays at %s, %s are desired; its driver says: %s. Write a size above %s in Git that it can give, or wait if it will pass",
		claim, Bytes(capacity), Bytes(desired), message, fmt.Sprintf("%d bytes", capacity))
}
