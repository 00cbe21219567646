package git

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"

	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"

	"stevedore.dev/stevedore/sources"
)

// maxAdvertised bounds the list of references: 20,000 of them are 1.3 MB.
const maxAdvertised = 64 << 20

// errTooLarge ends a transfer at its bound.
var errTooLarge = errors.New("the server sent more than the limit")

// connection is one look's session with the remote.
type connection struct {
	transport.UploadPackSession
	stream *stream // nil for a folder of this machine
	end    func()
}

// broken is how the stream from the remote broke, nil when it did not.
func (c *connection) broken() error {
	if c.stream != nil {
		return c.stream.broken()
	}
	return nil
}

// stream keeps how a stream ended before its time, because go-git's errors do not
// wrap it. A broken stream is the network's fault; a whole one that cannot be
// used is the mirror's or the server's.
type stream struct{ first atomic.Pointer[error] }

func (s *stream) broke(err error) { s.first.CompareAndSwap(nil, &err) }

func (s *stream) broken() error {
	if p := s.first.Load(); p != nil {
		return *p
	}
	return nil
}

// connect opens a session with the remote. Its end must be called when the look
// is over; look ends before, with the listing of references. Transports are made for each look and never registered
// with go-git, whose table is the whole process's: two sources may trust
// different authorities.
func (s *Source) connect(ctx, look context.Context, login Login) (*connection, error) {
	if s.remote.ssh != nil {
		return s.connectSSH(ctx, look, login)
	}
	if s.remote.dir != "" {
		session, err := openLocalSession(s.remote.dir)
		return &connection{UploadPackSession: session, end: func() {}}, err
	}
	trust, err := s.trust(login)
	if err != nil {
		return nil, err
	}
	base := &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: handshakeTimeout}).DialContext,
		TLSHandshakeTimeout:    handshakeTimeout,
		TLSClientConfig:        trust,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    1,
		MaxResponseHeaderBytes: 1 << 20,
	}
	counted := &bounded{next: base, fetch: s.opts.MaxBytes}
	client := &http.Client{
		Transport: counted,
		CheckRedirect: func(req *http.Request, _ []*http.Request) error {
			if req.URL.Scheme != "https" && !isLoopback(req.URL.Hostname()) {
				return errors.New("the server redirects to plain http")
			}
			return nil
		},
	}
	endpoint, err := transport.NewEndpoint(s.remote.url)
	if err != nil {
		base.CloseIdleConnections()
		return nil, err
	}
	var auth transport.AuthMethod
	if login.Password != "" {
		user := login.Username
		if user == "" {
			// Git hosts look at the token only, but refuse an empty name.
			user = "git"
		}
		auth = &githttp.BasicAuth{Username: user, Password: login.Password}
	}
	session, err := githttp.NewClient(client).NewUploadPackSession(endpoint, auth)
	if err != nil {
		base.CloseIdleConnections()
		return nil, err
	}
	return &connection{UploadPackSession: session, stream: &counted.stream, end: base.CloseIdleConnections}, nil
}

// trust says whom to believe, and what to show who asks for a certificate.
func (s *Source) trust(login Login) (*tls.Config, error) {
	if len(login.PrivateKey) > 0 {
		return nil, &sources.Error{Reason: sources.CredentialsUnreadable, Doing: "reading the credentials for " + s.remote.identity,
			Err: errors.New("they are an ssh key"), Advice: "use the repository's ssh:// URL, or give a token"}
	}
	pool, err := s.authorities(login)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	if len(login.Certificate) > 0 {
		pair, err := tls.X509KeyPair(login.Certificate, login.Key)
		if err != nil {
			// The error may quote what it could not read.
			return nil, &sources.Error{Reason: sources.CredentialsUnreadable, Doing: "reading the client certificate for " + s.remote.identity,
				Err: errors.New("tls.crt and tls.key are not a certificate and its key"), Advice: "give both in PEM, the key without a passphrase"}
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

func (s *Source) authorities(login Login) (*x509.CertPool, error) {
	if len(s.opts.CA) == 0 && s.opts.CAFile == "" && len(login.CA) == 0 {
		return nil, nil
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	add := func(pem []byte, where string) error {
		if !pool.AppendCertsFromPEM(pem) {
			return &sources.Error{Reason: sources.CertificateUnknown, Doing: "reading the CA bundle" + where,
				Err: errors.New("there is no certificate in it"), Advice: "give PEM certificates (BEGIN CERTIFICATE)"}
		}
		return nil
	}
	if len(s.opts.CA) > 0 {
		if err := add(s.opts.CA, ""); err != nil {
			return nil, err
		}
	}
	if len(login.CA) > 0 {
		if err := add(login.CA, " (ca.crt of the credentials)"); err != nil {
			return nil, err
		}
	}
	if s.opts.CAFile != "" {
		pem, err := os.ReadFile(s.opts.CAFile)
		if err != nil {
			return nil, &sources.Error{Reason: sources.CertificateUnknown, Doing: "reading the CA bundle " + s.opts.CAFile,
				Err: pathless(err), Advice: "check --git-ca-file"}
		}
		if err := add(pem, " "+s.opts.CAFile); err != nil {
			return nil, err
		}
	}
	return pool, nil
}

// bounded limits what a server may make us read: go-git reads the reply to an
// error, and the list of references, to the end.
type bounded struct {
	next  http.RoundTripper
	fetch int64
	stream
}

func (b *bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := b.next.RoundTrip(req)
	if err != nil {
		b.broke(err)
		return nil, err
	}
	switch {
	case res.StatusCode < 200 || res.StatusCode > 299:
		res.Body = readCloser{io.LimitReader(res.Body, 4<<10), res.Body}
	case strings.HasSuffix(req.URL.Path, "/info/refs"):
		// What answers to a wrong path is often a login page with status 200.
		if kind := res.Header.Get("Content-Type"); !strings.HasPrefix(kind, "application/x-git-upload-pack-advertisement") {
			_ = res.Body.Close()
			return nil, errNoGit
		}
		res.Body = readCloser{&limited{r: res.Body, left: maxAdvertised, broke: b.broke}, res.Body}
	default:
		// The side band adds five bytes to each packet; the pack itself is
		// counted where it is written.
		res.Body = readCloser{&limited{r: res.Body, left: b.fetch + b.fetch/64 + 1<<20, broke: b.broke}, res.Body}
	}
	return res, nil
}

var errNoGit = errors.New("what answers does not speak Git's smart HTTP protocol")

type readCloser struct {
	io.Reader
	io.Closer
}

// limited fails, where io.LimitedReader would end as if all were well, and tells
// when the stream breaks.
type limited struct {
	r     io.Reader
	left  int64
	broke func(error)
}

func (l *limited) Read(p []byte) (int, error) {
	if l.left < 0 {
		return 0, errTooLarge
	}
	// One byte more than is left tells "exactly full" from "too much".
	if int64(len(p)) > l.left+1 {
		p = p[:l.left+1]
	}
	n, err := l.r.Read(p)
	if l.left -= int64(n); l.left < 0 {
		err = errTooLarge
		n = 0
	}
	if err != nil && err != io.EOF && l.broke != nil {
		l.broke(err)
	}
	return n, err
}
