package gates

import "cmp"

// NodeFitsRule is the rule no-node-fits.
var NodeFitsRule = Rule{
	Name: "no-node-fits",
	Kind: Waits,
	Says: "Before a pod that is ready is restarted, there is a Kubernetes node for each pod that comes onto another template: by its selector and affinity, taints, what is allocatable, and where its volumes are. " +
		"A pod that mounts a PersistentVolumeClaim by its name fits on no node before that claim exists, whatever `spec.operations.noNodeFits` says. " +
		"Where the daemon may not read Nodes or claims nothing waits for them, and the first pod shows it.",
	Do: "Let a Node take the pod that is named: add one, take a taint off, or ask for less. If a PersistentVolumeClaim is named, create it. " +
		"If Nodes are added only for pods that are pending, set `spec.operations.noNodeFits: proceed`.",
	Source: "Kubernetes, Assigning Pods to Nodes",
}

// NodeFits looks at the first pod that no Node takes; pod is "" for none. The claim is one that it mounts: it does
// not exist, or why says what is so. It is "" where it is the Nodes that do not take the pod.
func NodeFits(pod, why, claim string) (Reason, bool) {
	switch {
	case pod == "":
		return Reason{}, false
	case claim != "":
		return NodeFitsRule.because("no Kubernetes node takes pod %s as it is to be restarted, and no pod is restarted for it: PersistentVolumeClaim %s, which it mounts, %s", pod, claim, cmp.Or(why, "does not exist. Create it")), true
	}
	return NodeFitsRule.because("no Kubernetes node takes pod %s as it is to be restarted, and no pod is restarted for it (%s): let a Node take it or, where Nodes are added for pods that are pending, set spec.operations.noNodeFits: proceed", pod, why), true
}
