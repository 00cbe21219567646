package gates

// SecretChangedRule is the rule secret-changed.
var SecretChangedRule = Rule{
	Name:    "secret-changed",
	Kind:    Waits,
	Informs: true,
	Says:    "A Secret that nodes read when they start has changed since they did: nothing is restarted for it by itself, and nothing waits for it.",
	Do:      "Run `stevedore restart` when it suits. A keystore file alone CrateDB reads again by itself, within seconds of its change in the pod; passwords of a keystore it reads when it starts.",
	Source:  "CrateDB manual, secured communications (ssl.resource_poll_interval)",
}

// SecretChanged names the Secret, the fields that refer to it, and how many pods
// started before.
func SecretChanged(secret, fields string, pods int) Reason {
	return SecretChangedRule.because("Secret %s (%s) has changed, and %d pod(s) started before: what is in the environment of a node is read when it starts, so run `stevedore restart` when it suits; a keystore file CrateDB reads again by itself", secret, fields, pods)
}
