package gates

import "strconv"

// MasterQuorumRule is the rule master-quorum.
var MasterQuorumRule = Rule{
	Name:    "master-quorum",
	Kind:    Refuses,
	Webhook: "scale",
	Says:    "Dedicated masters never become fewer than three. A master-eligible group becomes two only with the consent two-masters, and never fewer: once three have voted CrateDB keeps three voters, and losing two of them loses the cluster.",
	Do:      "Put the number of replicas back; two-masters in spec.operations.consent allows a master-eligible data group of two.",
	Source:  "CrateDB manual, cluster.initial_master_nodes and the voting of master-eligible nodes",
}

// MasterQuorum looks at the number of master-eligible nodes of one group.
func MasterQuorum(group string, dedicated bool, effective, wanted int, consent bool) (Reason, bool) {
	switch {
	case wanted >= 3:
		return Reason{}, false
	case dedicated:
		return MasterQuorumRule.because("%d dedicated masters run and %d are desired, and never fewer than 3 may: set replicas of spec.nodes.master to 3 or a larger odd number", effective, wanted), true
	case wanted < 2:
		least := "3 or more, or to 2 with the consent two-masters"
		if effective < 3 {
			least = strconv.Itoa(effective)
		}
		return MasterQuorumRule.because("group %s is master-eligible and has %d nodes; with %d a quorum of those that have voted may be lost for good: set its replicas to %s", group, effective, wanted, least), true
	case !consent:
		return MasterQuorumRule.because("group %s is master-eligible and has %d nodes; with 2 the loss of either stops the cluster: set its replicas to 3 or more, or add two-masters to spec.operations.consent if that is meant", group, effective), true
	}
	return Reason{}, false
}
