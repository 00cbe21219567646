package apply_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stevedore.dev/stevedore/internal/apitest"
)

func TestANamespaceThatIsGoneIsOneError(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.admin.CoreV1().Namespaces().Delete(t.Context(), w.namespace, metav1.DeleteOptions{}))
	result, err := w.sync(w.everyKind()...)
	require.Error(t, err)
	require.Len(t, result.Failed, 1)
	assert.ErrorContains(t, err, "missing or terminating, 14 objects cannot be written")
	assert.Len(t, w.writes(), 1, "more than one write was tried")

	w.namespace = "never-made"
	result, err = w.sync(w.everyKind()...)
	require.Error(t, err)
	require.Len(t, result.Failed, 1)
	assert.ErrorContains(t, err, "the namespace never-made is missing or terminating")
}

func TestWhatIsForbiddenIsOneErrorAndWorksOnceItIsAllowed(t *testing.T) {
	w := newWorld(t)
	w.config = server.ConfigFor(apitest.UserToken)
	w.restart()
	err := w.live.EnsureNamespace(t.Context(), w.namespace)
	require.ErrorContains(t, err, "may not get, list and watch ConfigMap, Service, ServiceAccount, StatefulSet.apps")
	assert.NotContains(t, err.Error(), "\n", "one error")
	_, err = w.sync(w.configMap("a"))
	require.Error(t, err)

	w.allow("reads", rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"configmaps", "services", "serviceaccounts",
		"statefulsets", "poddisruptionbudgets", "pods", "persistentvolumeclaims"}, Verbs: []string{"get", "list", "watch"}})
	// The API server's authorizer learns of a role by a watch of its own.
	require.Eventually(t, func() bool { return w.live.EnsureNamespace(t.Context(), w.namespace) == nil }, deadline, poll)
	result, err := w.sync(w.configMap("a"), w.configMap("b"), w.statefulSet())
	require.Error(t, err)
	require.Len(t, result.Failed, 1, "%v", err)
	assert.ErrorContains(t, err, "and so are 3 more objects")

	w.allow("writes", rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"configmaps", "statefulsets"}, Verbs: []string{"create", "patch"}})
	require.Eventually(t, func() bool {
		_, err := w.sync(w.configMap("a"), w.configMap("b"), w.statefulSet())
		return err == nil
	}, deadline, poll)
}

// allow gives the user without rights some, in the test's namespace.
func (w *world) allow(name string, rules ...rbacv1.PolicyRule) {
	w.t.Helper()
	meta := metav1.ObjectMeta{Name: name}
	_, err := w.admin.RbacV1().Roles(w.namespace).Create(w.t.Context(), &rbacv1.Role{ObjectMeta: meta, Rules: rules}, metav1.CreateOptions{})
	require.NoError(w.t, err)
	_, err = w.admin.RbacV1().RoleBindings(w.namespace).Create(w.t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: apitest.User}},
	}, metav1.CreateOptions{})
	require.NoError(w.t, err)
}

func TestASecretIsWatchedUnderARoleThatNamesIt(t *testing.T) {
	w := newWorld(t)
	w.allow("one-secret", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"},
		ResourceNames: []string{"password"}, Verbs: []string{"get", "list", "watch"}})
	w.config = server.ConfigFor(apitest.UserToken)
	w.restart()
	require.Eventually(t, func() bool { return w.live.EnsureSecret(t.Context(), w.namespace, "password") == nil }, deadline, poll)
	_, found := w.live.Secret(w.namespace, "password")
	assert.False(t, found)
	require.ErrorContains(t, w.live.EnsureSecret(t.Context(), w.namespace, "another"), "forbidden")

	_, err := w.admin.CoreV1().Secrets(w.namespace).Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "password"}, StringData: map[string]string{"password": "x"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		secret, ok := w.live.Secret(w.namespace, "password")
		return ok && string(secret.Data["password"]) == "x"
	}, deadline, poll)
}
