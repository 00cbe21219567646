package gates

// DisksDifferRule is the rule disks-differ.
var DisksDifferRule = Rule{
	Name:    "disks-differ",
	Kind:    Waits,
	Informs: true,
	Says: "Pods of a StatefulSet have no volume yet of a disk that was added: they get it when they restart, from the lowest ordinal up. " +
		"Until all have it a pod behind one without it does not come back by itself, so that the disruption budget allows no eviction. If such a pod vanishes all the same, the StatefulSet is recreated with the disks that all its pods have, and afterwards once more with the new one.",
	Do:     "Nothing, while the restart goes on. Drains of Kubernetes nodes wait meanwhile. If the restart is held up, its own gate says why.",
	Source: "Kubernetes, StatefulSet controller: pods are taken by 1, 2, 4, … and none behind a group with a pod that cannot get a claim template's volume",
}

// DisksDiffer names the pods that are to restart for a disk, and the one that does not come back.
func DisksDiffer(set string, pods []string, held string) (Reason, bool) {
	if len(pods) == 0 {
		return Reason{}, false
	}
	words := "no pod of it may be evicted meanwhile"
	if held != "" {
		words += ", and " + held + " does not come back before the StatefulSet is recreated without the disk"
	}
	return DisksDifferRule.because("%s: a disk was added, and these pods have it after their restart: %s; %s", set, Few(pods), words), true
}
