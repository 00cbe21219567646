package gates

// CopyRunningRule is the rule copy-running.
var CopyRunningRule = Rule{
	Name:   "copy-running",
	Kind:   Waits,
	Says:   "No node is restarted while COPY FROM runs, also one for which no client waits (wait_for_completion = false): with the node the import would end in the middle. Where CrateDB does not say what runs, the restart waits. A pod that serves nobody is replaced all the same.",
	Do:     "Wait until it has ended: `SELECT DISTINCT job_id, started FROM sys.operations WHERE name = 'copyFrom'`; `KILL 'job_id'` ends it. Before 6.2 CrateDB says nothing while `stats.enabled` is false.",
	Source: "CrateDB manual, COPY FROM; sys.operations",
	Asks:   Operating("COPY FROM runs", "copyFrom"),
}
