package gates

// RepositorySecretRule is the rule repository-secret-missing.
var RepositorySecretRule = Rule{
	Name:   "repository-secret-missing",
	Kind:   Waits,
	Says:   "A Secret that spec.backups names is not there, or lacks the key. Nothing is written to the repository until it is.",
	Do:     "Create the Secret in the cluster's namespace, with the key that the definition names. It goes on by itself.",
	Source: "docs/backups.md",
}

// RepositorySecret names the Secret and the key.
func RepositorySecret(namespace, missing string) Reason {
	return RepositorySecretRule.because("the repository needs Secret %s, which is not in namespace %s; `stevedore check FOLDER` prints the command that creates it", missing, namespace)
}
