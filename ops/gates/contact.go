package gates

import "strings"

// ContactRule is the rule no-contact.
var ContactRule = Rule{
	Name:   "no-contact",
	Kind:   Waits,
	Says:   "Without an answer of the database nothing is decided that depends on it, and nothing is removed.",
	Do:     "See what the pods say: `kubectl get pods`, `kubectl logs`. The daemon has to reach port 5432 of the pods; a NetworkPolicy may be in the way.",
	Source: "docs/safety.md, what always holds",
}

// Contact says why there is none.
func Contact(contact bool, why string) (Reason, bool) {
	if contact {
		return Reason{}, false
	}
	if why == "" {
		why = "it has not been asked yet"
	}
	if strings.Contains(why, Untrusted) {
		return CertificateRule.because("%s", why), true
	}
	return ContactRule.because("no contact with the database: %s", why), true
}
