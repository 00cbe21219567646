package deploy

import (
	"testing"

	"github.com/stretchr/testify/assert"
	rbacv1 "k8s.io/api/rbac/v1"
)

// Whoever does not apply it has a daemon that cannot delete a volume, whatever a definition says.
func TestOnlyTheOptionalRightOfANamespaceLetsClaimsBeDeleted(t *testing.T) {
	role := only[rbacv1.Role](t, "volumes", "Role")
	assert.Equal(t, []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"persistentvolumeclaims"}, Verbs: []string{"get", "delete"}}}, role.Rules)
	for _, rule := range only[rbacv1.Role](t, "namespace", "Role").Rules {
		if len(rule.Resources) > 0 && rule.Resources[0] == "persistentvolumeclaims" {
			assert.NotContains(t, rule.Verbs, "delete")
		}
	}
}
