package gates

// ForeignClusterIDRule is the rule foreign-cluster-id.
var ForeignClusterIDRule = Rule{
	Name:   "foreign-cluster-id",
	Kind:   Refuses,
	Says:   "Each pod is asked for its own sys.cluster.id; another id behind the same names stops everything for the cluster.",
	Do:     "Look at the pod's volume claim: it carries the data of another cluster. Do not delete it; find out how it came there, move it away, and let the pod start on its own.",
	Source: "CrateDB manual, sys.cluster; docs/safety.md, whose cluster it is",
}

// NoCluster is what sys.cluster.id says on a node that has found no cluster.
const NoCluster = "_na_"

// ForeignClusterID compares one pod's id with the one that is expected.
func ForeignClusterID(pod, id, expected string) (Reason, bool) {
	if id == "" || id == NoCluster || expected == "" || id == expected {
		return Reason{}, false
	}
	return ForeignClusterIDRule.because("pod %s answers as cluster %s, this cluster is %s: it runs on the volume of another cluster, or has founded a second one; nothing more is done. Look at the volume claims of that pod, delete none, and move away what is another cluster's", pod, id, expected), true
}
