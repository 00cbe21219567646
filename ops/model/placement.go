package model

// Placement is whether there is a Kubernetes node for each pod that a restart brings onto
// another template.
type Placement struct {
	// Pod is the first one that no node takes, Why are the nodes' reasons; "" where each has
	// one, or where nobody knows.
	Pod, Why string
	// Claim is the PersistentVolumeClaim that the template of Pod mounts by name, where no node takes it because that
	// does not exist, or is being deleted (then Why says so).
	Claim string
	// Now are those that no node takes while all others stand as they do: a pod that goes first
	// does not come back. By name, with the nodes' reasons.
	Now map[string]string
	// Unread is why nobody knows; "" where that was not asked, too.
	Unread string
}
