package gates

// SuspendRule is the rule suspend-not-supported.
var SuspendRule = Rule{
	Name:   "suspend-not-supported",
	Kind:   Refuses,
	Says:   "All groups at 0 is a suspension, not supported yet; without the consent suspend it is taken for a mistake.",
	Do:     "Put the numbers of replicas back.",
	Source: "docs/safety.md, what is refused",
}

// Suspend says whether it was consented to.
func Suspend(consent bool) Reason {
	if consent {
		return SuspendRule.because("all groups at 0 replicas: suspending is not supported yet and nothing of it is applied; set the replicas back")
	}
	return SuspendRule.because("all groups at 0 replicas without the consent `suspend` looks like a mistake, and nothing of it is applied; set the replicas back")
}
