package gates

// TableKeptRule is the rule table-kept.
var TableKeptRule = Rule{
	Name:    "table-kept",
	Kind:    Waits,
	Informs: true,
	Says:    "A table was replaced by its state in a snapshot, because a person asked for it. The table before is kept under another name, and nothing drops it by itself.",
	Do:      "Look at the table. Then drop the one that is kept with `stevedore restore CLUSTER --drop-kept TABLE`, or exchange the two again with `--undo TABLE`.",
	Source:  "docs/backups.md",
}

// TableKept says what is kept of which table. The cluster is "namespace/name".
func TableKept(words, cluster, table string) Reason {
	return TableKeptRule.because("%s; `stevedore restore %s --drop-kept %s` drops what is kept, and `--undo %s` exchanges the two", words, cluster, table, table)
}
