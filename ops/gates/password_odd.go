package gates

// PasswordOddRule is the rule password-odd.
var PasswordOddRule = Rule{
	Name:    "password-odd",
	Kind:    Waits,
	Informs: true,
	Says:    "A password that was verified stays, though one like it would not be made a password any more: it is said, and holds nothing up.",
	Do:      "Give the user another password when it suits: whoever types this one cannot log in, or not over each protocol.",
	Source:  "docs/operations.md, passwords",
}

// PasswordOdd names the Secret, the key, what it is for, and why.
func PasswordOdd(secret, key, purpose, why string) Reason {
	return PasswordOddRule.because("Secret %s, key %s (%s), has a password that works as it is and that is left: %s", secret, key, purpose, why)
}
