package gates

// PasswordUnusableRule is the rule password-unusable.
var PasswordUnusableRule = Rule{
	Name:    "password-unusable",
	Kind:    Refuses,
	Webhook: "password_update",
	Says: "A new password has to be one that a person can type and that CrateDB takes over the PostgreSQL protocol: it does not end in a line break, is UTF-8 text without NUL, and has at most 127 characters of ASCII, fewer of others. " +
		"The user keeps the password that it has, and no other user waits for it.",
	Do: "Make the Secret again without what is named: `kubectl create secret generic NAME --from-literal=KEY=…`, or from a file that was written with `printf %s` and not with `echo`. " +
		"Nothing needs to be restarted.",
	Source: "CrateDB's PostgresWireProtocol and SecureHash; run on 6.3.7 and 6.4.3",
}

// PasswordUnusable names the Secret, the key, what it is for, and why.
func PasswordUnusable(secret, key, purpose, why string) Reason {
	return PasswordUnusableRule.because("Secret %s, key %s (%s), has a value that is not made a password: %s. Make the Secret again without it", secret, key, purpose, why)
}
