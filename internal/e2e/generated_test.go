package e2e

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"stevedore.dev/stevedore/internal/testbed"
)

// kustomize appends a hash of its content to the name of a Secret that it generates: the
// definition follows the name, and another password is another name.
func TestAGeneratedSecretGivesAUserItsPasswordAndTheNextOne(t *testing.T) {
	t.Parallel()
	s := begin(t, "generated-secret")
	kustomization := func(password string) string {
		return fmt.Sprintf("resources: [orders.yaml]\nsecretGenerator:\n- name: app-password\n  literals: [%q]\n", "password="+password)
	}
	logsIn := func(password string) func() bool {
		return func() bool {
			_, err := s.query("orders", "app", password, "SELECT 1")
			return err == nil
		}
	}
	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders"), "kustomization.yaml": kustomization("one password")})
	s.start(testbed.DaemonOptions{Args: s.fromDir()})
	s.done("orders")
	s.until("the user logs in", logsIn("one password"))
	s.write(map[string]string{"kustomization.yaml": kustomization("another password")})
	s.until("the user logs in with the password of the next Secret", logsIn("another password"))
	s.done("orders")
	assert.False(t, logsIn("one password")())
	s.noPodRestarted()
}
