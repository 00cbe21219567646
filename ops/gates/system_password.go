package gates

// SystemPasswordLostRule is the rule system-password-lost.
var SystemPasswordLostRule = Rule{
	Name:    "system-password-lost",
	Kind:    Refuses,
	Webhook: "password_update",
	Says:    "After bootstrap the Secret of the user system is not recreated by itself: a person who has a backup of it wants that one. One that a person makes is taken, and its password is set in the database.",
	Do: "Restore the Secret, or create it with a new password: `kubectl create secret generic user-system-CLUSTER --from-literal=password=\"$(openssl rand -base64 24)\"`. " +
		"stevedore then sets that password in the database.",
	Source: "docs/operations.md, passwords",
}

// SystemPasswordLost names the Secret and the way back.
func SystemPasswordLost(namespace, secret string, exists bool) Reason {
	if exists {
		return SystemPasswordLostRule.because("Secret %s has no key `password`, and the cluster is past its bootstrap: put a password there, the old one or any new one; a new one is set in the database", secret)
	}
	return SystemPasswordLostRule.because("Secret %s is gone, and the cluster is past its bootstrap: restore it, or create it with a new password, which is then set in the database: "+
		"kubectl -n %s create secret generic %s --from-literal=password=\"$(openssl rand -base64 24)\"", secret, namespace, secret)
}
