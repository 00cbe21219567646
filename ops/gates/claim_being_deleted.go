package gates

// ClaimBeingDeletedRule is the rule claim-being-deleted.
var ClaimBeingDeletedRule = Rule{
	Name: "claim-being-deleted",
	Kind: Waits,
	Says: "Somebody has deleted a volume claim of this pod. Kubernetes keeps claim and volume as long as the pod is there, and both go with it: the pod that comes next has an empty volume. So the pod stays.",
	Do: "The deletion cannot be taken back. If each shard on the node has a started copy on another node, say on the claim that its volume may go: " +
		"`kubectl annotate pvc CLAIM stevedore.dev/replace-volume=true`. stevedore then restarts this pod behind every gate, and CrateDB makes its copies again from the other nodes. " +
		"Give tables without replicas a replica before. Or shrink the group so far that the node is drained and leaves, and grow it again. " +
		"If there is no other copy and nowhere to put one, save the volume itself before anything else: set `persistentVolumeReclaimPolicy: Retain` on its PersistentVolume. What stevedore cannot prove to be elsewhere it does not end: if you accept the loss, delete the pod yourself.",
	Source: "Kubernetes, persistent volumes, Storage Object in Use Protection; docs/safety.md, D",
}

// ClaimBeingDeleted names the claim, its pod and why that stays.
func ClaimBeingDeleted(claim, pod, why string) Reason {
	return ClaimBeingDeletedRule.because("claim %s is being deleted, and its volume goes with pod %s, which stays: %s", claim, pod, why)
}

// Why a pod stays whose claim is being deleted.
const (
	// NobodyAgreed: the annotation is not there.
	NobodyAgreed = "if copies on other nodes suffice, annotate the claim with stevedore.dev/replace-volume=true; otherwise drain the node by a shrink"
	// CopiesHidden: a table that the user `system` does not see may have its only copy there.
	CopiesHidden = "its volume may go by annotation, but not all tables are visible to the user system, and one of them may have its only copy there"
	// NotProven: of a node that is no member nobody says what only its volume has.
	NotProven = "its volume may go by annotation, but its node is no member, and there is no master that says that each shard has a started primary elsewhere"
	// FewVoters: a cluster of one or two master-eligible nodes may not go on without this one's volume.
	FewVoters = "its volume may go by annotation, but it votes, and with less than 3 master-eligible nodes the others may not go on without it: add nodes first"
	// AllStop: nobody can make a copy again while all nodes are stopped.
	AllStop = "a suspension stops all nodes and keeps their volumes, but not this one; replace the volume first, or take the suspension back"
)

// SoleCopiesOn says which tables have their only copy of a shard there.
func SoleCopiesOn(tables []string) string {
	return "its volume may go by annotation, but it has the only started copy of shards of " + some(tables) + ": give them replicas first"
}
