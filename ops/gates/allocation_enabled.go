package gates

// AllocationEnabledRule is the rule allocation-enabled.
var AllocationEnabledRule = Rule{
	Name:   "allocation-enabled",
	Kind:   Waits,
	Says:   "Before a node goes down cluster.routing.allocation.enable is effectively what it has to be: all before our allocation lock, primaries under it.",
	Do:     "Somebody has set it: `RESET GLOBAL \"cluster.routing.allocation.enable\"` when it is not needed any more.",
	Source: "CrateDB manual, cluster.routing.allocation.enable",
}

// AllocationEnabled gives the value that there is; "" is one that could not be read.
func AllocationEnabled(value, wanted string) (Reason, bool) {
	switch value {
	case wanted:
		return Reason{}, false
	case "":
		return AllocationEnabledRule.because("cluster.routing.allocation.enable could not be read"), true
	}
	return AllocationEnabledRule.because("cluster.routing.allocation.enable is effectively '%s' and not '%s': with that a node's copies would not be recreated; set it back", value, wanted), true
}
