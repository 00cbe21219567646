package gates

import "strings"

// BudgetClosedRule is the rule budget-closed.
var BudgetClosedRule = Rule{
	Name:    "budget-closed",
	Kind:    Waits,
	Informs: true,
	Says:    "The disruption budget stands at 0 while a pod is down or a table lacks a copy, so that Kubernetes evicts no second one, and while a claim of a running pod is being deleted, because its volume would go with the pod.",
	Do:      "Nothing for the budget itself. The tables that are named lack a copy, or a pod is down: see why below. For a claim that is being deleted do what `claim-being-deleted` says.",
	Source:  "Kubernetes, disruption budgets; docs/safety.md, invariant B",
}

// BudgetClosedForVolume is for a claim that somebody has deleted.
func BudgetClosedForVolume() Reason {
	return BudgetClosedRule.because("no pod may be evicted: a volume claim is being deleted, and its volume would go with the pod")
}

// BudgetClosed names the tables, if it is them.
func BudgetClosed(down int, tables []string) Reason {
	if down > 0 {
		return BudgetClosedRule.because("no further pod may be evicted: %d pod(s) are down", down)
	}
	if len(tables) == 0 {
		return BudgetClosedRule.because("no pod may be evicted: the health of the tables is not green")
	}
	return BudgetClosedRule.because("no pod may be evicted: copies are missing of %s", strings.Join(tables, ", "))
}
