package keystore_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/keystore"
)

func certificate(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "a node"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func TestAKeystoreIsReadWithItsPasswordsOnly(t *testing.T) {
	made := certificate(t)
	file, err := keystore.Encode(made, "node", "store-password", "key-pässword", time.Now())
	require.NoError(t, err)
	read, err := keystore.Decode(file, "store-password", "key-pässword")
	require.NoError(t, err)
	assert.Equal(t, made, read)
	for name, of := range map[string]func() (tls.Certificate, error){
		"another store password": func() (tls.Certificate, error) { return keystore.Decode(file, "store", "key-pässword") },
		"another key password":   func() (tls.Certificate, error) { return keystore.Decode(file, "store-password", "key") },
	} {
		_, err := of()
		assert.ErrorIs(t, err, keystore.ErrPassword, name)
	}
	for end := range file {
		_, err := keystore.Decode(file[:end], "store-password", "key-pässword")
		require.Error(t, err, "cut short at %d", end)
	}
	_, err = keystore.Decode([]byte("PKCS12, say, which is longer than a digest"), "a", "a")
	assert.ErrorContains(t, err, "keytool -storetype JKS")
}

// The JDK's own tool reads what is written here, and the other way round.
func TestTheJDKsKeytoolAgrees(t *testing.T) {
	tool, err := exec.LookPath("keytool")
	if found, _ := filepath.Glob(filepath.Join(os.Getenv("CRATEDB_HOME"), "*", "jdk", "bin", "keytool")); err != nil && len(found) > 0 {
		tool, err = found[0], nil
	}
	if err != nil {
		t.Skip("no keytool on the PATH, and CRATEDB_HOME names no release that has one")
	}
	dir := t.TempDir()
	made := certificate(t)
	file, err := keystore.Encode(made, "node", "store-password", "key-password", time.Now())
	require.NoError(t, err)
	ours, theirs := filepath.Join(dir, "ours.jks"), filepath.Join(dir, "theirs.jks")
	require.NoError(t, os.WriteFile(ours, file, 0o600))
	out, err := exec.Command(tool, "-importkeystore", "-srckeystore", ours, "-srcstoretype", "JKS", "-srcstorepass", "store-password", "-srckeypass", "key-password",
		"-srcalias", "node", "-destkeystore", theirs, "-deststoretype", "JKS", "-deststorepass", "another-store", "-destkeypass", "another-key").CombinedOutput()
	require.NoError(t, err, "%s", out)
	file, err = os.ReadFile(theirs)
	require.NoError(t, err)
	read, err := keystore.Decode(file, "another-store", "another-key")
	require.NoError(t, err)
	assert.Equal(t, made, read)
}

func FuzzAFileThatIsNoKeystoreIsAnError(f *testing.F) {
	f.Add([]byte{0xfe, 0xed, 0xfe, 0xed, 0, 0, 0, 2, 0, 0, 0, 1})
	f.Fuzz(func(t *testing.T, file []byte) {
		if _, err := keystore.Decode(file, "p", "p"); err == nil {
			t.Fatal("it was taken")
		}
	})
}
