package gates

import (
	"fmt"
	"strings"
)

// VolumesRule is the rule volume-change-not-supported.
var VolumesRule = Rule{
	Name:    "volume-change-not-supported",
	Kind:    Refuses,
	Webhook: "expand_storage",
	Says: "A volume claim keeps its storage class. Another class is done by replacing the volumes node by node, which deletes the old ones: that needs the consent `delete-volumes` in a definition that was applied before. " +
		"The size may grow, and disks may be added or removed, without that; but no disk is removed while it is being added, and none of a cluster that is being made.",
	Do: "Put the old value back. Or push the consent `delete-volumes` alone, and the other class once that is applied. Or let a new group take the place of this one: add it, then shrink the old one, whose claims stay. " +
		"Where the cluster has never started, for a storage class that is not there say, do in this order: take its definition out of Git, run `stevedore release --wait`, delete its StatefulSets and their volume claims, run `stevedore forget`, and put the corrected definition back.",
	Source: "Kubernetes, StatefulSet volumeClaimTemplates",
}

const neverStartedRepair = "this cluster has never started, and its claims have no volumes: take its definition out, run `stevedore release --wait`, delete its StatefulSets and claims, run `stevedore forget`, and put the definition back"

// Volumes gives the field and both values. With unused CrateDB has never started in the
// cluster and no claim of the set has ever had a volume: the old value may be the mistake.
func Volumes(set, path, from, to string, unused bool) Reason {
	what := oldDisk(path, from)
	if unused {
		what = neverStartedRepair
	}
	return VolumesRule.because("%s: %s is %q and %q is desired: nothing of it is applied; %s", set, path, from, to, what)
}

// oldDisk names the field of the definition, and its old value where that is what the claim had.
func oldDisk(path, from string) string {
	debug, class := strings.Contains(path, "[debug]"), strings.HasSuffix(path, ".storageClassName")
	switch {
	case class && debug:
		return fmt.Sprintf("set spec.operations.debugVolume.storageClass back to %q", from)
	case class:
		return fmt.Sprintf("set resources.disk.storageClass of its group back to %q"+replaceWords, from)
	case debug:
		return "set spec.operations.debugVolume back to what it was"
	}
	return "set resources.disk of its group back to what it was"
}

// replaceWords name the way to other volumes that exists.
const replaceWords = ", and push the consent delete-volumes alone: once that is applied, push the change again, and stevedore replaces the volumes node by node"
