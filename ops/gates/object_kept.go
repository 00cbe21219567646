package gates

import "strings"

// ObjectKeptRule is the rule object-kept.
var ObjectKeptRule = Rule{
	Name:    "object-kept",
	Kind:    Waits,
	Informs: true,
	Says:    "What the definition makes no more is removed, but no Secret, and nothing that a template of the cluster still names. It holds nothing back.",
	Do:      "Delete the Secret by hand when nobody reads it any more, or take the label `stevedore.dev/cluster` off it. What a template names goes when that template does.",
	Source:  "docs/ownership.md, what is removed",
}

// ObjectKept names what a template uses and the Secrets that stay.
func ObjectKept(used, secrets []string) (Reason, bool) {
	var words []string
	if len(used) > 0 {
		words = append(words, strings.Join(firstOf(used, 5), ", ")+" is still named by a template")
	}
	if len(secrets) > 0 {
		words = append(words, strings.Join(firstOf(secrets, 5), ", ")+" is never deleted by stevedore: delete it, or take its label off")
	}
	if len(words) == 0 {
		return Reason{}, false
	}
	return ObjectKeptRule.because("%d object(s) are made no more and stay: %s", len(used)+len(secrets), strings.Join(words, "; ")), true
}

func firstOf(list []string, n int) []string {
	if len(list) <= n {
		return list
	}
	return append(append(make([]string, 0, n+1), list[:n]...), "…")
}
