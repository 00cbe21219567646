package gates

// ExportRunningRule is the rule export-running.
var ExportRunningRule = Rule{
	Name:   "export-running",
	Kind:   Waits,
	Says:   "No node is restarted while a client waits for COPY TO: with the node the export would end in the middle, and its files stay. CrateDB has no name of its own for this work, so that an export for which nobody waits (wait_for_completion = false) is not seen. A pod that serves nobody is replaced all the same, and where CrateDB does not say what runs, nothing waits.",
	Do:     "Wait until it has ended: `SELECT node['name'], started FROM sys.jobs WHERE stmt ILIKE 'COPY%TO%'`.",
	Source: "CrateDB manual, COPY TO; sys.jobs",
	Asks:   Running("copy", "to"),
}
