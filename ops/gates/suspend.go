package gates

// SuspendRule is the rule suspend-without-consent.
var SuspendRule = Rule{
	Name:    "suspend-without-consent",
	Kind:    Refuses,
	Webhook: "suspend",
	Says:    "All data groups at 0 replicas stop the whole cluster: without the consent suspend that is taken for a mistake.",
	Do:      "Put the numbers of replicas back or, to suspend the cluster, write `suspend` into `spec.operations.consent`.",
	Source:  "docs/operations.md, suspend and resume",
}

// Suspend is all groups at 0 without the consent.
func Suspend() Reason {
	return SuspendRule.because("all data groups at 0 replicas without the consent `suspend` look like a mistake, and nothing of it is applied: set the replicas back, or write suspend into spec.operations.consent")
}
