package e2e

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stevedore.dev/stevedore/internal/gitserver"
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/internal/testbed"
	"stevedore.dev/stevedore/ops/model"
)

const (
	gitToken   = "a-token-that-nobody-may-see"
	webhookKey = "a-key-of-the-webhook"
)

// From nothing to users that can log in, whatever the definition comes from.
func TestEverySourceEndsInTheSameCluster(t *testing.T) {
	t.Parallel()
	type variant struct {
		name string
		// source puts the definition there and gives the daemon's arguments.
		source func(s *situation, definition string) []string
	}
	sources := proof([]variant{
		{"directory", func(s *situation, definition string) []string {
			s.write(map[string]string{"orders.yaml": definition})
			return s.fromDir()
		}},
		{"git-https-secret", func(s *situation, definition string) []string {
			s.gitSecret(map[string]string{"token": gitToken})
			return append(s.served(definition), "--git-credentials-secret", "stevedore-git")
		}},
	}, variant{"git-file", func(s *situation, definition string) []string {
		repository := s.repository(definition)
		return []string{"--git", repository.URL, "--ref", "main", "--interval", "1s", "--namespace", s.ns}
	}}, variant{"git-https-file", func(s *situation, definition string) []string {
		token := filepath.Join(s.dir, "token")
		require.NoError(s, os.WriteFile(token, []byte(gitToken+"\n"), 0o600))
		return append(s.served(definition), "--git-credentials-file", token)
	}})
	ends := make(chan map[string]string, len(sources))
	t.Run("from", func(t *testing.T) {
		for _, from := range sources {
			t.Run(from.name, func(t *testing.T) {
				t.Parallel()
				s := begin(t, "from-"+from.name)
				s.appSecret("app-password")
				args := from.source(s, definition(s.ns, "orders", with(replicasOfHot, 3), with("spec.cluster.allowedCIDRs", []string{"192.0.2.0/24"})))
				receiver := testbed.NewReceiver(nil)
				t.Cleanup(receiver.Close)
				daemon := s.start(testbed.DaemonOptions{Args: args, Env: []string{"WEBHOOK_URL=" + receiver.URL(), "WEBHOOK_SECRET=" + webhookKey}})
				s.done("orders")
				s.founded("orders", daemon, receiver)
				ends <- s.objectsOf()
			})
		}
	})
	close(ends)
	first, ok := <-ends
	require.True(t, ok, "no end state")
	for other := range ends {
		for object := range first {
			assert.Equal(t, first[object], other[object], "%s: two sources with the same definition end in the same objects", object)
		}
		assert.Len(t, other, len(first))
	}
}

// repository with the definition pushed to main.
func (s *situation) repository(definition string) *testbed.Repository {
	s.Helper()
	repository, err := testbed.NewRepository(s.ctx, s.TempDir(), "clusters")
	require.NoError(s, err)
	require.NoError(s, repository.Push(s.ctx, "orders: a first cluster", map[string]string{"orders.yaml": definition}))
	return repository
}

// served is the same over https, for those with the token only.
func (s *situation) served(definition string) []string {
	s.Helper()
	repository := s.repository(definition)
	server, err := gitserver.Start(filepath.Dir(repository.Bare), gitserver.Options{Token: gitToken})
	require.NoError(s, err)
	s.Cleanup(func() { assert.NoError(s, server.Close()) })
	ca := filepath.Join(s.dir, "ca.pem")
	require.NoError(s, os.WriteFile(ca, server.CA, 0o644))
	return []string{"--git", server.URL + "/clusters.git", "--ref", "main", "--interval", "1s", "--git-ca-file", ca, "--namespace", s.ns}
}

