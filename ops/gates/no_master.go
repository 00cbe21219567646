package gates

import "strings"

// NoMasterRule is the rule no-master.
var NoMasterRule = Rule{
	Name:   "no-master",
	Kind:   Waits,
	Passes: true,
	Says:   "What has been set for a restart or a drain is given back by a master only, and no node is the master. An election takes seconds. If it lasts, most of the nodes that vote are away, and no node can join.",
	Do:     "Bring back the master-eligible nodes that are named, on their own volumes: `kubectl get pods`, `kubectl get pvc`. A node that has just left by a shrink may vote still, and its claim is kept: `kubectl scale statefulset NAME --replicas=N`, as many as there were, brings it back. Only if the volumes of most of them are lost for good: stop all nodes, and make another cluster of what is left with `crate-node unsafe-bootstrap` on one master-eligible node and `crate-node detach-cluster` on the others. What only the lost volumes had is lost.",
	Source: "CrateDB manual, cluster-wide settings, discovery; CrateDB manual, crate-node",
}

// NoMaster counts the master-eligible nodes that answer, and names the pods of the others.
func NoMaster(answer, all int, others []string) Reason {
	words := ""
	if len(others) > 0 {
		words = ", and not those in " + strings.Join(others, ", ")
	}
	return NoMasterRule.because("no node is the master: of %d master-eligible nodes %d answer%s", all, answer, words)
}
