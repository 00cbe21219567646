package gates

// ShardPlaceRule is the rule shard-has-no-place.
var ShardPlaceRule = Rule{
	Name:    "shard-has-no-place",
	Kind:    Refuses,
	Webhook: "scale",
	Says:    "Nodes leave only if each shard on them has a place on the nodes that remain: none that has a copy of it, that is above the low watermark, that filters, limits or zones keep it off, or whose last place another shard needs.",
	Do:      "Do what the message says for the tables that are named: free disk space, raise the limit, take the filter off, or keep more nodes.",
	Source:  "CrateDB manual, sys.allocations",
}

// ShardHasNoPlace gives for each table why.
func ShardHasNoPlace(tables []string) Reason {
	return ShardPlaceRule.because("shards of %d table(s) or partition(s) would have no place on the nodes that remain, though there are enough in number: %s. Free disk space, raise the limit, take the filter off, or keep more nodes", len(tables), Few(tables))
}
