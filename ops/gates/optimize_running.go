package gates

// OptimizeRunningRule is the rule optimize-running.
var OptimizeRunningRule = Rule{
	Name:   "optimize-running",
	Kind:   Waits,
	Says:   "No node is restarted while OPTIMIZE TABLE runs: the node would lose what it has merged, and the statement would fail after hours. A pod that serves nobody is replaced all the same, and where CrateDB does not say what runs, nothing waits.",
	Do:     "Wait until it has ended: `SELECT node['name'], started, stmt FROM sys.jobs WHERE stmt ILIKE 'OPTIMIZE TABLE%'`.",
	Source: "CrateDB manual, OPTIMIZE TABLE; sys.jobs",
	Asks:   Running("optimize table"),
}