// founded is what must hold of a cluster of three nodes with the user app, at
// the end of its bootstrap.
func (s *situation) founded(cluster string, daemon *testbed.Daemon, receiver *testbed.Receiver) {
	s.Helper()
	rec := s.record(cluster)

	// The users log in, and all nodes are one cluster.
	rows, err := s.query(cluster, "app", appPassword, "SELECT name FROM sys.nodes ORDER BY name")
	require.NoError(s, err)
	assert.Equal(s, [][]string{{"data-hot-0"}, {"data-hot-1"}, {"data-hot-2"}}, rows)
	assert.Equal(s, [][]string{{rec.ClusterID}}, s.rows(cluster, "SELECT id FROM sys.cluster"), "the recorded cluster id")
	_, err = s.query(cluster, "app", "another password", "SELECT 1")
	assert.Error(s, err, "a wrong password is not let in")

	// Secrets carry crate-operator's label, and the claims the cluster's id.
	for _, name := range []string{names.SystemSecret(cluster), "app-password"} {
		secret, err := bed.Admin.CoreV1().Secrets(s.ns).Get(s.ctx, name, metav1.GetOptions{})
		require.NoError(s, err)
		assert.Equal(s, "true", secret.Labels[names.UserPasswordLabel], "label of Secret %s", name)
	}
	s.until("the volume claims carry the cluster's id", func() bool {
		claims, err := bed.Admin.CoreV1().PersistentVolumeClaims(s.ns).List(s.ctx, metav1.ListOptions{})
		require.NoError(s, err)
		return len(claims.Items) == 6 && !slices.ContainsFunc(claims.Items, func(claim corev1.PersistentVolumeClaim) bool {
			return claim.Annotations[names.ClusterIDAnnotation] != rec.ClusterID || claim.Annotations[names.VersionAnnotation] != "6.4.3"
		})
	})

	// The founding list is out of the template, and nothing restarted for it.
	set := s.set(names.StatefulSet(cluster, "hot", false))
	text, err := json.Marshal(set.Spec.Template)
	require.NoError(s, err)
	assert.NotContains(s, string(text), "initial_master_nodes")
	s.noPodRestarted()

	// Licence before system before users, in what was done and in the database.
	inOrder(s, daemon.Log(), "licence: not needed", `action=set-system-user`, `action=set-user subject=app`)
	statements := s.statements(cluster)
	inOrder(s, statements, `CREATE USER "system"`, `CREATE USER "app"`)
	assert.NotContains(s, statements, "SET LICENSE", "6.4 takes no licence")

	// Told once it was true, signed.
	s.until("the webhook of the bootstrap", func() bool {
		return slices.ContainsFunc(receiver.Taken(), func(d testbed.Delivery) bool {
			return d.Event == "feedback" && d.Status == "success" && d.Cluster == cluster
		})
	})
	for _, delivery := range receiver.Taken() {
		mac := hmac.New(sha256.New, []byte(webhookKey))
		mac.Write(delivery.Body)
		assert.Equal(s, "sha256="+hex.EncodeToString(mac.Sum(nil)), delivery.Signature)
		assert.NotEmpty(s, delivery.EventID)
		if delivery.Event != "health" {
			assert.Equal(s, rec.Revision, delivery.Revision)
		}
		assert.Equal(s, s.ns, delivery.Namespace)
	}
	s.until("the event of the bootstrap", func() bool { return s.eventOf(cluster, "BootstrapSucceeded") })

	s.noSecretTold(cluster, daemon, receiver)
}

// noSecretTold looks for each secret of the situation in all that is told, and in what else a person saw.
func (s *situation) noSecretTold(cluster string, daemon *testbed.Daemon, receiver *testbed.Receiver, seen ...string) {
	s.Helper()
	told := map[string]string{"the log": daemon.Log(), "sys.jobs_log": s.statements(cluster), "status": s.statusText(), "what was seen": strings.Join(seen, "\n"), "ConfigMaps": s.told()}
	events, err := bed.Admin.CoreV1().Events(s.ns).List(s.ctx, metav1.ListOptions{})
	require.NoError(s, err)
	text, err := json.Marshal(events)
	require.NoError(s, err)
	told["events"] = string(text)
	for _, delivery := range receiver.Taken() {
		told["webhooks"] += string(delivery.Body)
	}
	system := s.secretValue(names.SystemSecret(cluster), "password")
	require.NotEmpty(s, system)
	for where, text := range told {
		for what, secret := range map[string]string{
			"the password of system": system, "the password of app": appPassword,
			"the token for Git": gitToken, "the key of the webhook": webhookKey,
			"the access key of a COPY": bucketKeys[0], "the secret key of a COPY": bucketKeys[1],
		} {
			assert.NotContains(s, text, secret, "%s stands in %s", what, where)
		}
	}
}

// statements that the database was asked, in order, from every node's job log.
func (s *situation) statements(cluster string) string {
	s.Helper()
	var all []string
	for _, row := range s.rows(cluster, "SELECT started, stmt FROM sys.jobs_log ORDER BY started") {
		all = append(all, row[1])
	}
	return strings.Join(all, "\n")
}

// inOrder requires each part to come after the one before it.
func inOrder(s *situation, text string, parts ...string) {
	s.Helper()
	at := 0
	for _, part := range parts {
		next := strings.Index(text[at:], part)
		if !assert.GreaterOrEqual(s, next, 0, "%q does not come, or not after what should come before it:\n%s", part, text) {
			return
		}
		at += next + len(part)
	}
}

