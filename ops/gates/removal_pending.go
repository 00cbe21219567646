package gates

import "time"

// RemovalPendingRule is the rule removal-pending.
var RemovalPendingRule = Rule{
	Name:   "removal-pending",
	Kind:   Waits,
	Says:   "A cluster whose applied definition consented to `delete-cluster` is deleted once its definition has been gone for `--removal-delay`; its volumes and Secrets stay.",
	Do:     "Nothing, if it is to go. Put the definition back to keep it, or run `stevedore pause` or `stevedore release`.",
	Source: "docs/ownership.md, deleting a cluster",
}

// RemovalPending says from when on the cluster is deleted.
func RemovalPending(left time.Duration, now time.Time) (Reason, bool) {
	if left <= 0 {
		return Reason{}, false
	}
	r := RemovalPendingRule.because("its definition is gone, and it consented to its deletion: the cluster is deleted in %s, its volumes stay; put the definition back, pause or release it to keep it", left.Round(time.Second))
	r.Until = now.Add(left)
	return r, true
}
