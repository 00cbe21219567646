package e2e

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/testbed"
)

// Who runs it outside of the cluster reaches databases through the API server, by a
// right of its own, and says what is missing without it.
func TestFromOutsideADatabaseIsReachedByPortForward(t *testing.T) {
	t.Parallel()
	s := begin(t, "port-forward")
	s.appSecret("app-password")
	server := newRecordingAPIServer(t)
	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders", with(replicasOfHot, 2))})
	daemon := s.start(testbed.DaemonOptions{Args: s.fromDir("--kubeconfig", server.kubeconfig, "--connect", "port-forward", "--look-interval", "1s")})
	s.until("the missing right is said", seldom(func() bool {
		out, _, _ := s.verb("status", "-n", s.ns, "orders")
		return strings.Contains(out, "pods/portforward") && strings.Contains(out, "forbidden")
	}))
	roles, bindings := bed.Admin.RbacV1().Roles(s.ns), bed.Admin.RbacV1().RoleBindings(s.ns)
	_, err := roles.Create(s.ctx, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "forwards"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"pods/portforward"}, Verbs: []string{"create"}},
	}}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = bindings.Create(s.ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "forwards"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "forwards"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: names.DaemonNamespace, Name: "stevedore"}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	s.eventually("it is made", restartPatience, func() bool { return isDone(s.record("orders")) })
	assert.Contains(t, server.listed(server.asked), s.ns+" create pods/portforward")

	// What needs `system` goes the same way, and no password shows.
	const next = "another password of the app's own"
	secrets := bed.Admin.CoreV1().Secrets(s.ns)
	secret, err := secrets.Get(s.ctx, "app-password", metav1.GetOptions{})
	require.NoError(t, err)
	secret.Data = map[string][]byte{"password": []byte(next)}
	_, err = secrets.Update(s.ctx, secret, metav1.UpdateOptions{})
	require.NoError(t, err)
	s.eventually("the password is changed", restartPatience, func() bool {
		_, err := s.query("orders", "app", next, "SELECT 1")
		return err == nil
	})
	s.noPodRestarted()
	_, err = daemon.Stop()
	require.NoError(t, err)
	for _, password := range []string{appPassword, next, s.secretValue(names.SystemSecret("orders"), "password")} {
		assert.NotContains(t, daemon.Log(), password)
	}
}
