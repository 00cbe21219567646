package gates

import "time"

// SystemChangedRule is the rule system-password-changed.
var SystemChangedRule = Rule{
	Name:   "system-password-changed",
	Kind:   Waits,
	Says:   "The Secret of the user system has changed and the database refuses its password. A refusal has several causes, so it has to be seen twice, apart, before the password is set in the database; until then, and until a login has succeeded, nothing else is done there.",
	Do:     "Wait.",
	Source: "docs/operations.md, passwords",
}

// SystemChanged says how long the refusal has to last.
func SystemChanged(secret string, since, wanted time.Duration) Reason {
	return SystemChangedRule.because("Secret %s has changed, and the database refuses user system with its password (for %s by now): when it has refused it for %s the password is set in the database, by exec in a ready pod", secret, since.Round(time.Second), wanted)
}
