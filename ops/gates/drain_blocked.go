package gates

import (
	"strings"
	"time"
)

// DrainBlockedRule is the rule drain-blocked.
var DrainBlockedRule = Rule{
	Name:    "drain-blocked",
	Kind:    Refuses,
	Webhook: "scale",
	Says:    "A drain that is stuck: shards are left on the nodes that leave or on no node, nothing moves, and a retry of the allocation did not help.",
	Do:      "Do what the message says for the tables that are named. `SELECT * FROM sys.allocations` has CrateDB's reasons for each node.",
	Source:  "CrateDB manual, sys.allocations",
}

// DrainBlocked counts what is left, since when nothing has moved, and gives CrateDB's
// own words for each table.
func DrainBlocked(shards int, bytes int64, nodes string, unassigned int, since time.Time, why []string) Reason {
	words := "sys.allocations gives no reason"
	if len(why) > 0 {
		words = strings.Join(why[:min(len(why), 5)], "; ")
	}
	return DrainBlockedRule.because("%d shard(s), %s, are left on %s, %d are unassigned, and nothing has moved since %s: %s; correct what is named (number_of_replicas, filters, disk space, limits), or give it up: put the replicas back or run `stevedore abort`",
		shards, Bytes(bytes), nodes, unassigned, since.UTC().Format("15:04:05 UTC"), words)
}
