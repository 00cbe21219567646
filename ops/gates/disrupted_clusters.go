package gates

import "strings"

// DisruptedClustersRule is the rule disrupted-clusters.
var DisruptedClustersRule = Rule{
	Name:   "disrupted-clusters",
	Kind:   Waits,
	Says:   "No more clusters are disrupted at the same time than --max-disrupted-clusters allows (default 1), whatever one commit brings to how many.",
	Do:     "Wait for the cluster that is named, or raise `--max-disrupted-clusters`.",
	Source: "docs/operations.md, several clusters",
}

// DisruptedClusters compares the other clusters that are disrupted now with how
// many may be.
func DisruptedClusters(others []string, most int) (Reason, bool) {
	if len(others) < most {
		return Reason{}, false
	}
	return DisruptedClustersRule.because("%d other cluster(s) are being restarted, made smaller or suspended, and at most %d may be at the same time (--max-disrupted-clusters): %s",
		len(others), most, strings.Join(others[:min(len(others), 10)], ", ")), true
}
