package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stevedore.dev/stevedore/internal/testbed"
	"stevedore.dev/stevedore/ops/model"
)

const nextPassword = "another password, 'quoted'"

// passwordVoyage is a made cluster whose daemon has stopped, and a Secret that
// has changed since.
func passwordVoyage(t *testing.T, ns string) *voyage {
	t.Helper()
	v := &voyage{situation: begin(t, ns), faults: os.Getenv("STEVEDORE_FAULTS_BINARY")}
	if v.faults == "" {
		v.faults = "../../bin/stevedore-faults"
	}
	v.appSecret("app-password")
	v.receiver = testbed.NewReceiver(nil)
	t.Cleanup(v.receiver.Close)
	v.write(map[string]string{"orders.yaml": definition(v.ns, cutCluster)})
	daemon := v.sail("", "")
	v.settled(cutCluster)
	v.stop(daemon)
	v.patch("secrets", "app-password", `{"stringData":{"password":"`+nextPassword+`"}}`)
	return v
}

func (v *voyage) passwordChanged() bool {
	told := slices.ContainsFunc(v.receiver.Taken(), func(d testbed.Delivery) bool {
		return d.Status == "success" && actionOf(v.T, d) == "password_update"
	})
	_, err := v.query(cutCluster, "app", nextPassword, "SELECT 1")
	users := v.record(cutCluster).Bootstrap.Users
	return told && err == nil && len(users) == 1 && users[0].Pending == (model.SecretVersion{}) && users[0].Change == "" && v.isSettled(cutCluster)
}

func (v *voyage) passwordSound() {
	v.Helper()
	_, err := v.query(cutCluster, "app", appPassword, "SELECT 1")
	assert.ErrorContains(v, err, "28000", "the old password")
	v.noPodRestarted()
	assert.NotContains(v, v.statements(cutCluster), nextPassword)
	for _, daemon := range v.daemons {
		assert.NotContains(v, daemon.Log(), nextPassword)
	}
	for _, d := range v.receiver.Taken() {
		assert.NotContains(v, string(d.Body), nextPassword)
	}
}

// A label on a user's Secret is no new password; a new value is changed in the
// database, also where the daemon is killed on the way.
func TestAPasswordThatChangedIsChanged(t *testing.T) {
	t.Parallel()
	v := passwordVoyage(t, "password-change")
	trace := filepath.Join(t.TempDir(), "writes")
	daemon := v.sail("", trace)
	v.until("the password is changed", v.passwordChanged)
	content, err := os.ReadFile(trace)
	require.NoError(t, err)
	writes := strings.Count(string(content), "\n")
	t.Logf("a password change: %d writes", writes)
	v.passwordSound()

	v.patch("secrets", "app-password", `{"metadata":{"labels":{"example.com/team":"payments"}}}`)
	secret, err := bed.Admin.CoreV1().Secrets(v.ns).Get(v.ctx, "app-password", metav1.GetOptions{})
	require.NoError(t, err)
	taken := len(v.deliveries(v.receiver))
	v.until("the new version of the Secret is verified", func() bool {
		return v.record(cutCluster).Bootstrap.Users[0].Secret.ResourceVersion == secret.ResourceVersion
	})
	v.settled(cutCluster)
	assert.Len(t, v.deliveries(v.receiver), taken, "a label is no new password")
	v.stop(daemon)

	for _, die := range cuts(writes) {
		t.Run("killed "+die, func(t *testing.T) {
			together(t)
			v := passwordVoyage(t, "password-"+strings.ReplaceAll(die, ":", "-"))
			v.cutOff(die, "the password is changed", patience, v.passwordChanged)
			v.passwordSound()
		})
	}
}
