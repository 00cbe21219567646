package gates

// MasterStableRule is the rule master-stable.
var MasterStableRule = Rule{
	Name:   "master-stable",
	Kind:   Waits,
	Passes: true,
	Says:   "Once an operation the same master has to have been elected for masterStableFor. Where nobody has set that, it is enough that the cluster state has been the same on every node for 30 s. A restart of the daemon begins this wait again.",
	Do:     "Wait. If the master changes again and again, look at the logs of the master-eligible nodes.",
	Source: "CrateDB manual, sys.cluster, master_node; docs/operations.md",
}

// MasterStable says how long that takes.
func MasterStable(stable Elapsed) (Reason, bool) {
	if stable.Enough() {
		return Reason{}, false
	}
	return MasterStableRule.because("the master has to be the same for %s (masterStableFor)%s", stable.Needed, stable.sooner()), true
}
