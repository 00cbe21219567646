package check

import (
	"context"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

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
		var passwords []neededKey
		for _, user := range cluster.Users {
			passwords = append(passwords, neededKey{user.Secret, "the password of user " + user.Name, true})
		}
		c.allThere(ctx, check, cluster, brought, passwords, "the password of each of %d user(s) is in its Secret, or comes with the push")
		c.repository(ctx, cluster, brought)
		c.keystore(ctx, cluster, brought)
	}
}

func (c *checker) repository(ctx context.Context, cluster Cluster, brought map[string]bool) {
	var keys []neededKey
	for _, key := range cluster.Repository {
		keys = append(keys, neededKey{SecretKey: key, what: "the repository of spec.backups"})
	}
	c.allThere(ctx, "backup-secrets", cluster, brought, keys, "each of the %d key(s) of spec.backups is in its Secret, or comes with the push")
}

func (c *checker) keystore(ctx context.Context, cluster Cluster, brought map[string]bool) {
	var keys []neededKey
	for _, key := range cluster.TLS {
		keys = append(keys, neededKey{SecretKey: key, what: "the keystore of spec.cluster.ssl"})
	}
	c.allThere(ctx, "tls-secrets", cluster, brought, keys, "each of the %d key(s) of spec.cluster.ssl is in its Secret, or comes with the push")
}

// Keystore looks for the Secrets of spec.cluster.ssl.
func Keystore(ctx context.Context, client kubernetes.Interface, cluster Cluster) []Finding {
	c, brought := &checker{Options: Options{Client: client}}, map[string]bool{}
	for _, name := range cluster.Brings {
		brought[cluster.Namespace+"/"+name] = true
	}
	c.keystore(ctx, cluster, brought)
	return c.found
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
	var asked []string
	for _, one := range all {
		if brought[cluster.Namespace+"/"+one.Name] || slices.Contains(asked, one.Name) {
			continue
		}
		asked = append(asked, one.Name)
		keys := slices.DeleteFunc(slices.Clone(all), func(k neededKey) bool { return k.Name != one.Name })
		if !c.hasKeys(ctx, check, cluster, one.Name, keys) {
			missing = true
		}
	}
	if len(all) > 0 && !missing {
		c.ok(check, cluster.String(), good, len(all))
	}
}

// hasKeys says whether the Secret is there and has a value under each of the keys; what it does not
// have, or may not be read, is a finding. The values themselves go nowhere.
func (c *checker) hasKeys(ctx context.Context, check string, cluster Cluster, name string, keys []neededKey) bool {
	secret, err := c.Client.CoreV1().Secrets(cluster.Namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		c.problem(check, cluster.String(), created(cluster, name, keys), "Secret %s, %s does not exist", name, listed(keys))
		return false
	case err != nil:
		c.unread(check, cluster.String(), "Secret "+name+" in namespace "+cluster.Namespace, err)
		return false
	}
	all := true
	for _, key := range keys {
		words := ""
		if len(secret.Data[key.Key]) == 0 {
			reason := gates.SecretMissing(cluster.Namespace, name, key.Key, key.what, true)
			words, _, _ = strings.Cut(reason.Message, ";") // the remedy is a command
		} else if key.password {
			if why := password.Unusable(secret.Data[key.Key]); why != "" {
				words = gates.PasswordUnusable(name, key.Key, key.what, why).Message
			}
		}
		if words != "" {
			c.problem(check, cluster.String(), replaced(cluster, key), "%s", words)
			all = false
		}
	}
	return all
}

// listed are the keys, and what each is for.
func listed(keys []neededKey) string {
	var each []string
	for i, key := range keys {
		text := "key " + key.Key
		if i == len(keys)-1 || keys[i+1].what != key.what {
			text += " (" + key.what + ")"
		}
		each = append(each, text)
	}
	return strings.Join(each, ", ")
}

// created is the command that creates a Secret with all its keys: a second one would be refused.
func created(cluster Cluster, name string, keys []neededKey) string {
	command, trap := "kubectl -n "+cluster.Namespace+" create secret generic "+name, ""
	for i, key := range keys {
		file := "FILE"
		if len(keys) > 1 {
			file += strconv.Itoa(i + 1)
		}
		command, trap = command+" --from-file="+key.Key+"="+file, key.trap()
	}
	return command + trap
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
