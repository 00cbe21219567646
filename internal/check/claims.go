package check

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// SharedClaim is a claim that pods mount though no StatefulSet makes it: for the folder of spec.backups.fs, mostly.
type SharedClaim struct {
	Name string
	// Pods mount it, in all.
	Pods int32
	// Place is where the definition says so, as FILE:LINE; "" where that is not known.
	Place string
}

// SharedClaims are those that the StatefulSets of a cluster mount.
func (c Cluster) SharedClaims() (all []SharedClaim) {
	for i := range c.Sets {
		pods := int32(1)
		if n := c.Sets[i].Spec.Replicas; n != nil {
			pods = *n
		}
		for _, v := range c.Sets[i].Spec.Template.Spec.Volumes {
			if v.PersistentVolumeClaim == nil {
				continue
			}
			name := v.PersistentVolumeClaim.ClaimName
			at := slices.IndexFunc(all, func(s SharedClaim) bool { return s.Name == name })
			if at < 0 {
				at, all = len(all), append(all, SharedClaim{Name: name, Place: c.Places[name]})
			}
			all[at].Pods += pods
		}
	}
	return all
}

// At is where a claim stands, before a sentence about it.
func (s SharedClaim) At() string {
	if s.Place == "" {
		return ""
	}
	return s.Place + ": "
}

// Unread is what could not be read.
func (s SharedClaim) Unread(namespace string) string {
	what := "PersistentVolumeClaim " + s.Name + " in namespace " + namespace
	if s.Place != "" {
		what += ", which " + s.Place + " names"
	}
	return what
}

// LookAtClaim says what is wrong with a claim; "" for nothing. An error is of one that could not be read.
func LookAtClaim(ctx context.Context, client kubernetes.Interface, namespace string, s SharedClaim) (problem string, err error) {
	claim, err := client.CoreV1().PersistentVolumeClaims(namespace).Get(ctx, s.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return "PersistentVolumeClaim " + s.Name + " does not exist, and no pod that mounts it starts", nil
	case err != nil:
		return "", err
	case s.Pods > 1 && !slices.Contains(claim.Spec.AccessModes, corev1.ReadWriteMany):
		var modes []string
		for _, mode := range claim.Spec.AccessModes {
			modes = append(modes, string(mode))
		}
		return "PersistentVolumeClaim " + s.Name + " has " + strings.Join(modes, ", ") + ": pods on several Nodes mount it, which needs ReadWriteMany", nil
	}
	return "", nil
}

// claims looks for those that the pods share.
func (c *checker) claims(ctx context.Context) {
	const check = "shared-volume"
	for _, cluster := range c.Clusters {
		for _, shared := range cluster.SharedClaims() {
			if slices.Contains(cluster.BringsClaims, shared.Name) {
				c.ok(check, cluster.String(), "PersistentVolumeClaim %s comes with the push", shared.Name)
				continue
			}
			problem, err := LookAtClaim(ctx, c.Client, cluster.Namespace, shared)
			switch {
			case err != nil:
				c.unread(check, cluster.String(), shared.Unread(cluster.Namespace), err)
			case problem != "":
				c.problem(check, cluster.String(), "create a claim of that name with the access mode ReadWriteMany in namespace "+cluster.Namespace, "%s%s", shared.At(), problem)
			default:
				c.ok(check, cluster.String(), "PersistentVolumeClaim %s is there", shared.Name)
			}
		}
	}
}
