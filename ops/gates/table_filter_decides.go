package gates

import "strings"

// TableFilterDecidesRule is the rule table-filter-decides-alone.
var TableFilterDecidesRule = Rule{
	Name:    "table-filter-decides-alone",
	Kind:    Refuses,
	Webhook: "scale",
	Says: "From CrateDB 5.9 on a table's `require` decides alone where its shards may be, and without one its `include`: no exclusion counts for it, neither the cluster's nor the table's own. " +
		"Such a table cannot leave a node that these filters let it use, unless they change for the time of the drain. The consent `extend-table-filters` does not help where partitions have different filters, " +
		"where a filter asks for an address that is not known, or where somebody has changed the filters during the drain.",
	Do: "Add extend-table-filters to spec.operations.consent: then the daemon changes these filters for the drain and gives them back as they were. " +
		"Or run the statements that are named, which keep the table on the nodes that stay: the drain goes on by itself. When the nodes have left put the filters back: " +
		"`ALTER TABLE … SET (\"routing.allocation.require.…\" = '…')`, then `ALTER TABLE … RESET (\"routing.allocation.include._name\")`.",
	Source: "CrateDB's FilterAllocationDecider; run on 6.3.7 and 6.4.3",
}

// TableFilterDecides has for each table its name and the statements: "doc.t: ALTER …".
func TableFilterDecides(tables []string) Reason {
	const most = 3
	words := strings.Join(tables[:min(most, len(tables))], "; and ")
	if len(tables) > most {
		words += "; …"
	}
	return TableFilterDecidesRule.because("%d table(s) or partition(s) have a require or include filter of their own that lets them use nodes which are to leave, and no exclusion counts for them. Run, for %s", len(tables), words)
}
