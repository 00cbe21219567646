package gates

// BootstrapFirstRule is the rule bootstrap-first.
var BootstrapFirstRule = Rule{
	Name:   "bootstrap-first",
	Kind:   Waits,
	Says:   "A group grows after the bootstrap has ended: until then the list of the first masters and the gateway counts stay what they were.",
	Do:     "Wait. If the bootstrap is stuck, another line says what it waits for.",
	Source: "CrateDB manual, cluster.initial_master_nodes",
}

// BootstrapFirst gives both counts.
func BootstrapFirst(set string, effective, wanted int) Reason {
	return BootstrapFirstRule.because("%s grows from %d to %d replicas when the bootstrap has ended; if it cannot end, set replicas back to %d first", set, effective, wanted, effective)
}

// RestartAfterBootstrap is for a change that running nodes read when they start.
func RestartAfterBootstrap(set string) Reason {
	return BootstrapFirstRule.because("%s: a change that needs a restart waits for the end of the bootstrap", set)
}
