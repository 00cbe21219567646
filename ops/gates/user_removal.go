package gates

// UserRemovalRule is the rule user-removal-not-supported.
var UserRemovalRule = Rule{
	Name:   "user-removal-not-supported",
	Kind:   Refuses,
	Says:   "A user that is gone from spec.users stays in the database: dropping users is not supported yet.",
	Do:     "`DROP USER` by hand, as the message says; the refusal ends by itself.",
	Source: "docs/definition.md, spec.users",
}

// UserRemoval names the user.
func UserRemoval(user string) Reason {
	return UserRemovalRule.because("user %q is gone from spec.users and stays in the database: dropping users is not supported yet; run DROP USER yourself, or put the user back", user)
}
