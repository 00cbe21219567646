// Package gitserver serves Git repositories over https as a real host does: with
// git's own http-backend, an authority of its own, credentials, and faults on
// request. The demo and the tests push to it and the daemon fetches from it.
package gitserver

import (
	"bytes"
	"context"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/cgi"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Options say who may come in. With neither a token nor a password everyone may
// read and nobody may push.
type Options struct {
	Token    string // taken as the password of any user, as Git hosts do
	User     string
	Password string
	Plain    bool // http without TLS

	// Clients is whose certificates a client has to show; nil asks for none.
	Clients *Authority
}

// Fault is what goes wrong with the requests that it is set for.
type Fault struct {
	Path     string        // only requests whose path ends so; empty means all
	Delay    time.Duration // before the answer
	Hang     bool          // no answer until the client or the server gives up
	Status   int           // this status instead of the answer, with the request's own credentials as its body
	CutAfter int64         // the connection ends after so many bytes of the answer's body; zero means never
}

// Server is a running Git server.
type Server struct {
	URL string // https://127.0.0.1:<port>, without a slash at the end
	CA  []byte // the authority's certificate in PEM; empty when Plain

	opts    Options
	backend http.Handler
	server  *http.Server
	closing context.CancelFunc
	ended   chan struct{}

	fault atomic.Pointer[Fault]
	mu    sync.Mutex
	asked map[string]int
}

// Start serves the bare repositories in root, each at URL/<name>, on a free port
// of 127.0.0.1. It needs git on the PATH.
func Start(root string, opts Options) (*Server, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, fmt.Errorf("starting a git server: %w", err)
	}
	execPath, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		return nil, fmt.Errorf("starting a git server: git is needed on the PATH: %w", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("starting a git server: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &Server{opts: opts, closing: cancel, ended: make(chan struct{}), asked: map[string]int{}}
	s.backend = &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(execPath)), "git-http-backend"),
		Dir:  root,
		Env: []string{
			"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1",
			"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
			// The repositories may belong to another user than the server.
			"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*",
		},
		Logger: log.New(io.Discard, "", 0),
		Stderr: io.Discard,
	}
	scheme := "http"
	if !opts.Plain {
		config, ca, err := opts.tls()
		if err != nil {
			_ = listener.Close()
			cancel()
			return nil, fmt.Errorf("starting a git server: %w", err)
		}
		scheme, s.CA = "https", ca
		listener = tls.NewListener(listener, config)
	}
	s.URL = scheme + "://" + listener.Addr().String()
	s.server = &http.Server{
		Handler:           s,
		ReadHeaderTimeout: 10 * time.Minute,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ErrorLog:          log.New(io.Discard, "", 0),
	}
	go func() {
		defer close(s.ended)
		_ = s.server.Serve(listener)
	}()
	return s, nil
}

func (o Options) tls() (*tls.Config, []byte, error) {
	authority, err := NewAuthority()
	if err != nil {
		return nil, nil, err
	}
	certificate, err := authority.server()
	if err != nil {
		return nil, nil, err
	}
	config := &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	if o.Clients != nil {
		config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
		config.ClientCAs.AppendCertsFromPEM(o.Clients.PEM)
	}
	return config, authority.PEM, nil
}

// Close ends all connections.
func (s *Server) Close() error {
	s.closing()
	err := s.server.Close()
	<-s.ended
	return err
}

// SetFault makes the requests from now on fail; nil makes all well again.
func (s *Server) SetFault(f *Fault) { s.fault.Store(f) }

// Asked is how many requests came whose path ended so.
func (s *Server) Asked(suffix string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for path, times := range s.asked {
		if strings.HasSuffix(path, suffix) {
			n += times
		}
	}
	return n
}

// maxBody bounds a push.
const maxBody = 256 << 20

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked[r.URL.Path]++
	s.mu.Unlock()

	if f := s.fault.Load(); f != nil && strings.HasSuffix(r.URL.Path, f.Path) {
		if f.Hang {
			<-r.Context().Done()
			panic(http.ErrAbortHandler)
		}
		if f.Delay > 0 {
			select {
			case <-time.After(f.Delay):
			case <-r.Context().Done():
				panic(http.ErrAbortHandler)
			}
		}
		if f.Status != 0 {
			user, password, _ := r.BasicAuth()
			http.Error(w, fmt.Sprintf("as you wished, %s with %s", user, password), f.Status)
			return
		}
		if f.CutAfter > 0 {
			w = &cutWriter{ResponseWriter: w, left: f.CutAfter}
		}
	}
	allowed, named := s.allow(r)
	if !allowed {
		w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
		http.Error(w, "authentication required", http.StatusUnauthorized)
		return
	}
	if len(r.TransferEncoding) > 0 {
		// CGI wants the length of a body beforehand; git sends large pushes in chunks.
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			http.Error(w, "too large", http.StatusRequestEntityTooLarge)
			return
		}
		r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	}
	handler := s.backend
	if named {
		// git lets a user with a name push, and only such.
		c := *s.backend.(*cgi.Handler)
		c.Env = append(append([]string{}, c.Env...), "REMOTE_USER=git")
		handler = &c
	}
	handler.ServeHTTP(w, r)
}

func (s *Server) allow(r *http.Request) (allowed, named bool) {
	if s.opts.Token == "" && s.opts.Password == "" {
		return true, false
	}
	same := func(a, b string) bool { return b != "" && subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
	user, password, ok := r.BasicAuth()
	if !ok {
		bearer, isBearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		return isBearer && same(bearer, s.opts.Token), true
	}
	if same(password, s.opts.Token) && user != "" {
		return true, true
	}
	return same(password, s.opts.Password) && user == s.opts.User, true
}

// cutWriter breaks the connection off in the middle of an answer.
type cutWriter struct {
	http.ResponseWriter
	left int64
}

func (c *cutWriter) Write(p []byte) (int, error) {
	if int64(len(p)) <= c.left {
		c.left -= int64(len(p))
		return c.ResponseWriter.Write(p)
	}
	_, _ = c.ResponseWriter.Write(p[:c.left])
	if err := http.NewResponseController(c.ResponseWriter).Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, err
	}
	panic(http.ErrAbortHandler)
}
