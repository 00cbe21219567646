package gates

// SecretMissingRule is the rule secret-missing.
var SecretMissingRule = Rule{
	Name:   "secret-missing",
	Kind:   Waits,
	Says:   "A Secret that the definition names has to exist and to have the key.",
	Do:     "Create the Secret, or the key in it, in the cluster's namespace; nothing needs to be restarted.",
	Source: "docs/definition.md, spec.users",
}

// SecretMissing names what is missing, for what, and the command that creates it.
func SecretMissing(namespace, secret, key, purpose string, exists bool) Reason {
	if !exists {
		return SecretMissingRule.because("Secret %s, key %s (%s) does not exist; create it: `kubectl -n %s create secret generic %s --from-file=%s=FILE`", secret, key, purpose, namespace, secret, key)
	}
	return SecretMissingRule.because("Secret %s has no value under the key %s (%s); add it: `stevedore check FOLDER` prints a command for that", secret, key, purpose)
}
