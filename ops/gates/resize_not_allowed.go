package gates

// ResizeNotAllowedRule is the rule resize-not-allowed.
var ResizeNotAllowedRule = Rule{
	Name:   "resize-not-allowed",
	Kind:   Waits,
	Says:   "Running pods are to get other CPU and memory, and the daemon has no right to patch `pods/resize`: the Role in the namespace is of an older release. Nothing restarts for it.",
	Do:     "Apply the Role of this release: `kubectl apply -n NAMESPACE -k deploy/namespace`. Or write `spec.operations.resize: restart`.",
	Source: "Kubernetes, RBAC: subresources are rights of their own",
}

// ResizeNotAllowed counts the pods.
func ResizeNotAllowed(namespace string, pods int) Reason {
	return ResizeNotAllowedRule.because("%d pod(s) are to get other CPU and memory in place, and the daemon may not patch pods/resize in namespace %s: apply deploy/namespace of this release there, or write spec.operations.resize: restart", pods, namespace)
}
