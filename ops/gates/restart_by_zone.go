package gates

// RestartByZoneRule is the rule restart-by-zone-not-supported.
var RestartByZoneRule = Rule{
	Name:   "restart-by-zone-not-supported",
	Kind:   Refuses,
	Says:   "restartBy: zone is not supported yet; pods are restarted one by one.",
	Do:     "Take `restartBy: zone` out: pods are restarted one by one.",
	Source: "docs/safety.md, what is refused",
}

// RestartByZone says what to write.
func RestartByZone() Reason {
	return RestartByZoneRule.because("a restart is due, and spec.operations.restartBy: zone is not supported yet; the StatefulSets stay as they are: write restartBy: pod")
}
