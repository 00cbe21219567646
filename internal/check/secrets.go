package check

import (
	"context"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stevedore.dev/stevedore/internal/password"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// secrets looks for the password of each user, the keystore and the keys of the repository of snapshots, in the words of the
// gates secret-missing and password-unusable. A Secret that a definition of the same folder brings along is created by the push.
func (c *checker) secrets(ctx context.Context) {
	const check = "user-secrets"
	brought := map[string]bool{}
	for _, cluster := range c.Clusters {
		for _, name := range cluster.Brings {
			brought[cluster.Namespace+"/"+name] = true
		}
	}
	for _, cluster := range c.Clusters {
		var passwords, keys, keystore []neededKey
		for _, user := range cluster.Users {
			passwords = append(passwords, neededKey{user.Secret, "the password of user " + user.Name, true})
		}
		for _, key := range cluster.Repository {
			keys = append(keys, neededKey{SecretKey: key, what: "the repository of spec.backups"})
		}
		for _, key := range cluster.TLS {
			keystore = append(keystore, neededKey{SecretKey: key, what: "the keystore of spec.cluster.ssl"})
		}
		c.allThere(ctx, check, cluster, brought, passwords, "the password of each of %d user(s) is in its Secret, or comes with the push")
		c.allThere(ctx, "backup-secrets", cluster, brought, keys, "each of the %d key(s) of spec.backups is in its Secret, or comes with the push")
		c.allThere(ctx, "tls-secrets", cluster, brought, keystore, "each of the %d key(s) of spec.cluster.ssl is in its Secret, or comes with the push")
	}
}

// neededKey is a key of a Secret, and what for.
type neededKey struct {
	model.SecretKey
	what     string
	password bool
}

// allThere says what is missing, or that nothing is; good has the number in it.
func (c *checker) allThere(ctx context.Context, check string, cluster Cluster, brought map[string]bool, all []neededKey, good string) {
	missing := false
	for _, one := range all {
		if !brought[cluster.Namespace+"/"+one.Name] && !c.hasKey(ctx, check, cluster, one) {
			missing = true
		}
	}
	if len(all) > 0 && !missing {
		c.ok(check, cluster.String(), good, len(all))
	}
}

// hasKey says whether the Secret is there and has a value under its key; what it does not
// have, or may not be read, is a finding. The value itself goes nowhere.
func (c *checker) hasKey(ctx context.Context, check string, cluster Cluster, key neededKey) bool {
	secret, err := c.Client.CoreV1().Secrets(cluster.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
	gone, why := apierrors.IsNotFound(err), ""
	if err == nil && key.password {
		why = password.Unusable(secret.Data[key.Key])
	}
	switch {
	case err != nil && !gone:
		c.unread(check, cluster.String(), "Secret "+key.Name+" in namespace "+cluster.Namespace, err)
	case gone || len(secret.Data[key.Key]) == 0:
		reason := gates.SecretMissing(key.Name, key.Key, key.what, !gone)
		remedy := "kubectl -n " + cluster.Namespace + " create secret generic " + key.Name + " --from-file=" + key.Key + "=FILE" + key.trap()
		if !gone {
			// It exists, and create would fail.
			remedy = replaced(cluster, key)
		}
		missing, _, _ := strings.Cut(reason.Message, ";") // the remedy names the namespace too
		c.problem(check, cluster.String(), remedy, "%s", missing)
	case why != "":
		reason := gates.PasswordUnusable(key.Name, key.Key, key.what, why)
		c.problem(check, cluster.String(), replaced(cluster, key), "%s", reason.Message)
	default:
		return true
	}
	return false
}

// replaced is the command that gives a Secret another value under the key.
func replaced(cluster Cluster, key neededKey) string {
	return "kubectl -n " + cluster.Namespace + " patch secret " + key.Name + ` --type merge -p "{\"data\":{\"` + key.Key + `\":\"$(base64 -w0 FILE)\"}}"` + key.trap()
}

// trap is what a command warns of: an editor ends a file with a line break, which nobody types.
func (k neededKey) trap() string {
	if k.password {
		return "  # no line break at the end of FILE"
	}
	return ""
}
