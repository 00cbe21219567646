package check

import (
	"context"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// enforceLabel says which level of the Pod Security standards a namespace enforces.
const enforceLabel = "pod-security.kubernetes.io/enforce"

// admission asks the API server whether it would take a pod of each StatefulSet, by a dry
// run: so all of its admission answers, Pod Security included. Where the person may make no
// pods, the level of the namespace is read.
func (c *checker) admission(ctx context.Context) {
	const check = "pod-security"
	for _, ns := range c.there() {
		no, err := refused(ctx, c.Client, []authorizationv1.ResourceAttributes{{Namespace: ns, Resource: "pods", Verb: "create"}})
		asks := err == nil && len(no) == 0
		level, known := "", false
		if object, err := c.Client.CoreV1().Namespaces().Get(ctx, ns, metav1.GetOptions{}); err == nil {
			level, known = object.Labels[enforceLabel], true
		}
		for _, cluster := range c.Clusters {
			if cluster.Namespace != ns {
				continue
			}
			for i := range cluster.Sets {
				set := &cluster.Sets[i]
				subject := cluster.String() + " " + set.Name
				switch {
				case asks:
					c.dryRun(ctx, check, subject, ns, set.Name, &set.Spec.Template)
				case known && (level == "" || level == "privileged"):
					c.ok(check, subject, "the namespace enforces no level that refuses its pods")
				case known && (level == "restricted" || privileged(&set.Spec.Template.Spec)):
					c.problem(check, subject, cure(level), "the namespace enforces the level %s, which refuses its pods", level)
				case known:
					c.ok(check, subject, "the namespace enforces the level %s, which takes its pods", level)
				default:
					c.unknown(check, subject, "ask somebody who may", "you may neither read the namespace nor make pods in it")
				}
			}
		}
	}
}

// cure of a level that refuses the privileged init container.
func cure(level string) string {
	const label = "label the namespace " + enforceLabel + "=privileged"
	if level == "restricted" {
		return label
	}
	return label + ", or set vm.max_map_count on the Kubernetes nodes and spec.operations.sysctl: host in the definition"
}

func (c *checker) dryRun(ctx context.Context, check, subject, ns, set string, template *corev1.PodTemplateSpec) {
	pod := &corev1.Pod{ObjectMeta: *template.ObjectMeta.DeepCopy(), Spec: *template.Spec.DeepCopy()}
	// No controller takes it for its own: it is never stored.
	pod.Namespace, pod.Name, pod.GenerateName = ns, "", set+"-check-"
	// The volumes of its claims are made by the StatefulSet.
	for i := range pod.Spec.Containers {
		addClaims(pod, &pod.Spec.Containers[i])
	}
	for i := range pod.Spec.InitContainers {
		addClaims(pod, &pod.Spec.InitContainers[i])
	}
	_, err := c.Client.CoreV1().Pods(ns).Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	switch {
	case err == nil:
		c.ok(check, subject, "the API server takes its pods")
	case strings.Contains(err.Error(), "PodSecurity"):
		level := "baseline"
		if strings.Contains(err.Error(), `"restricted:`) {
			level = "restricted"
		}
		c.problem(check, subject, cure(level), "the API server refuses its pods: %v", err)
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		c.problem(check, subject, "change what refuses it, or the definition", "the API server refuses its pods: %v", err)
	default:
		c.unread(check, subject, "what the API server says of its pods", err)
	}
}

// addClaims gives each mount without a volume one.
func addClaims(pod *corev1.Pod, container *corev1.Container) {
	for _, mount := range container.VolumeMounts {
		if !slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == mount.Name }) {
			pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: mount.Name, VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: mount.Name + "-" + pod.GenerateName + "0"},
			}})
		}
	}
}

func privileged(spec *corev1.PodSpec) bool {
	return slices.ContainsFunc(spec.InitContainers, func(c corev1.Container) bool {
		return c.SecurityContext != nil && c.SecurityContext.Privileged != nil && *c.SecurityContext.Privileged
	})
}
