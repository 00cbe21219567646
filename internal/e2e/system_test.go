package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/testbed"
	"stevedore.dev/stevedore/ops/model"
)

// systemVoyage is a made cluster whose daemon has stopped, and whose `system`
// has another password in its Secret since.
func systemVoyage(t *testing.T, ns string) (v *voyage, old string) {
	t.Helper()
	v = &voyage{situation: begin(t, ns), faults: os.Getenv("STEVEDORE_FAULTS_BINARY")}
	if v.faults == "" {
		v.faults = "../../bin/stevedore-faults"
	}
	v.appSecret("app-password")
	v.receiver = testbed.NewReceiver(nil)
	t.Cleanup(v.receiver.Close)
	v.write(map[string]string{"orders.yaml": definition(v.ns, cutCluster, with(replicasOfHot, 2))})
	daemon := v.sail("", "")
	v.settled(cutCluster)
	v.stop(daemon)
	old = v.secretValue(names.SystemSecret(cutCluster), "password")
	v.patch("secrets", names.SystemSecret(cutCluster), `{"stringData":{"password":"`+nextPassword+`"}}`)
	return v, old
}

func (v *voyage) systemChanged() bool {
	told := slices.ContainsFunc(v.receiver.Taken(), func(d testbed.Delivery) bool {
		return d.Status == "success" && actionOf(v.T, d) == "password_update"
	})
	_, err := v.query(cutCluster, names.SystemUser, nextPassword, "SELECT 1")
	return told && err == nil && v.record(cutCluster).Bootstrap.SystemChange == (model.SystemChange{}) && v.isSettled(cutCluster)
}

func (v *voyage) systemSound(old string) {
	v.Helper()
	_, err := v.query(cutCluster, names.SystemUser, old, "SELECT 1")
	assert.ErrorContains(v, err, "28000", "the old password")
	v.noPodRestarted()
	v.noOneTimePassword(cutCluster)
	assert.NotContains(v, v.statements(cutCluster), nextPassword)
	for _, daemon := range v.daemons {
		assert.NotContains(v, daemon.Log(), nextPassword)
	}
	for _, d := range v.receiver.Taken() {
		assert.NotContains(v, string(d.Body), nextPassword)
	}
}

// The daemon cannot log in any more, does not know the old password, and sets
// the new one all the same, wherever it is killed on the way.
func TestAnotherPasswordOfSystemIsSetInTheDatabase(t *testing.T) {
	t.Parallel()
	v, old := systemVoyage(t, "system-change")
	trace := filepath.Join(t.TempDir(), "writes")
	daemon := v.sail("", trace)
	v.until("the password of system is changed", v.systemChanged)
	content, err := os.ReadFile(trace)
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	t.Logf("a change of the password of system: %d writes: %s", len(lines), strings.Join(lines, ", "))
	v.systemSound(old)

	// Lost, and made again by a person with another password.
	secret := names.SystemSecret(cutCluster)
	require.NoError(t, bed.Admin.CoreV1().Secrets(v.ns).Delete(v.ctx, secret, metav1.DeleteOptions{}))
	v.refusedFor(cutCluster, "system-password-lost")
	require.NoError(t, bed.Secret(v.ctx, v.ns, secret, map[string]string{"password": "made again at night"}))
	v.settled(cutCluster)
	v.until("it is the password of the new Secret", func() bool {
		_, err := v.query(cutCluster, names.SystemUser, "made again at night", "SELECT 1")
		return err == nil
	})
	v.stop(daemon)

	for n := range lines {
		if !strings.HasSuffix(lines[n], "sql") && !strings.HasSuffix(lines[n], "exec") {
			continue
		}
		// Each step in the database, right after it.
		die := fmt.Sprintf("after:%d", n+1)
		t.Run("killed "+die, func(t *testing.T) {
			v, old := systemVoyage(t, "system-"+strings.ReplaceAll(die, ":", "-"))
			daemon := v.sail(die, "")
			v.until("the daemon is dead, or done", func() bool { return !daemon.Running() || v.systemChanged() })
			if !daemon.Running() {
				v.free()
				daemon = v.sail("", "")
			}
			v.until("the password of system is changed", v.systemChanged)
			v.stop(daemon)
			v.systemSound(old)
		})
	}
}

// Another licence is set again, and before the fourth node that needs it.
func TestALicenceThatChangedIsSetAgain(t *testing.T) {
	t.Parallel()
	needsRelease(t, "4.4.3")
	s := begin(t, "licence-change")
	s.appSecret("app-password")
	version := with("spec.cluster.version", "4.4.3")
	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders", version, with(replicasOfHot, 3))})
	daemon := s.run()
	s.done("orders")
	assert.Equal(t, model.LicenceNotNeeded, s.record("orders").Bootstrap.Licence)

	// Password, licence and nodes in one commit, the licence's Secret last.
	s.patch("secrets", "app-password", `{"stringData":{"password":"`+nextPassword+`"}}`)
	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders", version, with(replicasOfHot, 4),
		with("spec.cluster.license.secretKeyRef", map[string]any{"name": "licence", "key": "license"}))})
	s.until("the Secret of the licence is missed", func() bool { return slices.Contains(s.reasons("orders"), "secret-missing") })
	s.until("the password waits for nothing", func() bool {
		_, err := s.query("orders", "app", nextPassword, "SELECT 1")
		return err == nil
	})
	assert.EqualValues(t, 3, *s.set("crate-data-hot-orders").Spec.Replicas, "the grow needs the licence")
	require.NoError(t, bed.Secret(s.ctx, s.ns, "licence", map[string]string{"license": "a-licence-key"}))
	s.until("it has grown", func() bool { return s.record("orders").Sets[0].Replicas == 4 })
	s.done("orders")
	assert.Equal(t, [][]string{{"4"}}, s.rows("orders", "SELECT count(*) FROM sys.nodes"))

	count := func() int { return strings.Count(daemon.Log(), "action=set-license") }
	require.Equal(t, 1, count(), daemon.Log())
	s.patch("secrets", "licence", `{"stringData":{"license":"another-licence-key"}}`)
	s.until("it is set again", func() bool { return count() == 2 })
	s.done("orders")
	s.untilEvent("orders", "LicenceChanged")
	for _, key := range []string{"a-licence-key", "another-licence-key"} {
		assert.NotContains(t, daemon.Log(), key)
	}
	s.noPodRestarted()
}
