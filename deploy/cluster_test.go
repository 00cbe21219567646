package deploy

import (
	"testing"

	"github.com/stretchr/testify/assert"
	rbacv1 "k8s.io/api/rbac/v1"
)

// It is optional, and the only right beyond a namespace.
func TestTheOptionalClusterWideRightOnlyListsStorageClassesAndVolumes(t *testing.T) {
	kinds := built(t, "cluster")
	assert.Len(t, kinds, 2)
	role := only[rbacv1.ClusterRole](t, "cluster", "ClusterRole")
	for _, rule := range role.Rules {
		assert.Equal(t, []string{"list"}, rule.Verbs)
		assert.Subset(t, []string{"storageclasses", "volumeattributesclasses", "persistentvolumes"}, rule.Resources)
	}
	binding := only[rbacv1.ClusterRoleBinding](t, "cluster", "ClusterRoleBinding")
	assert.Equal(t, role.Name, binding.RoleRef.Name)
	assert.Equal(t, only[rbacv1.RoleBinding](t, ".", "RoleBinding").Subjects, binding.Subjects, "the daemon's own account")
}
