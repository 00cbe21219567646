package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stevedore.dev/stevedore/internal/keystore"
	"stevedore.dev/stevedore/internal/names"
)

const (
	storePassword = "the store's own $HOME \"password\""
	keyPassword   = "the-password-of-its-key"
)

// authority signs nodes' certificates; file is where its own is.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	file        string
}

func (s *situation) authority(name string) *authority {
	s.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(s, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(s, err)
	a := &authority{certificate: template, key: key, file: filepath.Join(s.TempDir(), "ca.pem")}
	require.NoError(s, os.WriteFile(a.file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	return a
}

// keystore of a node's certificate for a name, as the format JKS has it.
func (s *situation) keystore(a *authority, name string) []byte {
	s.Helper()
	return s.keystoreWith(a, name, storePassword, keyPassword)
}

func (s *situation) keystoreWith(a *authority, name, ofStore, ofKey string) []byte {
	s.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(s, err)
	leaf, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "node"}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), KeyUsage: x509.KeyUsageDigitalSignature,
	}, a.certificate, key.Public(), a.key)
	require.NoError(s, err)
	file, err := keystore.Encode(tls.Certificate{Certificate: [][]byte{leaf}, PrivateKey: key}, "node", ofStore, ofKey, time.Now())
	require.NoError(s, err)
	return file
}

// asPKCS12 has the JDK's own keytool make a keystore of its default format; of
// that all keys have the store's password.
func (s *situation) asPKCS12(jks []byte) []byte {
	s.Helper()
	// CRATEDB_HOME is a release, or a folder of releases.
	home, tool := os.Getenv("CRATEDB_HOME"), filepath.Join("jdk", "bin", "keytool")
	tools, err := filepath.Glob(filepath.Join(home, "*", tool))
	require.NoError(s, err)
	if one := filepath.Join(home, tool); len(tools) == 0 {
		_, err := os.Stat(one)
		require.NoError(s, err, "a release brings its JDK")
		tools = []string{one}
	}
	dir := s.TempDir()
	from, to := filepath.Join(dir, "node.jks"), filepath.Join(dir, "node.p12")
	require.NoError(s, os.WriteFile(from, jks, 0o600))
	out, err := exec.CommandContext(s.ctx, tools[0], "-importkeystore", "-srckeystore", from, "-srcstoretype", "JKS",
		"-srcstorepass", storePassword, "-srckeypass", keyPassword, "-srcalias", "node",
		"-destkeystore", to, "-deststoretype", "PKCS12", "-deststorepass", storePassword).CombinedOutput()
	require.NoError(s, err, "%s", out)
	file, err := os.ReadFile(to)
	require.NoError(s, err)
	return file
}

// The whole way of TLS: a keystore in a Secret, nodes that take passwords over TLS
// only, a daemon that sends one to a certificate of the right authority and name
// only. The nodes are simulated, or real ones with CRATEDB_HOME.
func TestADatabaseWithTLSIsTalkedToOverVerifiedTLSOnly(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"jks", "pkcs12"} {
		t.Run(format, func(t *testing.T) {
			if format == "pkcs12" {
				needing(t, realCrateDB) // the simulator reads JKS only
			}
			s := begin(t, "tls-"+format)
			s.appSecret("app-password")
			ours, others := s.authority("ours"), s.authority("somebody else's")
			name := names.Service("orders") + "." + s.ns + ".svc"
			file, ofKey := s.keystore(ours, name), keyPassword
			if format == "pkcs12" {
				file, ofKey = s.asPKCS12(file), storePassword
			}
			_, err := bed.Admin.CoreV1().Secrets(s.ns).Create(s.ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "orders-ssl"}, Data: map[string][]byte{
				"keystore": file, "keystore-password": []byte(storePassword), "keystore-key-password": []byte(ofKey),
			}}, metav1.CreateOptions{})
			require.NoError(t, err)
			of := func(key string) map[string]any {
				return map[string]any{"secretKeyRef": map[string]any{"name": "orders-ssl", "key": key}}
			}
			s.write(map[string]string{"orders.yaml": s.short(3, with("spec.cluster.ssl", map[string]any{
				"keystore": of("keystore"), "keystorePassword": of("keystore-password"), "keystoreKeyPassword": of("keystore-key-password"),
			}))})

			// A Lease that outlasts a machine on which real nodes start.
			// The wrong authority: said by name, and nothing went as far as a login.
			daemon := s.run("--lease-duration", "30s", "--database-ca-file", others.file)
			// It is said in the passes that meet it, and not while pods come up.
			s.until("the certificate is not trusted", func() bool {
				out, _, _ := s.verb("status", "-n", s.ns)
				return strings.Contains(out, "certificate-not-trusted") && strings.Contains(out, "unknown authority") && strings.Contains(out, "no password was sent")
			})
			assert.False(t, s.record("orders").Bootstrap.Done)
			_, err = daemon.Stop()
			require.NoError(t, err)

			daemon = s.run("--lease-duration", "30s", "--database-ca-file", ours.file)
			s.done("orders")
			roots := x509.NewCertPool()
			authority, err := os.ReadFile(ours.file)
			require.NoError(t, err)
			require.True(t, roots.AppendCertsFromPEM(authority))
			verified := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, ServerName: name}
			for _, pod := range s.clusterPods("orders") {
				rows, err := bed.QueryTLS(s.ctx, verified, pod.Status.PodIP, "app", appPassword, "SELECT count(*) FROM sys.nodes")
				require.NoError(t, err)
				assert.Equal(t, [][]string{{"3"}}, rows)
				_, err = bed.Query(s.ctx, pod.Status.PodIP, "app", appPassword, "SELECT 1")
				assert.ErrorContains(t, err, "Did you enable TLS", "a password without TLS is not taken")
			}

			// A password is changed over the same way.
			secret, err := bed.Admin.CoreV1().Secrets(s.ns).Get(s.ctx, "app-password", metav1.GetOptions{})
			require.NoError(t, err)
			secret.Data["password"] = []byte("another password of the app's")
			_, err = bed.Admin.CoreV1().Secrets(s.ns).Update(s.ctx, secret, metav1.UpdateOptions{})
			require.NoError(t, err)
			s.until("the new password is taken", func() bool {
				_, err := bed.QueryTLS(s.ctx, verified, s.clusterPods("orders")[0].Status.PodIP, "app", "another password of the app's", "SELECT 1")
				return err == nil
			})
			s.noPodRestarted()

			// Neither the log nor any process shows what opens the keystore.
			for _, password := range []string{storePassword, keyPassword} {
				assert.NotContains(t, daemon.Log(), password)
				assert.Empty(t, processesWith(t, password), "processes with a password among their arguments")
			}
		})
	}
}

// processesWith are those whose arguments hold a text.
func processesWith(t *testing.T, text string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	var found []string
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err == nil && strings.Contains(string(content), text) {
			found = append(found, file)
		}
	}
	return found
}
