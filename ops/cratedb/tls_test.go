package cratedb

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"math/big"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/gates"
)

const secret = "the-password-of-system"

// certified is an authority and a node's certificate of it.
func certified(t *testing.T, name string, until time.Time) (*x509.CertPool, tls.Certificate) {
	t.Helper()
	sign := func(template, parent *x509.Certificate, signer *ecdsa.PrivateKey) ([]byte, *ecdsa.PrivateKey) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		require.NoError(t, err)
		if signer == nil {
			signer = key
		}
		der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
		require.NoError(t, err)
		return der, key
	}
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "an authority"}, NotBefore: time.Now().Add(-24 * time.Hour),
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, key := sign(authority, authority, nil)
	roots := x509.NewCertPool()
	parsed, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	roots.AddCert(parsed)
	leaf, leafKey := sign(&x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "a node"}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: until,
	}, parsed, key)
	return roots, tls.Certificate{Certificate: [][]byte{leaf}, PrivateKey: leafKey}
}

// pretender is a server of the PostgreSQL protocol that takes down what it is
// told: the bytes on the wire, and the password if it gets one.
type pretender struct {
	listener net.Listener
	tls      *tls.Config // nil: it says that it has none
	mu       sync.Mutex
	wire     bytes.Buffer
	password string
	ended    sync.WaitGroup
}

func pretend(t *testing.T, config *tls.Config) *pretender {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &pretender{listener: listener, tls: config}
	p.ended.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			p.ended.Go(func() { p.serve(conn) })
		}
	})
	t.Cleanup(func() { _ = listener.Close(); p.ended.Wait() })
	return p
}

func (p *pretender) Private() bool { return true }

func (p *pretender) DialPod(ctx context.Context, _ string, _ int) (net.Conn, error) {
	var dialer net.Dialer
	return dialer.DialContext(ctx, "tcp", p.listener.Addr().String())
}

// Read writes down what it reads.
type noted struct {
	net.Conn
	p *pretender
}

func (n noted) Read(b []byte) (int, error) {
	k, err := n.Conn.Read(b)
	n.p.mu.Lock()
	defer n.p.mu.Unlock()
	n.p.wire.Write(b[:k])
	return k, err
}

func (p *pretender) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(patience))
	conn = noted{conn, p}
	if p.tls == nil {
		_, _ = io.ReadFull(conn, make([]byte, 8))
		_, _ = conn.Write([]byte("N"))
	} else {
		_, _ = io.ReadFull(conn, make([]byte, 8))
		_, _ = conn.Write([]byte("S"))
		conn = tls.Server(conn, p.tls)
	}
	backend := pgproto3.NewBackend(conn, conn)
	if _, err := backend.ReceiveStartupMessage(); err != nil {
		return
	}
	backend.Send(&pgproto3.AuthenticationCleartextPassword{})
	if backend.Flush() != nil || backend.SetAuthType(pgproto3.AuthTypeCleartextPassword) != nil {
		return
	}
	if message, err := backend.Receive(); err == nil {
		if said, ok := message.(*pgproto3.PasswordMessage); ok {
			p.mu.Lock()
			p.password = said.Password
			p.mu.Unlock()
		}
	}
	backend.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: stateAuthorization, Message: "that was all"})
	_ = backend.Flush()
}

// Whoever listens between, or answers in a node's place, never gets the password.
func TestAPasswordGoesOverTLSToATrustedCertificateOnly(t *testing.T) {
	const name = "crate-orders.prod.svc"
	later := time.Now().Add(time.Hour)
	roots, good := certified(t, name, later)
	others, _ := certified(t, name, later)
	elsewhere, wrongName := certified(t, "crate-other.prod.svc", later)
	past, expired := certified(t, name, time.Now().Add(-time.Hour))
	for _, c := range []struct {
		name   string
		roots  *x509.CertPool
		server *tls.Config
		sent   bool
		says   []string
	}{
		{"a trusted certificate", roots, &tls.Config{Certificates: []tls.Certificate{good}}, true, []string{"that was all"}},
		{"another authority", others, &tls.Config{Certificates: []tls.Certificate{good}}, false, []string{gates.Untrusted, "unknown authority", "no password was sent"}},
		{"another name", elsewhere, &tls.Config{Certificates: []tls.Certificate{wrongName}}, false, []string{gates.Untrusted, name}},
		{"out of date", past, &tls.Config{Certificates: []tls.Certificate{expired}}, false, []string{gates.Untrusted, "expired"}},
		{"a server without TLS", roots, nil, false, []string{"TLS"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := pretend(t, c.server)
			client := Client{Dialer: p, TLS: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: c.roots, ServerName: name}, Timeout: patience}
			_, err := client.Login(t.Context(), "pod", "system", secret)
			require.Error(t, err)
			for _, words := range c.says {
				assert.ErrorContains(t, err, words)
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			assert.Equal(t, c.sent, p.password == secret, "the password was sent")
			assert.NotEmpty(t, p.wire.Bytes())
			assert.NotContains(t, p.wire.String(), secret, "the password in clear on the wire")
			if reason, _ := gates.Contact(false, err.Error()); !c.sent && c.server != nil {
				assert.Equal(t, gates.CertificateRule.Name, reason.Name)
			}
		})
	}
}
