package gates

import "time"

// SystemRefusedRule is the rule system-login-refused.
var SystemRefusedRule = Rule{
	Name:    "system-login-refused",
	Kind:    Refuses,
	Webhook: "password_update",
	Says:    "The database refuses the password of the user system, whose Secret has not changed, though every pod is ready: somebody has changed it in the database.",
	Do: "Put the password that the database has into the Secret, or any new one: a Secret that has changed is set in the database " +
		"(`kubectl patch secret user-system-CLUSTER --type merge -p '{\"stringData\":{\"password\":\"…\"}}'`).",
	Source: "docs/operations.md, passwords",
}

// SystemRefused says for how long.
func SystemRefused(secret string, since time.Duration) Reason {
	return SystemRefusedRule.because("the database has refused user system with the password of Secret %s for %s, and the Secret has not changed since it was verified: somebody has changed the password in the database. "+
		"Put that one, or any new one, into the Secret under the key `password`: what is new there is set in the database", secret, since.Round(time.Second))
}
