package gates

// TableHeldRule is the rule table-allocation-held.
var TableHeldRule = Rule{
	Name:    "table-allocation-held",
	Kind:    Refuses,
	Webhook: "scale",
	Says:    "Nodes leave only if each table lets its shards move: by a routing.allocation.enable of its own, none, new_primaries or primaries, a table keeps them, or its replicas, where they are, whatever is excluded.",
	Do:      "Run the statement that is named, or keep the nodes. After the drain the setting may be put back.",
	Source:  "CrateDB manual, routing.allocation.enable of a table",
}

// TableHeld names the tables, and the statement that lets each go.
func TableHeld(tables, statements []string) Reason {
	return TableHeldRule.because("%d table(s) or partition(s) keep shards on the nodes that are to leave by routing.allocation.enable: %s; run %s", len(tables), some(tables), Few(statements))
}
