package gates

// PasswordChangeRule is the rule password-change-not-supported.
var PasswordChangeRule = Rule{
	Name:   "password-change-not-supported",
	Kind:   Refuses,
	Says:   "A change of the system user's own password in its Secret is not supported yet; the database keeps the old one. The users of spec.users are changed.",
	Do:     "Put the old password back into the Secret.",
	Source: "docs/safety.md, passwords",
}

// PasswordChange names the user and the Secret.
func PasswordChange(user, secret string) Reason {
	return PasswordChangeRule.because("the password in Secret %s is not the one that user %q logs in with: changing passwords is not supported yet, the database keeps the old one; put it back", secret, user)
}
