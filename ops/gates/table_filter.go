package gates

// TableFilterRule is the rule table-filter-overrides-drain.
var TableFilterRule = Rule{
	Name:    "table-filter-overrides-drain",
	Kind:    Refuses,
	Webhook: "scale",
	Says:    "From CrateDB 5.9 on a table's own allocation filters make the cluster's exclusions void for it: its shards would stay on the nodes that leave, and new ones would come, while all is green.",
	Do:      "Take the filters off the tables that are named, or add extend-table-filters to spec.operations.consent: then the leaving nodes are put on those tables' own exclude lists for as long as the drain lasts.",
	Source:  "CrateDB manual, routing.allocation.exclude of a table",
}

// TableFilter names the tables; why is "" or says why consent does not help.
func TableFilter(tables []string, why string) Reason {
	if why == "" {
		why = "take the filters off, or add extend-table-filters to spec.operations.consent, which puts the leaving nodes on the tables' own exclude lists for a while"
	}
	return TableFilterRule.because("%d table(s) or partition(s) have allocation filters of their own that let them use nodes which are to leave, and no exclusion of the cluster counts for them: %s; %s", len(tables), some(tables), why)
}
