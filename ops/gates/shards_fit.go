package gates

import "fmt"

// ShardsDoNotFitRule is the rule shards-do-not-fit.
var ShardsDoNotFitRule = Rule{
	Name:    "shards-do-not-fit",
	Kind:    Refuses,
	Webhook: "scale",
	Says:    "Nodes leave only if the nodes that remain may hold all shards, by cluster.max_shards_per_node and by total_shards_per_node of the cluster and of each table.",
	Do:      "Raise the limit that is named, drop tables or partitions, or keep more nodes.",
	Source:  "CrateDB manual, cluster.max_shards_per_node and total_shards_per_node",
}

// ShardsDoNotFit names the limit.
func ShardsDoNotFit(what string, copies, limit, nodes int, setting string) Reason {
	raise := ""
	if nodes > 0 {
		raise = fmt.Sprintf("raise it to %d, ", (copies+nodes-1)/nodes)
	}
	return ShardsDoNotFitRule.because("%s would have %d shard copies, and the %d node(s) that remain for it may hold %d each by %s, %d in all: %sdrop tables or partitions, or keep at least %d nodes", what, copies, nodes, limit, setting, limit*nodes, raise, (copies+limit-1)/limit)
}
