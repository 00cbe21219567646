package gates

// ResizeStoppedRule is the rule resize-stopped.
var ResizeStoppedRule = Rule{
	Name: "resize-stopped",
	Kind: Waits,
	Says: "The kubelet of a pod says that its machine can never give the pod the CPU or memory that it is to have, or that carrying it out fails; or Kubernetes refuses to ask it. " +
		"The pod runs on as it is, and no further pod of its StatefulSet is asked. It is not restarted for it: a pod that is recreated needs a machine with room that its volume can reach, and where there is none a node is missing.",
	Do: "Read what it says. Write less in Git, or get a machine that has it. If other machines have room and the volume can follow, write `spec.operations.resize: restart`: " +
		"the pod is then restarted behind all gates.",
	Source: "Kubernetes, Resize CPU and Memory Resources assigned to Containers, Pod Resize Status",
}

// ResizeStopped names the pod and its machine.
func ResizeStopped(p ResizingPod) Reason {
	return ResizeStoppedRule.because("%s on %s is to have %s and runs on without: %s", p.Name, p.Node, p.Desired, said(p.Says))
}
