package check

import (
	"context"
	"regexp"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"stevedore.dev/stevedore/internal/names"
)

// assumedDomain is in the names by which nodes find each other.
const assumedDomain = "cluster.local"

// longestSet leaves room for what Kubernetes puts behind a StatefulSet's name in the label
// controller-revision-hash of each pod, 63 characters long at most.
const longestSet = validation.DNS1123LabelMaxLength - 11

// names are those that pods and nodes are found by.
func (c *checker) names() {
	const check = "dns-names"
	for _, cluster := range c.Clusters {
		good := true
		bad := func(subject, format string, args ...any) {
			good = false
			c.problem(check, subject, "give the cluster or the group a shorter name, before it is made", format, args...)
		}
		for _, service := range []string{names.Service(cluster.Name), names.DiscoveryService(cluster.Name)} {
			if n := len(service); n > validation.DNS1035LabelMaxLength {
				bad(cluster.String(), "the name of the Service %s has %d characters, and DNS takes %d", service, n, validation.DNS1035LabelMaxLength)
			}
		}
		for i := range cluster.Sets {
			set := &cluster.Sets[i]
			if n := len(set.Name); n > longestSet {
				bad(cluster.String()+" "+set.Name, "the name of the StatefulSet has %d characters, and with more than %d no pod of it can be made", n, longestSet)
			}
			last := 0
			if set.Spec.Replicas != nil {
				last = max(0, int(*set.Spec.Replicas)-1)
			}
			full := set.Name + "-" + strconv.Itoa(last) + "." + names.DiscoveryService(cluster.Name) + "." + cluster.Namespace + ".svc." + assumedDomain
			if n := len(full); n > validation.DNS1123SubdomainMaxLength {
				bad(cluster.String()+" "+set.Name, "the name of a pod, %s, has %d characters, and DNS takes %d", full, n, validation.DNS1123SubdomainMaxLength)
			}
		}
		if good {
			c.ok(check, cluster.String(), "the names of its Services and pods fit")
		}
	}
}

// zone is the first one that CoreDNS answers for as Kubernetes.
var zone = regexp.MustCompile(`(?m)^\s*kubernetes\s+(\S+)`)

// domain is that of the cluster: nodes find each other by a name with it.
func (c *checker) domain(ctx context.Context) {
	const check = "cluster-domain"
	configMap, err := c.Client.CoreV1().ConfigMaps("kube-system").Get(ctx, "coredns", metav1.GetOptions{})
	if err != nil {
		c.unknown(check, assumedDomain, "look whether it is your cluster's domain: nodes find each other by it", "the configuration of CoreDNS (kube-system/coredns) is not there, or you may not read it")
		return
	}
	found := zone.FindStringSubmatch(configMap.Data["Corefile"])
	switch {
	case found == nil:
		c.unknown(check, assumedDomain, "look whether it is your cluster's domain: nodes find each other by it", "the configuration of CoreDNS says none")
	case found[1] != assumedDomain:
		c.problem(check, found[1], "have CoreDNS answer for "+assumedDomain+" too", "nodes find each other by names in %s, for which CoreDNS does not answer", assumedDomain)
	default:
		c.ok(check, found[1], "CoreDNS answers for it")
	}
}
