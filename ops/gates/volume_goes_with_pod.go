package gates

import "strings"

// VolumeGoesRule is the rule volume-goes-with-pod.
var VolumeGoesRule = Rule{
	Name:    "volume-goes-with-pod",
	Kind:    Waits,
	Informs: true,
	Says:    "Somebody has deleted a volume claim that a pod uses: whatever ends this pod ends its volume too. stevedore does not take the pod down, and the disruption budget lets Kubernetes evict none. It is said for as long as it is so.",
	Do:      "Do what `claim-being-deleted` says. Until then delete no pod by hand and drain no Kubernetes node.",
	Source:  "Kubernetes, persistent volumes, Storage Object in Use Protection",
}

// VolumeGoes names the claims and their pods, as "CLAIM of pod POD".
func VolumeGoes(claims []string) (Reason, bool) {
	if len(claims) == 0 {
		return Reason{}, false
	}
	return VolumeGoesRule.because("somebody has deleted %s: the volume goes with the pod. Say with the annotation stevedore.dev/replace-volume=true on the claim that its copies may be made again from other nodes, or drain the node by a shrink", strings.Join(claims, ", ")), true
}
