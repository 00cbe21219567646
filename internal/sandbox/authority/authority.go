// Package authority makes what the parts of a control plane of ours know each other
// by: certificates, keys and kubeconfigs, as files in one folder.
package authority

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

// Authority signs certificates that are valid for a year.
type Authority struct {
	// Certificate is its own, PEM the same as a file has it.
	Certificate *x509.Certificate
	PEM         []byte
	dir         string
	key         *ecdsa.PrivateKey
}

// Identity is a certificate and its key, as PEM.
type Identity struct {
	Certificate, Key []byte
}

// New makes an authority and writes its certificate to dir/ca.crt.
func New(dir string) (*Authority, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making a certificate authority: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making a certificate authority: %w", err)
	}
	template := certificateTemplate("stevedore-sandbox", nil)
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("making a certificate authority: %w", err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("making a certificate authority: %w", err)
	}
	a := &Authority{
		dir: dir, Certificate: certificate, key: key,
		PEM: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
	}
	return a, a.write("ca.crt", a.PEM)
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

// File is the path of one of its files.
func (a *Authority) File(name string) string { return filepath.Join(a.dir, name) }

func (a *Authority) write(name string, content []byte) error {
	if err := os.WriteFile(a.File(name), content, 0o600); err != nil {
		return fmt.Errorf("writing a certificate: %w", err)
	}
	return nil
}

// Issue makes a certificate, in NAME.crt and NAME.key, for a client (a Kubernetes user name and groups) and,
// with addresses, for a server.
func (a *Authority) Issue(name string, groups []string, addresses ...netip.Addr) (*Identity, error) {
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
	der, err := x509.CreateCertificate(rand.Reader, template, a.Certificate, key.Public(), a.key)
	if err != nil {
		return nil, fmt.Errorf("making the certificate of %s: %w", name, err)
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return nil, fmt.Errorf("making the certificate of %s: %w", name, err)
	}
	made := &Identity{Certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), Key: keyPEM}
	if err := a.write(name+".crt", made.Certificate); err != nil {
		return nil, err
	}
	return made, a.write(name+".key", made.Key)
}

// WriteKey makes a key for signing service account tokens.
func (a *Authority) WriteKey(name string) (string, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", fmt.Errorf("making the key %s: %w", name, err)
	}
	encoded, err := encodeKey(key)
	if err != nil {
		return "", fmt.Errorf("making the key %s: %w", name, err)
	}
	return a.File(name), a.write(name, encoded)
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}
