package check

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// secrets looks for the password of each user, in the words of the gate secret-missing. A
// Secret that a definition of the same folder brings along is created by the push.
func (c *checker) secrets(ctx context.Context) {
	const check = "user-secrets"
	brought := map[string]bool{}
	for _, cluster := range c.Clusters {
		for _, name := range cluster.Brings {
			brought[cluster.Namespace+"/"+name] = true
		}
	}
	missing := map[string]bool{}
	for _, ns := range c.missing {
		missing[ns] = true
	}
	for _, cluster := range c.Clusters {
		if len(cluster.Users) == 0 || missing[cluster.Namespace] {
			continue
		}
		good := true
		for _, user := range cluster.Users {
			if !brought[cluster.Namespace+"/"+user.Secret.Name] && !c.hasKey(ctx, check, cluster, user) {
				good = false
			}
		}
		if good {
			c.ok(check, cluster.String(), "the password of each of %d user(s) is in its Secret, or comes with the push", len(cluster.Users))
		}
	}
}

// hasKey says whether the Secret is there and has a value under its key; what it does not
// have, or may not be read, is a finding. The value itself goes nowhere.
func (c *checker) hasKey(ctx context.Context, check string, cluster Cluster, user model.User) bool {
	secret, err := c.Client.CoreV1().Secrets(cluster.Namespace).Get(ctx, user.Secret.Name, metav1.GetOptions{})
	gone := apierrors.IsNotFound(err)
	switch {
	case err != nil && !gone:
		c.unread(check, cluster.String(), "Secret "+user.Secret.Name+" in namespace "+cluster.Namespace, err)
	case gone || len(secret.Data[user.Secret.Key]) == 0:
		reason := gates.SecretMissing(user.Secret.Name, user.Secret.Key, "the password of user "+user.Name, !gone)
		remedy := "kubectl -n " + cluster.Namespace + " create secret generic " + user.Secret.Name + " --from-file=" + user.Secret.Key + "=FILE"
		if !gone {
			// It exists, and create would fail.
			remedy = "kubectl -n " + cluster.Namespace + " patch secret " + user.Secret.Name + ` --type merge -p "{\"data\":{\"` + user.Secret.Key + `\":\"$(base64 -w0 FILE)\"}}"`
		}
		c.problem(check, cluster.String(), remedy, "%s", reason.Message)
	default:
		return true
	}
	return false
}