// 4.4 allows three nodes without a licence and then refuses every statement.
func TestLicenceComesFirstWhereFourNodesNeedOne(t *testing.T) {
	t.Parallel()
	needsRelease(t, "4.4.3")
	s := begin(t, "licence-44")
	s.appSecret("app-password")
	const key = "a-licence-key"
	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders", with(replicasOfHot, 4),
		with("spec.cluster.version", "4.4.3"),
		with("spec.cluster.license.secretKeyRef", map[string]any{"name": "licence", "key": "license"}))})
	daemon := s.run()

	// All nodes are there, and the licence is what is waited for.
	s.until("the Secret of the licence is missed", func() bool { return slices.Contains(s.reasons("orders"), "secret-missing") })
	assert.Empty(t, s.record("orders").Bootstrap.System.UID, "system is not made before the licence")
	s.until("all four nodes are ready", func() bool { return s.ready("orders") == 4 })

	require.NoError(t, bed.Secret(s.ctx, s.ns, "licence", map[string]string{"license": key}))
	s.done("orders")
	assert.Equal(t, model.LicenceSet, s.record("orders").Bootstrap.Licence)
	rows, err := s.query("orders", "app", appPassword, "SELECT count(*) FROM sys.nodes")
	require.NoError(t, err)
	assert.Equal(t, [][]string{{"4"}}, rows)
	inOrder(s, s.statements("orders"), "SET LICENSE", `CREATE USER "system"`, `CREATE USER "app"`)
	inOrder(s, daemon.Log(), "action=set-license", "action=set-system-user", "action=set-user subject=app")
	assert.NotContains(t, daemon.Log(), key)
	s.noPodRestarted()
}

// Since 5.3 SET LICENSE is a syntax error.
func TestLicenceIsNeverSentToAVersionThatTakesNone(t *testing.T) {
	t.Parallel()
	needsRelease(t, "5.3.3")
	s := begin(t, "licence-53")
	s.appSecret("app-password")
	require.NoError(t, bed.Secret(s.ctx, s.ns, "licence", map[string]string{"license": "a-licence-key"}))
	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders",
		with("spec.cluster.version", "5.3.3"),
		with("spec.cluster.license.secretKeyRef", map[string]any{"name": "licence", "key": "license"}))})
	daemon := s.run()
	s.done("orders")
	assert.Equal(t, model.LicenceNotNeeded, s.record("orders").Bootstrap.Licence)
	assert.NotContains(t, strings.ToUpper(s.statements("orders")), "LICENSE")
	s.untilLog(daemon, "the one in the definition was not sent")
}

// ready counts the cluster's ready pods.
func (s *situation) ready(cluster string) int {
	s.Helper()
	n := 0
	for _, pod := range s.clusterPods(cluster) {
		for _, condition := range pod.Status.Conditions {
			if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue {
				n++
			}
		}
	}
	return n
}

// An existing Secret of the system user is somebody's: it is kept and used.
func TestAnExistingSystemSecretIsKept(t *testing.T) {
	t.Parallel()
	s := begin(t, "system-secret")
	s.appSecret("app-password")
	const password = "chosen by a person"
	require.NoError(t, bed.Secret(s.ctx, s.ns, names.SystemSecret("orders"), map[string]string{"password": password}))
	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders")})
	s.run()
	s.done("orders")
	assert.Equal(t, password, s.secretValue(names.SystemSecret("orders"), "password"))
	_, err := s.query("orders", "system", password, "SELECT 1")
	assert.NoError(t, err)
	for _, kind := range record.Kinds() {
		if kind == record.Reports {
			continue // no receiver
		}
		object, err := bed.Admin.CoreV1().ConfigMaps(s.ns).Get(s.ctx, kind.Name("orders"), metav1.GetOptions{})
		if assert.NoError(t, err) {
			assert.Contains(t, object.Data[names.DataKey], `"schemaVersion":1`)
		}
	}
}

var gitSecretInUse sync.Mutex

// gitSecret makes the one Secret beside the daemon that the shipped Role lets it
// read, for one test after the other.
func (s *situation) gitSecret(data map[string]string) {
	s.Helper()
	const name = "stevedore-git"
	gitSecretInUse.Lock()
	s.Cleanup(func() {
		defer gitSecretInUse.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		assert.NoError(s, bed.Admin.CoreV1().Secrets(names.DaemonNamespace).Delete(ctx, name, metav1.DeleteOptions{}))
	})
	require.NoError(s, bed.Secret(s.ctx, names.DaemonNamespace, name, data))
}
