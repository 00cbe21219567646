package sandbox

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"time"
)

// authority signs the sandbox's certificates. They live as long as the sandbox,
// a year at most.
type authority struct {
	dir         string
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         []byte
}

// identity is a certificate and its key, in memory and as files.
type identity struct {
	certificate, key         []byte
	certificateFile, keyFile string
}

func newAuthority(dir string) (*authority, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the sandbox's certificates: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making the sandbox's certificates: %w", err)
	}
	template := certificateTemplate("stevedore-sandbox", nil)
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("making the sandbox's certificates: %w", err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("making the sandbox's certificates: %w", err)
	}
	a := &authority{
		dir: dir, certificate: certificate, key: key,
		pem: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
	}
	return a, a.write("ca.crt", a.pem)
}

func certificateTemplate(name string, groups []string) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name, Organization: groups},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().AddDate(1, 0, 0),
	}
}

func (a *authority) file(name string) string { return filepath.Join(a.dir, name) }

func (a *authority) write(name string, content []byte) error {
	if err := os.WriteFile(a.file(name), content, 0o600); err != nil {
		return fmt.Errorf("writing the sandbox's certificates: %w", err)
	}
	return nil
}

// issue makes a certificate for a client (a Kubernetes user name and groups) and,
// with addresses, for a server.
func (a *authority) issue(name string, groups []string, addresses ...netip.Addr) (*identity, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making the certificate of %s: %w", name, err)
	}
	template := certificateTemplate(name, groups)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}
	for _, address := range addresses {
		template.IPAddresses = append(template.IPAddresses, net.IP(address.AsSlice()))
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return nil, fmt.Errorf("making the certificate of %s: %w", name, err)
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return nil, fmt.Errorf("making the certificate of %s: %w", name, err)
	}
	made := &identity{
		certificate:     pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		key:             keyPEM,
		certificateFile: a.file(name + ".crt"),
		keyFile:         a.file(name + ".key"),
	}
	if err := a.write(name+".crt", made.certificate); err != nil {
		return nil, err
	}
	return made, a.write(name+".key", made.key)
}

// writeKey makes a key for signing service account tokens.
func (a *authority) writeKey(name string) (string, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", fmt.Errorf("making the key %s: %w", name, err)
	}
	encoded, err := encodeKey(key)
	if err != nil {
		return "", fmt.Errorf("making the key %s: %w", name, err)
	}
	return a.file(name), a.write(name, encoded)
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}
