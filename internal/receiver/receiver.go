// Package receiver takes the word of a Git host that something was pushed, and
// does no more with it than to wake the look at the repository: what is then
// done comes from the repository itself. So a forged, repeated or lost push can
// make a look come early or late, and nothing else.
package receiver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"stevedore.dev/stevedore/internal/httpserve"
)

// Target is a repository that is followed.
type Target struct {
	// Repository is its URL, in any form that git takes.
	Repository string
	// Wake asks for a look; it must return at once.
	Wake func()
}

// Results of a request, for metrics.
const (
	Accepted    = "accepted"    // authentic, and a look was woken
	Unmatched   = "unmatched"   // authentic, of a repository that is not followed
	Ignored     = "ignored"     // authentic, of an event that is no push
	Forwarded   = "forwarded"   // authentic, and given to the one that acts
	Refused     = "refused"     // not authentic
	Malformed   = "malformed"   // no push at all: another method, path or too large
	Throttled   = "throttled"   // too many
	Unavailable = "unavailable" // nobody acts, or the secret cannot be read
)

const (
	// Path is where pushes go.
	Path = "/push"
	// maxBody is above what hosts send for a push of two thousand commits.
	maxBody = 4 << 20
	// maxInFlight bounds memory together with maxBody.
	maxInFlight = 8

	forwardedHeader = "X-Stevedore-Forwarded"
)

// limits are how long a sender may take, and the daemon that acts.
type limits struct{ header, read, write, idle, forward time.Duration }

var shipped = limits{header: 5 * time.Second, read: 15 * time.Second, write: 30 * time.Second, idle: time.Minute, forward: 5 * time.Second}

// Server receives pushes. Its zero values are good but for Secret.
type Server struct {
	// Addr to listen on, "host:port"; port 0 takes a free one.
	Addr string
	// Secret is asked for what signatures are checked with; see Cached.
	Secret func(ctx context.Context) ([]byte, error)
	// Targets are what is followed.
	Targets []Target
	// Acts says whether this process follows; nil: always. Leader is the address
	// of the one that does when it is another, "" when it is not known.
	Acts   func() bool
	Leader func() string
	// Count is told the result of each request; nil counts nothing.
	Count func(result string)
	// Log tells of pushes at debug level, and of what is wrong; nil logs nothing.
	Log *slog.Logger
	// Now nil: time.Now.
	Now func() time.Time

	limits   limits
	inFlight chan struct{}
	senders  *senders
	client   *http.Client
}

func (s *Server) prepare() {
	if s.Log == nil {
		s.Log = slog.New(slog.DiscardHandler)
	}
	if s.Count == nil {
		s.Count = func(string) {}
	}
	if s.Now == nil {
		s.Now = time.Now
	}
	if s.limits == (limits{}) {
		s.limits = shipped
	}
	s.inFlight = make(chan struct{}, maxInFlight)
	s.senders = newSenders(s.Now)
	s.client = &http.Client{Timeout: s.limits.forward, Transport: &http.Transport{MaxIdleConnsPerHost: 1, IdleConnTimeout: time.Minute},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// Listen takes the address, so that a port in use is known before anything else
// starts.
func (s *Server) Listen(ctx context.Context) (net.Listener, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", s.Addr)
	if err != nil {
		return nil, fmt.Errorf("listen for pushes: %w: choose another with --receiver-address", err)
	}
	return listener, nil
}

// Serve answers on the listener until ctx ends, then finishes what is under way.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	handler := s.Handler()
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: s.limits.header,
		ReadTimeout:       s.limits.read,
		WriteTimeout:      s.limits.write,
		IdleTimeout:       s.limits.idle,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(s.Log.Handler(), slog.LevelDebug),
	}
	defer s.client.CloseIdleConnections()
	return httpserve.Serve(ctx, server, listener, "pushes", s.limits.forward)
}

// Handler is what the server serves.
func (s *Server) Handler() http.Handler {
	s.prepare()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		result, status := s.receive(w, r)
		s.Count(result)
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
			w.Header().Set("Retry-After", "5")
		}
		w.WriteHeader(status)
		// By status alone: an answer tells nothing of what is followed.
		_, _ = io.WriteString(w, http.StatusText(status)+"\n")
	})
}

func (s *Server) receive(w http.ResponseWriter, r *http.Request) (result string, status int) {
	switch {
	case r.URL.Path != Path:
		return Malformed, http.StatusNotFound
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		return Malformed, http.StatusMethodNotAllowed
	case !s.senders.allow(r.RemoteAddr):
		return Throttled, http.StatusTooManyRequests
	}
	select {
	case s.inFlight <- struct{}{}:
		defer func() { <-s.inFlight }()
	default:
		return Throttled, http.StatusServiceUnavailable
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return Malformed, http.StatusRequestEntityTooLarge
	}
	if err != nil {
		return Malformed, http.StatusBadRequest
	}
	secret, err := s.Secret(r.Context())
	if err != nil {
		s.Log.Warn("a push cannot be checked", "error", err)
		return Unavailable, http.StatusServiceUnavailable
	}
	if !authentic(r.Header, body, secret) {
		s.Log.Debug("a push was refused: its signature or token is not the receiver's", "from", r.RemoteAddr)
		return Refused, http.StatusUnauthorized
	}
	if s.Acts != nil && !s.Acts() {
		return s.forward(r, body, secret)
	}
	return s.wake(r.Header, body), http.StatusAccepted
}

func (s *Server) wake(header http.Header, body []byte) string {
	if !isPush(header) {
		return Ignored
	}
	named := repositories(header.Get("Content-Type"), body)
	woken := 0
	for _, target := range s.Targets {
		// A sender that names no repository that can be read means all.
		if len(named) == 0 || named[normal(target.Repository)] {
			target.Wake()
			woken++
		}
	}
	s.Log.Debug("a push was received", "woken", woken)
	if woken == 0 {
		return Unmatched
	}
	return Accepted
}

// forward gives a push to the process that holds the Lease: behind a Service
// either may be asked. It is signed anew, so that a token goes no further, and
// never forwarded twice.
func (s *Server) forward(r *http.Request, body, secret []byte) (string, int) {
	leader := ""
	if s.Leader != nil {
		leader = s.Leader()
	}
	if leader == "" || r.Header.Get(forwardedHeader) != "" {
		return Unavailable, http.StatusServiceUnavailable
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.limits.forward)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+leader+Path, bytes.NewReader(body))
	if err != nil {
		return Unavailable, http.StatusServiceUnavailable
	}
	for _, name := range append([]string{"Content-Type"}, eventHeaders...) {
		if value := r.Header.Get(name); value != "" {
			request.Header.Set(name, value)
		}
	}
	request.Header.Set(forwardedHeader, "1")
	request.Header.Set("X-Signature", Sign(body, secret))
	response, err := s.client.Do(request)
	if err != nil {
		s.Log.Warn("a push could not be given to the daemon that acts, its next look sees it", "error", err)
		return Unavailable, http.StatusServiceUnavailable
	}
	_, _ = io.CopyN(io.Discard, response.Body, 4<<10)
	_ = response.Body.Close()
	if response.StatusCode != http.StatusAccepted {
		return Unavailable, http.StatusServiceUnavailable
	}
	return Forwarded, http.StatusAccepted
}
