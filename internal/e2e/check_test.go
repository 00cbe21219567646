package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stevedore.dev/stevedore/internal/check"
	"stevedore.dev/stevedore/internal/names"
)

// checked are the findings by their check, once the command ends with that code and these checks have
// that state; a check with a problem has that one. What cannot be read in time is unknown until it is read.
func (s *situation) checked(code int, state check.State, checks []string, args ...string) (all map[string]check.Finding) {
	s.Helper()
	var seen string
	defer func() {
		if s.Failed() {
			s.Log(seen)
		}
	}()
	s.until(fmt.Sprintf("check ends with %d, and %s: %s", code, strings.Join(checks, ", "), state), func() bool {
		out, stderr, got := s.verb(append([]string{"check", "-o", "json", s.dir}, args...)...)
		seen = fmt.Sprintf("it ended with %d:\n%s%s", got, out, stderr)
		all = s.worst(out)
		return got == code && !slices.ContainsFunc(checks, func(name string) bool { return all[name].State != state })
	})
	return all
}

func (s *situation) worst(out string) map[string]check.Finding {
	s.Helper()
	var all []check.Finding
	require.NoError(s, json.Unmarshal([]byte(out), &all), out)
	worst := map[string]check.Finding{}
	for _, one := range all {
		if was, is := worst[one.Check]; !is || was.State == check.OK || one.State == check.Problem {
			worst[one.Check] = one
		}
	}
	return worst
}

// Before the first push: what the API server itself says of rights, pods, classes and room.
func TestACheckFindsWhatWouldKeepAClusterFromStarting(t *testing.T) {
	t.Parallel()
	s := begin(t, "check")
	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders")})
	admin := bed.Kubernetes.Kubeconfig()

	all := s.checked(2, check.Problem, []string{"user-secrets"}, "--kubeconfig", admin)
	assert.Contains(t, all["user-secrets"].Message, "the password of user app")
	s.appSecret("app-password")
	all = s.checked(0, check.OK, []string{"user-secrets", "definitions", "kubernetes", "namespace", "your-rights", "daemon-rights", "others",
		"crate-operator", "storage-class", "kubernetes-nodes", "quota", "limit-range", "pod-security", "dns-names"}, "--kubeconfig", admin)
	assert.Equal(t, check.Unknown, all["cluster-domain"].State)
	pods, err := bed.Admin.CoreV1().Pods(s.ns).List(s.ctx, metav1.ListOptions{})
	require.NoError(t, err)
	assert.Empty(t, pods.Items, "a check makes no pod")

	// As somebody who may do little it says what is unknown, and what may not be done.
	all = s.checked(2, check.Unknown, []string{"user-secrets", "daemon-rights", "storage-class", "kubernetes-nodes", "quota"}, "--kubeconfig", s.reader())
	assert.Equal(t, check.Problem, all["your-rights"].State)

	problem := func(name, words string) {
		t.Helper()
		one := s.checked(2, check.Problem, []string{name}, "--kubeconfig", admin)[name]
		assert.Contains(t, one.Message, words)
		assert.NotEmpty(t, one.Do)
	}
	missing := with("spec.nodes.data.0.resources.disk.storageClass", s.ns+"-none")
	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders", missing)})
	problem("storage-class", "the storage class "+s.ns+"-none does not exist")

	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders", with(replicasOfHot, 900))})
	problem("kubernetes-nodes", "of its 900 pods find a Node")

	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders")})
	level := func(level string) {
		t.Helper()
		ns, err := bed.Admin.CoreV1().Namespaces().Get(s.ctx, s.ns, metav1.GetOptions{})
		require.NoError(t, err)
		if ns.Labels == nil {
			ns.Labels = map[string]string{}
		}
		ns.Labels["pod-security.kubernetes.io/enforce"] = level
		_, err = bed.Admin.CoreV1().Namespaces().Update(s.ctx, ns, metav1.UpdateOptions{})
		require.NoError(t, err)
	}
	level("baseline")
	// Admission sees the label a moment later.
	s.until("a privileged container is refused", func() bool {
		out, _, _ := s.verb("check", "-o", "json", s.dir, "--kubeconfig", admin)
		return strings.Contains(out, "PodSecurity")
	})
	problem("pod-security", "PodSecurity")
	assert.Contains(t, s.checked(2, check.Problem, []string{"pod-security"}, "--kubeconfig", admin)["pod-security"].Do, "sysctl: host")
	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders", with("spec.operations.sysctl", "host"))})
	s.checked(0, check.OK, []string{"pod-security"}, "--kubeconfig", admin)
	level("privileged")

	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "small"}, Spec: corev1.ResourceQuotaSpec{
		Hard: corev1.ResourceList{corev1.ResourcePersistentVolumeClaims: resource.MustParse("1")},
	}}
	_, err = bed.Admin.CoreV1().ResourceQuotas(s.ns).Create(s.ctx, quota, metav1.CreateOptions{})
	require.NoError(t, err)
	s.until("the quota is in force", func() bool {
		now, err := bed.Admin.CoreV1().ResourceQuotas(s.ns).Get(s.ctx, "small", metav1.GetOptions{})
		return err == nil && len(now.Status.Hard) > 0
	})
	problem("quota", "persistentvolumeclaims: 2 more are needed, and 1 are free of 1")
	require.NoError(t, bed.Admin.CoreV1().ResourceQuotas(s.ns).Delete(s.ctx, "small", metav1.DeleteOptions{}))

	require.NoError(t, bed.Admin.RbacV1().RoleBindings(s.ns).Delete(s.ctx, names.FieldManager, metav1.DeleteOptions{}))
	s.until("the daemon's missing rights are named", func() bool {
		out, _, _ := s.verb("check", "-o", "json", s.dir, "--kubeconfig", admin)
		one := s.worst(out)["daemon-rights"]
		return one.State == check.Problem && strings.Contains(one.Do, "kubectl apply -n "+s.ns+" -k deploy/namespace")
	})
}
