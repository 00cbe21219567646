package gates

// SystemPasswordLostRule is the rule system-password-lost.
var SystemPasswordLostRule = Rule{
	Name:   "system-password-lost",
	Kind:   Refuses,
	Says:   "After bootstrap the Secret of the user system is not made anew, since the database would not take the new password.",
	Do:     "Make the Secret again as the message says.",
	Source: "docs/safety.md, passwords",
}

// SystemPasswordLost names the Secret and the way back.
func SystemPasswordLost(secret string, exists bool) Reason {
	what := "is gone"
	if exists {
		what = "has no key `password`"
	}
	return SystemPasswordLostRule.because("Secret %s %s, and the cluster is past its bootstrap: restore it from a backup, or choose a new password, set it with `kubectl exec` and `crash` (ALTER USER \"system\" SET (password = '…')) and create the Secret with it under the key `password`", secret, what)
}
