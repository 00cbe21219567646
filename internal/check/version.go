package check

import (
	"context"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stevedore.dev/stevedore/render/definition"
)

// Kubernetes 1.oldest has all that is used (policy/v1, server-side apply of each kind);
// 1.tested is what all tests run on.
const (
	oldest = 25
	tested = 36
)

func (c *checker) version(context.Context) {
	const check = "kubernetes"
	is, err := c.Client.Discovery().ServerVersion()
	if err != nil {
		c.unread(check, "version", "the version of the API server", err)
		return
	}
	minor, err := strconv.Atoi(strings.TrimRight(is.Minor, "+"))
	switch {
	case err != nil || is.Major != "1":
		c.unknown(check, is.GitVersion, "", "this version is not known; the tests run on 1.%d", tested)
	case minor < oldest:
		c.problem(check, is.GitVersion, "upgrade Kubernetes", "older than 1.%d", oldest)
	case minor != tested:
		c.unknown(check, is.GitVersion, "try it with a cluster that may be lost", "not tested: the tests run on 1.%d", tested)
	default:
		c.ok(check, is.GitVersion, "the tests run on it")
	}
}

// versions are those of CrateDB.
func (c *checker) versions() {
	const check = "cratedb-version"
	for _, cluster := range c.Clusters {
		if why := definition.UnknownVersion(cluster.Version); why != "" {
			c.unknown(check, cluster.String(), "look whether the image of "+cluster.Version+" exists, and whether there is a newer stevedore; else correct spec.cluster.version", "%s", why)
			continue
		}
		c.ok(check, cluster.String(), "the minor version of CrateDB %s is known", cluster.Version)
	}
}

func (c *checker) namespaces(ctx context.Context) {
	for _, ns := range c.Namespaces {
		_, err := c.Client.CoreV1().Namespaces().Get(ctx, ns, metav1.GetOptions{})
		switch {
		case err == nil:
			c.ok("namespace", ns, "it is there")
		case apierrors.IsNotFound(err):
			c.missing = append(c.missing, ns)
			c.problem("namespace", ns, "kubectl create namespace "+ns, "it does not exist, and stevedore makes none")
			c.unknown("namespace", ns, "create the namespace, and check again", "without it these checks cannot be made there: your-rights, daemon-rights, others, crate-operator, quota, limit-range, pod-security")
		default:
			c.unread("namespace", ns, "the namespace", err)
		}
	}
}
