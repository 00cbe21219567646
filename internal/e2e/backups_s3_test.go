package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/s3test"
	"stevedore.dev/stevedore/internal/testbed"
)

// asksS3: the simulator does, and a release with the plugin, which a build of one's own may lack.
var asksS3 = need{"a CrateDB that asks S3 servers of this machine", "make test", func() bool {
	home := os.Getenv("CRATEDB_HOME")
	has := func(pattern string) bool { all, _ := filepath.Glob(pattern); return len(all) > 0 }
	return realNodes == nil && (home == "" || has(filepath.Join(home, "lib", "es-repository-s3-*")) || has(filepath.Join(home, "*", "lib", "es-repository-s3-*")))
}}

const (
	firstAccess, firstSecret = "AKIAFIRST", "first/secret+key"
	nextAccess, nextSecret   = "AKIANEXT", "next/secret+key"
	wrongSecret              = "wrong/secret+key"
)

// snapshotNow has the daemon take a snapshot, and gives its answer.
func (v *voyage) snapshotNow() (said string, code int) {
	v.Helper()
	out, stderr, code := v.verb("backup", "now", cutCluster, "-n", v.ns, "--wait")
	return out + stderr, code
}

// Snapshots go to an S3 server. Keys that change there and in the Secret change in the repository, which is
// not created again; a wrong one is said, without the key, until it is right.
func TestSnapshotsGoToAnS3Server(t *testing.T) {
	t.Parallel()
	needing(t, asksS3)
	server := s3test.Start(t, firstAccess, firstSecret, "backups")
	v := &voyage{situation: begin(t, "backup-s3"), faults: os.Getenv("STEVEDORE_FAULTS_BINARY")}
	if v.faults == "" {
		v.faults = "../../bin/stevedore-faults"
	}
	v.appSecret("app-password")
	v.receiver = testbed.NewReceiver(nil)
	t.Cleanup(v.receiver.Close)
	require.NoError(t, bed.Secret(v.ctx, v.ns, "backup-keys", map[string]string{"access": firstAccess, "secret": firstSecret}))
	key := func(name string) any {
		return map[string]any{"secretKeyRef": map[string]any{"name": "backup-keys", "key": name}}
	}
	v.write(map[string]string{"orders.yaml": definition(v.ns, cutCluster, with("spec.backups", map[string]any{
		"s3": map[string]any{"bucket": "backups", "endpoint": server.Endpoint, "protocol": "http", "basePath": "crate", "accessKey": key("access"), "secretKey": key("secret")},
	}))})
	daemon := v.sail("", "")
	v.settled(cutCluster)
	v.rows(cutCluster, "CREATE TABLE doc.one (id INT)")
	v.rows(cutCluster, "INSERT INTO doc.one (id) VALUES (1)")
	said, code := v.snapshotNow()
	require.Zero(t, code, said)
	folder := "crate/" + v.ns + "/" + cutCluster + "/" + v.record(cutCluster).ClusterID + "/"
	objects := server.Objects("backups")
	require.NotEmpty(t, objects)
	for _, name := range objects {
		assert.True(t, strings.HasPrefix(name, folder), name)
	}

	server.Keys(nextAccess, nextSecret)
	v.patch("secrets", "backup-keys", `{"stringData":{"access":"`+nextAccess+`","secret":"`+nextSecret+`"}}`)
	// CrateDB keeps the last statements only: at the end of a slow run this one is not among them.
	sent := ""
	v.until("the new keys are in the repository", func() bool {
		sent = "\n" + v.statements(cutCluster)
		return strings.Contains(sent, "\nALTER REPOSITORY")
	})
	said, code = v.snapshotNow()
	require.Zero(t, code, said)

	v.patch("secrets", "backup-keys", `{"stringData":{"secret":"`+wrongSecret+`"}}`)
	refused := "Unable to verify the repository, [" + v.record(cutCluster).Backups.Repository.Name + "] is not accessible on master node: OpenDALException 'PermissionDenied"
	v.until("the wrong key is said", func() bool { return strings.Contains(v.statusText(), refused) })
	for line := range strings.Lines(v.statusText()) {
		assert.NotRegexp(t, `^\s*(Context|uri|response|\d+: <unknown>)`, line, "what CrateDB says is one line")
	}
	v.patch("secrets", "backup-keys", `{"stringData":{"secret":"`+nextSecret+`"}}`)
	v.until("nothing is said any more", func() bool { return !strings.Contains(v.statusText(), refused) })
	said, code = v.snapshotNow()
	require.Zero(t, code, said)

	server.Listen(false)
	said, code = v.snapshotNow()
	require.NotZero(t, code, said)
	require.Contains(t, said, "ended as FAILED")
	server.Listen(true)
	failed := time.Now().Unix()
	v.until("another second, which is in the name of a snapshot", func() bool { return time.Now().Unix() > failed })
	said, code = v.snapshotNow()
	require.Zero(t, code, said)

	sent += "\n" + v.statements(cutCluster)
	assert.NotContains(t, sent, "\nDROP REPOSITORY", "it was altered, and not created again")
	v.stop(daemon)
	told := v.statements(cutCluster) + daemon.Log() + v.statusText()
	for _, d := range v.receiver.Taken() {
		told += string(d.Body)
	}
	for _, secret := range []string{firstAccess, firstSecret, nextAccess, nextSecret, wrongSecret} {
		assert.NotContains(t, told, secret)
	}
}
