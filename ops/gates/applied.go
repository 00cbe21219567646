package gates

import "strings"

// AppliedRule is the rule objects-applied.
var AppliedRule = Rule{
	Name:   "objects-applied",
	Kind:   Waits,
	Says:   "A revision counts as applied when every object is live as it was applied.",
	Do:     "The message is the API server's. Correct the definition, the quota, the Role or the admission webhook that it names.",
	Source: "docs/safety.md, what always holds",
}

// Applied counts what Kubernetes refused.
func Applied(errors []string) (Reason, bool) {
	if len(errors) == 0 {
		return Reason{}, false
	}
	return AppliedRule.because("%d object(s) could not be applied: %s", len(errors), strings.Join(errors, "; ")), true
}
