package gates

import "strings"

// CopiesReturnRule is the rule copies-do-not-return.
var CopiesReturnRule = Rule{
	Name:    "copies-do-not-return",
	Kind:    Refuses,
	Webhook: "change_compute",
	Says:    "No node goes down for a restart whose copies of shards would not come back: disks above the low watermark, a table's own routing.allocation.enable, filters, limits on the number of shards, zones. A copy that CrateDB allocates anew passes the same checks as a new one. A pod that is not ready goes all the same, and so does one whose new template changes node attributes or settings of the allocation.",
	Do:      "Do what the message says for the tables that are named: free disk space, take the setting or the filter off. Or set `spec.operations.unhealable: proceed`; those tables stay yellow then, and only `settledYellow: proceed` lets the next pod go after the first.",
	Source:  "CrateDB manual, cluster.routing.allocation.disk.watermark.low, routing.allocation.enable and total_shards_per_node",
}

// CopiesDoNotReturn names the pods and the tables, each table with its reason.
func CopiesDoNotReturn(pods, tables []string) Reason {
	return CopiesReturnRule.because("copies on %s would not come back after a restart, of %d table(s) or partition(s): %s; correct what is named, or let them stay away with spec.operations.unhealable: proceed", some(pods), len(tables), Few(tables))
}

// Few are the first of several sentences.
func Few(sentences []string) string {
	const most = 5
	if len(sentences) > most {
		return strings.Join(sentences[:most], "; ") + "; …"
	}
	return strings.Join(sentences, "; ")
}
